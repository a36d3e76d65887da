/** Who is screened again when lists change: begun, told, ended. @module */
import { randomUUID } from 'node:crypto'
import type { Caller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import { attempted } from '../../../ledger/attempts.ts'
import type { Decide } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import { type Logs, named } from '../../../ledger/logs.ts'
import type { Database } from '../../../store/database.ts'
import type { HeldPerson, PersonAccess } from '../../kyc/person-access.ts'
import type { SecurityService } from '../../security/service.ts'
import { CHECK_TYPES, type CheckType } from '../entry.ts'
import { inTypeOrder } from '../lists/list-source.ts'
import type { ListsService } from '../lists/lists.ts'
import type { Subscribe, Subscription, SubscriptionEnded } from '../schemas-subscriptions.ts'
import { COMPARED_AT_MOST, isTooLong, type Screened, type Subject } from '../screening.ts'
import { checkCoverage, checkIdentifiers, type KnownPerson } from '../service.ts'
import {
  addFindings,
  findingShown,
  findRevision,
  isOvertaken,
  type OpenedFinding,
  openFinding,
  overtake,
  prepareFindings,
  type Stale,
  staleOf,
  voidFinding,
} from './found.ts'
import { COMPARISON_NUMBER, comparedOf, digestOf, type SubjectRecord, subjectRecords } from './records.ts'
import { findFindingsOf, findSubscription, type SubscriptionRow, subscriptions } from './store.ts'

export interface SubscriptionsDeps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly ledger: Pick<Ledger, 'append' | 'findAnswer' | 'findCounter'>
  readonly clock: Clock
  readonly lists: Pick<ListsService, 'current'>
  readonly persons: PersonAccess
  readonly security: Pick<SecurityService, 'alertRow'>
  /** Who has given a name before. */
  readonly people: { nameOf(caller: Caller, userId: string): Promise<KnownPerson | undefined> }
}

/** Told with a subscription; of more, the newest. */
const MAX_FINDINGS_SHOWN = 100
/** Of several changes of one subscription at a time one is made; the others look again. */
const MAX_ATTEMPTS = 5

/** As screening takes it. */
export const subjectOf = ({ name, dateOfBirth, country, identifiers }: SubjectRecord): Subject => ({
  name,
  ...(dateOfBirth !== null && { dateOfBirth }),
  ...(country !== null && { country }),
  identifiers: identifiers.map(({ value }) => value),
})

const refuseName = (code: string, message: string): never =>
  fail('validation_failed', { details: [{ path: '/name', code, message }] })

export type SubscriptionsService = ReturnType<typeof createSubscriptions>

