/**
 * What organisations use: results counted by UTC day in the same append as the results themselves, and the free
 * ones that count down while there is no subscription.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { type ErrorCode, fail } from '../../errors.ts'
import type { Tx } from '../../ledger/decision.ts'
import type { Database } from '../../store/database.ts'
import type { Row } from '../../store/table.ts'
import type { AccountsService } from '../accounts/service.ts'
import { createUsageDays } from './days.ts'
import type { Usage, UsageCategory } from './schemas.ts'
import { type CategorySums, findGrants, type Grant, grantCounter, sumUsage, usageDays } from './store.ts'

const DAY_MS = 24 * 3_600_000
const FREE_REMAINING_HEADER = 'X-Free-Remaining'

/** One result, as it is counted. */
export interface Metered {
  readonly organisation: string
  /** Unix ms. */
  readonly at: number
  readonly category: UsageCategory
  /** Zero-knowledge proofs in the result: 0 or 1. */
  readonly proofs: number
  /** Bytes of the proof and its public signals. */
  readonly proofBytes: number
}

/** What a result costs an organisation without a subscription. */
export interface Allowance {
  /** How many were left a moment ago. At 0 taking one is bound to fail, so nothing costly need be done first. */
  readonly left: number
  /** What taking one fails with when none is left. */
  readonly code: ErrorCode
  /** Takes one within the decision that writes the result. @throws AppError with the code */
  take(tx: Tx): void
}

interface Deps {
  readonly database: Database
  readonly accounts: Pick<AccountsService, 'organisations'>
  readonly clock: Clock
  readonly logger: { error(details: object, message: string): void }
}

/** The row that counts a result; rows of one organisation, day and category add up. */
const meterRow = ({ organisation, at, category, proofs, proofBytes }: Metered): Row =>
  usageDays.row({
    organisation,
    day: Math.floor(at / DAY_MS),
    category,
    results: 1,
    proofs,
    proof_bytes: proofBytes,
  })

const firstDayOfMonth = (at: number): number => {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / DAY_MS
}

const sum = (rows: readonly CategorySums[], of: 'results' | 'today' | 'month' | 'proofs' | 'proofBytes') =>
  rows.reduce((total, row) => total + row[of], 0)

const leftOf = ({ granted, used }: Grant): number => Math.max(granted - used, 0)

const leftOfAll = (grants: readonly Grant[]): number =>
  grants.reduce((total, grant) => total + leftOf(grant), 0)

const freeOf = (live: readonly Grant[]): Usage['free'] => {
  const [first] = live
  if (first === undefined) return null
  const granted = live.reduce((total, grant) => total + grant.granted, 0)
  const remaining = leftOfAll(live)
  return { granted, used: granted - remaining, remaining, expiresAt: iso(first.expiresAt) }
}

export type UsageService = ReturnType<typeof createUsage>

export const createUsage = ({ database, accounts, clock, logger }: Deps) => {
  const isSubscribed = async (organisation: string): Promise<boolean> =>
    (await accounts.organisations.find(organisation)).subscription === 'active'

  const liveGrants = async (organisation: string) => {
    const all = await findGrants(database, organisation)
    const now = clock.now()
    return { all, live: all.filter(({ expiresAt }) => now < expiresAt) }
  }

  return {
    meterRow,

    ...createUsageDays({ database, clock }),

    /**
     * What a result costs: nothing with an active subscription, else one of the free ones, first of those that
     * expire first. Taking it fails with `free_allocation_used`, or `subscription_inactive` where nothing was ever
     * given; it is the ledger that decides, so that no two results share the last one.
     * @param charged the result is charged in money, which only subscribers are: it never uses up a free one
     */
    async allowance(organisation: string, charged = false): Promise<Allowance | undefined> {
      if (await isSubscribed(organisation)) return undefined
      const { all, live } = charged ? { all: [], live: [] } : await liveGrants(organisation)
      const code = all.length === 0 ? 'subscription_inactive' : 'free_allocation_used'
      const counters = live.map(({ account, granted }) => ({ counter: grantCounter(account), granted }))
      return {
        left: leftOfAll(live),
        code,
        take(tx) {
          // All are read before one is chosen: one that is used up would name the next only when it is read.
          const standings = counters.map((one) => ({ ...one, used: tx.counter(one.counter) }))
          const { counter } = standings.find(({ used, granted }) => used < granted) ?? fail(code)
          tx.add(counter, 1)
        },
      }
    },

    /**
     * Headers of answers that may have used a free result: how many are left. None with a subscription, and none when
     * it can't be read: the result is committed and paid, so its answer must not fail for this.
     */
    async headers(organisation: string): Promise<Record<string, string>> {
      try {
        if (await isSubscribed(organisation)) return {}
        const { live } = await liveGrants(organisation)
        return { [FREE_REMAINING_HEADER]: String(leftOfAll(live)) }
      } catch (error) {
        logger.error({ err: error, organisation }, 'free results not told')
        return {}
      }
    },

    /** What the caller's organisation has used. */
    async read({ organisation }: Caller): Promise<Usage> {
      const now = clock.now()
      const today = Math.floor(now / DAY_MS)
      const [rows, { live }] = await Promise.all([
        sumUsage(database, organisation, today, firstDayOfMonth(now)),
        liveGrants(organisation),
      ])
      const proofs = sum(rows, 'proofs')
      return {
        proofCounts: { total: sum(rows, 'results'), today: sum(rows, 'today'), month: sum(rows, 'month') },
        avgProofSize: proofs === 0 ? 0 : Math.round(sum(rows, 'proofBytes') / proofs),
        byCategory: Object.fromEntries(rows.map(({ category, results }) => [category, results])),
        free: freeOf(live),
      }
    },
  }
}
