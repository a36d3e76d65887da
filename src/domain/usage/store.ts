/** Results counted by day, and the proofs that were given away. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { integer, type RowOf, table, text } from '../../store/table.ts'

export const usageDays = table('usage_days', {
  organisation: text().key(),
  /** Days since 1970-01-01 UTC. */
  day: integer().key(),
  category: text().key(),
  results: integer().merge('sum'),
  /** Results that carry a zero-knowledge proof. */
  proofs: integer().merge('sum'),
  proof_bytes: integer().merge('sum'),
})

type UsageDayRow = RowOf<typeof usageDays>

/** One category of one organisation, summed up. */
export interface CategorySums {
  readonly category: string
  readonly results: number
  readonly today: number
  readonly month: number
  readonly proofs: number
  readonly proofBytes: number
}

/** @param today a UTC day @param month its month's first day */
export const sumUsage = async (
  { knex }: Database,
  organisation: string,
  today: number,
  month: number,
): Promise<CategorySums[]> =>
  knex<UsageDayRow>('usage_days')
    .where({ organisation })
    .groupBy('category')
    .orderBy('category')
    .select(
      'category',
      knex.raw('sum(results)::bigint AS results'),
      knex.raw('coalesce(sum(results) FILTER (WHERE day = ?), 0)::bigint AS today', [today]),
      knex.raw('coalesce(sum(results) FILTER (WHERE day >= ?), 0)::bigint AS month', [month]),
      knex.raw('sum(proofs)::bigint AS proofs'),
      knex.raw('sum(proof_bytes)::bigint AS "proofBytes"'),
    )

/** First and last UTC day, both included. */
export interface Days {
  readonly first: number
  readonly last: number
}

/** What was counted on each day of a window, by category. */
export const findUsageDays = (
  { knex }: Database,
  organisation: string,
  { first, last }: Days,
): Promise<UsageDayRow[]> =>
  knex<UsageDayRow>('usage_days')
    .where({ organisation })
    .whereBetween('day', [first, last])
    .orderBy('category')

export interface DayCharge {
  readonly day: number
  readonly currency: string
  /** Minor units. */
  readonly amount: number
}

/** What the organisation's pods charged on each day of a window. */
export const findDayCharges = async (
  { knex }: Database,
  organisation: string,
  { first, last }: Days,
): Promise<DayCharge[]> =>
  knex('pods')
    .join('pod_days', 'pod_days.pod', 'pods.id')
    .where({ organisation })
    .where('charged_minor', '>', 0)
    .whereBetween('day', [first, last])
    .groupBy('day', 'currency')
    .orderBy('currency')
    .select('day', 'currency', knex.raw('sum(charged_minor)::bigint AS amount'))

/** Proofs that were given to an account of the organisation, and how many are used. */
export interface Grant {
  readonly account: string
  readonly granted: number
  readonly used: number
  readonly expiresAt: number
}

/** Name of the ledger's counter of a grant; it belongs to the grant's organisation. */
export const grantCounter = (account: string): string => `free/${account}`

/** All grants of an organisation, expired ones too, those first that end first. */
export const findGrants = async ({ knex }: Database, organisation: string): Promise<Grant[]> => {
  const { rows } = await knex.raw(
    `SELECT account, granted, expires_at AS "expiresAt", coalesce(value, 0)::bigint AS used
       FROM free_proof_grants LEFT JOIN ledger_counters
         ON ledger_counters.organisation = free_proof_grants.organisation AND counter = 'free/' || account
      WHERE free_proof_grants.organisation = ? ORDER BY expires_at, account`,
    [organisation],
  )
  return rows
}
