/**
 * Bound domains are looked at again every day: one whose records are gone no longer selects its pod, until they are
 * back. One that was not seen for a week, gone or unknown, is bound no longer. Any number of servers may do so; each
 * domain is looked at by one.
 * @module
 */
import pLimit from 'p-limit'
import { systemCaller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { DnsError } from '../../net/dns.ts'
import type { Database } from '../../store/database.ts'
import type { LookUps } from './domains.ts'
import {
  deleteDomain,
  findDueDomains,
  findPod,
  type PodDomainRow,
  postponeCheck,
  updateDomain,
} from './store.ts'

export const RECHECK_PAUSE_MS = 24 * 3_600_000
/** When nobody could tell, or the server that looked went away. */
const RETRY_PAUSE_MS = 3_600_000
/** How often due domains are asked for. */
const ROUND_PAUSE_MS = 60_000
const DOMAINS_PER_READ = 50
/** Looks at once: one slow name server must not hold up everybody else's domains. */
const PARALLEL_LOOKS = 8
/** How long a binding outlives its last sighting, so that nobody keeps a domain by letting its DNS fail. */
const MAX_ABSENCE_MS = 7 * 24 * 3_600_000

/** What a look showed; `unknown`: nobody could tell. */
type Sighting = 'present' | 'absent' | 'unknown'

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly lookUps: LookUps
  readonly clock: Clock
  readonly logger: { error(details: object, message: string): void }
  /** Called when a domain was found to be bound no longer, or again. */
  changed(domain: string): Promise<void>
}

export const createRechecks = ({ database, ledger, lookUps, clock, logger, changed }: Deps) => {
  let closing = false
  let running: Promise<void> | undefined

  const note = async (row: PodDomainRow, sighting: Sighting): Promise<void> => {
    const { domain, pod } = row
    const at = clock.now()
    const proven = sighting === 'present' || (sighting === 'unknown' && row.proven)
    const absent_since = sighting === 'present' ? null : (row.absent_since ?? at)
    const isOver = absent_since !== null && at - absent_since >= MAX_ABSENCE_MS
    if (!isOver && proven === row.proven && absent_since === row.absent_since) return
    const owner = await findPod(database.knex, pod)
    if (owner === undefined) return
    await ledger.transact(systemCaller(owner.organisation, 'domains'), async (trx) => {
      const noted = isOver
        ? await deleteDomain(trx, row)
        : await updateDomain(trx, row, { proven, absent_since })
      const event = isOver ? 'pod.domain_dropped' : proven ? 'pod.domain_restored' : 'pod.domain_lapsed'
      const entry = { type: 'account', subject: ['domain', domain], data: { event, podId: pod } } as const
      return { entry: noted && (isOver || proven !== row.proven) ? entry : undefined, result: null }
    })
    await changed(domain)
  }

  /** What DNS says of a binding now. */
  const see = async ({ domain, pod }: PodDomainRow): Promise<Sighting> => {
    try {
      const { dns, hasProof } = await lookUps.both(domain, pod)
      return dns.valid && hasProof ? 'present' : 'absent'
    } catch (error) {
      if (error instanceof DnsError) return 'unknown'
      throw error
    }
  }

  const look = async (row: PodDomainRow): Promise<void> => {
    const retryAt = clock.now() + RETRY_PAUSE_MS
    if (!(await postponeCheck(database, row, retryAt))) return
    const sighting = await see(row)
    // Such a look was ended by ourselves, and says nothing.
    if (closing && sighting === 'unknown') return
    await note(row, sighting)
    // What nobody could tell is asked again in an hour.
    if (sighting !== 'unknown')
      await postponeCheck(database, { ...row, check_at: retryAt }, clock.now() + RECHECK_PAUSE_MS)
  }

  /** Looks at each, several at a time. @throws the first failure, once no look is under way */
  const lookAtAll = async (due: readonly PodDomainRow[]): Promise<void> => {
    const limited = pLimit(PARALLEL_LOOKS)
    const ends = await Promise.allSettled(
      due.map((row) => limited(async () => (closing ? undefined : look(row)))),
    )
    const failure = ends.find((end) => end.status === 'rejected')
    if (failure) throw failure.reason
  }

  const round = async (): Promise<void> => {
    for (;;) {
      const due = await findDueDomains(database, clock.now(), DOMAINS_PER_READ)
      await lookAtAll(due)
      if (closing || due.length < DOMAINS_PER_READ) return
    }
  }

  /** Looks at every domain that is due, unless that is being done already. */
  const run = (): Promise<void> => {
    running ??= round().finally(() => {
      running = undefined
    })
    return running
  }

  const timer = setInterval(() => {
    run().catch((error: unknown) => logger.error({ err: error }, 'domains not looked at'))
  }, ROUND_PAUSE_MS)
  timer.unref()

  return {
    run,
    /** Ends the looks under way, and with them the round that runs. */
    async close(): Promise<void> {
      closing = true
      clearInterval(timer)
      lookUps.close()
      // Whoever began the round heard of its failure.
      await running?.catch(() => undefined)
    },
  }
}
