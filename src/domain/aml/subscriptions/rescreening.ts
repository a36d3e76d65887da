/**
 * Screens people again when lists change. Each server leases a few at a time, compares them with what has changed since they
 * were screened last, records what is found, and only then says in their rows up to which version they were screened: whoever
 * dies in between leaves people who are due again, and findings that are made once all the same. What was read of a person counts
 * until somebody else records something of them; then they are screened once more.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import { systemCaller } from '../../../caller.ts'
import type { Clock } from '../../../clock.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import type { Decide } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Metrics } from '../../../metrics.ts'
import type { Database, StoreLogger } from '../../../store/database.ts'
import { createRecent } from '../../../store/recent.ts'
import type { PersonAccess } from '../../kyc/person-access.ts'
import type { SecurityService } from '../../security/service.ts'
import type { ListsService } from '../lists/lists.ts'
import type { Snapshot } from '../lists/snapshots.ts'
import { isComparable } from '../screening.ts'
import { createDeltas, type Delta } from './delta.ts'
import {
  addFindings,
  isOvertaken,
  mayHaveMore,
  openFinding,
  overtake,
  type PreparedFinding,
  prepareFindings,
  type Stale,
  staleOf,
  voidFinding,
} from './found.ts'
import { type Lease, takeLease } from './lease.ts'
import { COMPARISON_NUMBER, subjectRecords } from './records.ts'
import { subjectOf } from './service.ts'
import * as store from './store.ts'

const BATCH_PEOPLE = 128
/** After this another server takes over what a dead one had leased. One that lives renews its lease. */
const LEASE_MS = 30_000
/** How soon people are noticed whom another server has left. */
const POLL_MS = 5_000
/** After this much work the server does something else for as long. */
const PIECE_MS = 4
const FIRST_BACK_OFF_MS = 1_000
const MAX_BACK_OFF_MS = 60_000
/** Everybody is counted for the metrics no more often, however often they are asked for: it reads all rows. */
const COUNT_MS = 60_000

export interface RescreeningDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly clock: Clock
  readonly logger: StoreLogger
  readonly metrics: Pick<Metrics, 'amlRescreened' | 'readScreening'>
  readonly lists: Pick<ListsService, 'current' | 'changes' | 'onChange'>
  readonly persons: PersonAccess
  readonly security: Pick<SecurityService, 'alertRow'>
  /** How long people stay leased to a server that does not renew it, in milliseconds; default 30,000. */
  readonly leaseMs?: number
}

/** Somebody for whom something has changed. */
interface Concerned {
  readonly due: store.DueSubscription
  readonly stale: readonly Stale[]
  readonly prepared: readonly PreparedFinding[]
}

/** Rests as long as was worked, so that half of the time is left to requests. */
const createPace = () => {
  let begun = performance.now()
  return {
    begin() {
      begun = performance.now()
    },
    async rest(): Promise<void> {
      const workedMs = performance.now() - begun
      if (workedMs < PIECE_MS) return
      await pause(workedMs)
      begun = performance.now()
    },
  }
}

/** What came of a batch. */
interface Progress {
  readonly done: readonly store.DueSubscription[]
  /** Who can't be screened, and will be tried again later. */
  readonly failed: readonly store.DueSubscription[]
  /** Why nothing could be recorded. */
  readonly failure: unknown
}

/** What somebody is compared with. */
interface How {
  readonly snapshot: Snapshot
  readonly delta: Delta
  readonly rows: readonly store.KnownFinding[]
}