export const createSubscriptions = (deps: SubscriptionsDeps) => {
  const { database, logs, ledger, clock, lists, persons, security, people } = deps

  interface Known {
    readonly held: HeldPerson
    /** As it stood when the rest was read. */
    readonly revision: number
    readonly row: SubscriptionRow
    readonly record: SubjectRecord
  }

  /** Undefined for a subscription that has ended. */
  const openRow = ({ sealing }: HeldPerson, row: SubscriptionRow): SubjectRecord | undefined =>
    row.ended_at === null ? subjectRecords.open(sealing, row.subject, row.sealed) : undefined

  const known = async (caller: Caller, userId: string): Promise<Known> => {
    const held = (await persons.find(caller, userId)) ?? fail('not_found')
    const revision = await findRevision(ledger, held.person)
    const row = (await findSubscription(database, held.person)) ?? fail('not_found')
    return { held, revision, row, record: openRow(held, row) ?? fail('not_found') }
  }

  const findingsOf = async ({ person, sealing }: HeldPerson) =>
    (await findFindingsOf(database, [person])).map((row) => openFinding(sealing, row))

  const shown = async ({ held, row, record }: Omit<Known, 'revision'>): Promise<Subscription> => {
    const { userId, checkTypes, name, dateOfBirth, country, identifiers } = record
    const { number } = lists.current()
    const log = await logs.of(row.organisation)
    return {
      userId,
      checkTypes: [...checkTypes],
      person: { name, dateOfBirth, country },
      identifiers: identifiers.map((one) => ({ ...one })),
      subscribedAt: iso(row.subscribed_at),
      screenedAt: iso(row.screened_at),
      upToDate: row.lists_version >= number && row.comparison >= COMPARISON_NUMBER,
      ...named(log),
      leafIndex: row.entry_index,
      findings: (await findingsOf(held)).slice(0, MAX_FINDINGS_SHOWN).map((one) => findingShown(one, log)),
    }
  }

  /** What was sent; where that holds no name, what is known. */
  const recordOf = async (
    caller: Caller,
    input: Subscribe,
    checkTypes: readonly CheckType[],
  ): Promise<Omit<SubjectRecord, 'about'>> => {
    const own = input.name === undefined ? await people.nameOf(caller, input.userId) : undefined
    return {
      userId: input.userId,
      checkTypes: inTypeOrder(checkTypes),
      name: input.name ?? own?.name ?? refuseName('required', 'is required: KYC knows none of this userId'),
      dateOfBirth: input.dateOfBirth ?? own?.dateOfBirth ?? null,
      country: (input.country ?? own?.country)?.toUpperCase() ?? null,
      identifiers: (input.identifiers ?? []).map(({ type = null, value }) => ({ type, value })),
    }
  }

  /** @returns what begins a subscription or replaces it; it answers undefined where somebody else did so first */
  const subscription = async (
    held: HeldPerson,
    wanted: Omit<SubjectRecord, 'about'>,
  ): Promise<Decide<true | undefined>> => {
    const { person, sealing, isNew } = held
    const revision = await findRevision(ledger, person)
    const last = isNew ? undefined : await findSubscription(database, person)
    const lastRecord = last && openRow(held, last)
    const compared = { ...wanted, about: '' }
    const isSame = lastRecord !== undefined && comparedOf(lastRecord) === comparedOf(compared)
    const record: SubjectRecord = { ...wanted, about: isSame ? lastRecord.about : randomUUID() }
    const sealed = subjectRecords.seal(sealing, person.subject, record)
    const snapshot = lists.current()
    if (isTooLong(record.name)) refuseName('not_comparable', `must have at most ${COMPARED_AT_MOST}`)
    const resultOf: (type: CheckType) => Screened =
      (await snapshot.screening.screen(subjectOf(record))) ??
      refuseName('not_comparable', 'must have a word of two letters, or of letters and digits')
    const now = clock.now()
    const prepared = prepareFindings(security, { person, sealing, subject: record, snapshot, resultOf, now })
    const found = isNew ? [] : await findingsOf(held)
    const isOver = (one: OpenedFinding): boolean => one.record.subject.about !== record.about
    // Who was screened against newer lists elsewhere is due again at once: what has changed until then is seen there.
    const isBehind = last !== undefined && last.lists_version > snapshot.number
    const ended: Stale[] = [
      ...found.filter(isOver).map((finding): Stale => ({ finding, reason: 'subject_changed' })),
      ...(isBehind
        ? []
        : staleOf(
            snapshot,
            found.filter((one) => !isOver(one)),
          )),
    ]
    return (tx) => {
      if (isOvertaken(tx, person, revision) || !held.hold(tx)) return undefined
      overtake(tx, person)
      const { index: entry_index } = tx.append({
        type: 'attest',
        subject: persons.entrySubject(person),
        digest: digestOf(sealed),
        data: {
          event: 'aml.subscribed',
          check_types: [...record.checkTypes],
          list_version: snapshot.version,
        },
      })
      tx.write(
        subscriptions.row({
          ...person,
          entry_index,
          sealed,
          subscribed_at: lastRecord === undefined ? tx.at : (last?.subscribed_at ?? tx.at),
          ended_at: null,
          lists_version: snapshot.number,
          comparison: COMPARISON_NUMBER,
          screened_at: tx.at,
          leased_until: 0,
        }),
      )
      for (const one of ended) voidFinding(tx, persons.entrySubject, one)
      addFindings(tx, person, persons.entrySubject, prepared)
      return true
    }
  }

  return {
    /**
     * Screens somebody, now and whenever lists change. What is known of them is replaced.
     * @throws AppError validation_failed, lists_unavailable; conflict when they are erased or changed meanwhile;
     *   not_found for a repeated request whose subscription has ended
     */
    async subscribe(caller: Caller, input: Subscribe): Promise<Subscription> {
      const { idempotency } = caller
      // Whoever repeats a request is not refused for what has changed since.
      if (idempotency && (await ledger.findAnswer(idempotency))) {
        idempotency.replayed = true
        return shown(await known(caller, input.userId))
      }
      const types = input.checkTypes ?? CHECK_TYPES
      checkIdentifiers(input)
      checkCoverage(lists.current(), types)
      const wanted = await recordOf(caller, input, types)
      const subscribed = await attempted(caller, MAX_ATTEMPTS, async (asker) => {
        const held = await persons.open(caller, input.userId)
        return ledger.append(asker, await subscription(held, wanted))
      })
      if (!subscribed)
        fail('conflict', { message: 'The subscription is being changed by others; try again.' })
      return shown(await known(caller, input.userId))
    },

    /** What is known of somebody who is screened again. @throws AppError not_found */
    get: async (caller: Caller, userId: string): Promise<Subscription> => shown(await known(caller, userId)),

    /** Screens somebody no more. @throws AppError not_found; conflict when it is changed meanwhile */
    async end(caller: Caller, userId: string): Promise<SubscriptionEnded> {
      const { held, revision, row } = await known(caller, userId)
      const { person } = held
      return ledger.append(caller, (tx) => {
        if (isOvertaken(tx, person, revision))
          fail('conflict', { message: 'The subscription was changed meanwhile; try again.' })
        if (!held.hold(tx)) fail('conflict')
        overtake(tx, person)
        const { index: entry_index } = tx.append({
          type: 'revoke',
          subject: persons.entrySubject(person),
          data: { event: 'aml.unsubscribed' },
        })
        const { at } = tx
        tx.write(
          subscriptions.row({ ...row, entry_index, sealed: Buffer.alloc(0), ended_at: at, leased_until: 0 }),
        )
        return { success: true, status: 'ended', endedAt: iso(at) }
      })
    },
  }
}