export const createRescreening = (deps: RescreeningDeps) => {
  const { database, ledger, clock, logger, metrics, lists, persons, security, leaseMs = LEASE_MS } = deps
  const deltas = createDeltas(lists)
  const pace = createPace()
  const ending = new AbortController()
  let woken = false
  let rouse: (() => void) | undefined

  const markOf = ({ number }: Snapshot): store.Mark => ({ lists: number, comparison: COMPARISON_NUMBER })

  /** What counts of people, by person. */
  const knownOf = async (
    people: readonly store.Person[],
  ): Promise<ReadonlyMap<string, store.KnownFinding[]>> => {
    const rows = await store.findFindingsOf(database, people)
    const byPerson = new Map<string, store.KnownFinding[]>()
    for (const row of rows) {
      const key = store.personKey(row)
      byPerson.set(key, [...(byPerson.get(key) ?? []), row])
    }
    return byPerson
  }

  /** @returns undefined where nothing has changed for somebody */
  const compare = async (
    due: store.DueSubscription,
    { snapshot, delta, rows }: How,
  ): Promise<Concerned | undefined> => {
    const sealing: Sealing = persons.sealingOf(due)
    const record = subjectRecords.open(sealing, due.subject, due.sealed)
    const known = rows.map((row) => openFinding(sealing, row))
    const stale = staleOf(snapshot, known)
    // Where a finding ends beside which no more were told, the next one takes its place, though its entry stays as it was.
    const { mayMatch, among } = stale.length > 0 && mayHaveMore(known) ? deltas.everything : delta
    const { name, ...rest } = subjectOf(record)
    // By an identifier somebody is found whose name, taken by an earlier version, is compared no more.
    const subject = isComparable(record.name) ? { name, ...rest } : rest
    const resultOf = (await mayMatch(subject)) ? await snapshot.screening.screen(subject, among) : undefined
    const prepared =
      resultOf === undefined
        ? []
        : prepareFindings(security, {
            person: due,
            sealing,
            subject: record,
            snapshot,
            resultOf,
            now: clock.now(),
          })
    return stale.length + prepared.length === 0 ? undefined : { due, stale, prepared }
  }

  /** @returns how much was found; undefined for whom something was recorded since they were read */
  const recording =
    ({ due, stale, prepared }: Concerned): Decide<number | undefined> =>
    (tx) => {
      if (isOvertaken(tx, due, due.revision)) return undefined
      if (persons.isErased(tx, due)) return 0
      overtake(tx, due)
      for (const one of stale) voidFinding(tx, persons.entrySubject, one)
      return addFindings(tx, due, persons.entrySubject, prepared).length
    }

  const callerFor = ({ organisation }: store.Person) => systemCaller(organisation, 'aml.screening')

  /** @returns whether it was recorded */
  const record = async (concerned: Concerned): Promise<boolean> => {
    const found = await ledger.append(callerFor(concerned.due), recording(concerned))
    if (found !== undefined) metrics.amlRescreened.inc({ outcome: 'finding' }, found)
    return found !== undefined
  }

  /**
   * Makes sure that nothing more comes of what another server has begun and left: it may be slow rather than dead.
   * @returns undefined for whom it has recorded something after all
   */
  const takeOver = async (due: store.DueSubscription): Promise<store.DueSubscription | undefined> => {
    const revision = await ledger.append(callerFor(due), (tx) =>
      isOvertaken(tx, due, due.revision) ? undefined : overtake(tx, due),
    )
    return revision === undefined ? undefined : { ...due, revision }
  }

  const deltaOf = (due: store.DueSubscription, snapshot: Snapshot): Promise<Delta> =>
    due.comparison === COMPARISON_NUMBER
      ? deltas.since(snapshot, due.lists_version)
      : Promise.resolve(deltas.everything)

  /** @returns undefined for somebody who can't be compared, and stays due */
  const comparedOrTold = async (
    due: store.DueSubscription,
    how: How,
  ): Promise<{ readonly concerned: Concerned | undefined } | undefined> => {
    try {
      return { concerned: await compare(due, how) }
    } catch (error) {
      logger.warn({ err: error, organisation: due.organisation }, 'somebody can not be screened again')
      return undefined
    }
  }

  /** People whom nobody else is screening, as they are now. */
  const ownOf = async (lease: Lease): Promise<store.DueSubscription[]> => {
    const taken = lease.people.map((due) => (due.was_left ? takeOver(due) : due))
    return (await Promise.all(taken)).filter((due) => due !== undefined)
  }

  const screenAll = async (lease: Lease, snapshot: Snapshot): Promise<Progress> => {
    const batch = await ownOf(lease)
    const known = await knownOf(batch)
    // Before anything is recorded: a list that can't be read fails the batch as a whole.
    const howTo = await Promise.all(batch.map((due) => deltaOf(due, snapshot)))
    const done: store.DueSubscription[] = []
    const failed: store.DueSubscription[] = []
    const failures: unknown[] = []
    const recorded: Promise<void>[] = []
    pace.begin()
    for (const [i, due] of batch.entries()) {
      if (ending.signal.aborted) break
      if (!lease.holds(due)) continue
      const rows = known.get(store.personKey(due)) ?? []
      const compared = await comparedOrTold(due, { snapshot, delta: howTo[i] as Delta, rows })
      if (compared === undefined) failed.push(due)
      else if (compared.concerned === undefined) done.push(due)
      else
        recorded.push(
          record(compared.concerned).then(
            (isRecorded) => void (isRecorded && done.push(due)),
            (error: unknown) => void (failed.push(due) && failures.push(error)),
          ),
        )
      await pace.rest()
    }
    await Promise.all(recorded)
    return { done, failed, failure: failures[0] }
  }

  /** Who was overtaken or not come to is due at once; who could not be screened when the lease is over. */
  const screenBatch = async (lease: Lease, snapshot: Snapshot): Promise<void> => {
    try {
      const { done, failed, failure } = await screenAll(lease, snapshot)
      const until = await lease.end()
      await store.markScreened(database, done, until, { ...markOf(snapshot), at: clock.now() })
      const over = new Set([...done, ...failed].map(store.personKey))
      const left = lease.people.filter((one) => !over.has(store.personKey(one)))
      await store.release(database, left, until)
      metrics.amlRescreened.inc({ outcome: 'screened' }, done.length)
      if (failure !== undefined) throw failure
    } finally {
      await lease.end()
    }
  }

  const catchUp = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const snapshot = lists.current()
      const mark = markOf(snapshot)
      const lease = await takeLease({ database, logger }, { mark, limit: BATCH_PEOPLE, leaseMs })
      if (lease === undefined) return
      await screenBatch(lease, snapshot)
    }
  }

  const sleep = async (ms: number): Promise<void> => {
    if (woken || ending.signal.aborted) return
    const nap = new AbortController()
    rouse = () => nap.abort()
    ending.signal.addEventListener('abort', rouse, { once: true })
    await pause(ms, undefined, { signal: nap.signal, ref: false }).catch(() => undefined)
    ending.signal.removeEventListener('abort', rouse)
    rouse = undefined
  }

  const run = async (): Promise<void> => {
    let backOffMs = FIRST_BACK_OFF_MS
    while (!ending.signal.aborted) {
      woken = false
      try {
        await catchUp()
        backOffMs = FIRST_BACK_OFF_MS
        await sleep(POLL_MS)
      } catch (error) {
        logger.warn({ err: error, backOffMs }, 'people could not be screened again; it will be tried again')
        woken = false
        await sleep(backOffMs)
        backOffMs = Math.min(2 * backOffMs, MAX_BACK_OFF_MS)
      }
    }
  }

  const unsubscribe = lists.onChange(() => {
    woken = true
    rouse?.()
  })
  const counts = createRecent({
    ttlMs: COUNT_MS,
    maxEntries: 1,
    clock,
    load: () => store.countSubscriptions(database, markOf(lists.current())),
  })
  metrics.readScreening(() => counts.get('of all'))
  const ended = run()
  return {
    /** Finishes the person who is just being screened. */
    async close(): Promise<void> {
      ending.abort()
      unsubscribe()
      await ended
    },
  }
}
