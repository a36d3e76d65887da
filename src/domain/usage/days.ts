/** What an organisation used on each day of a window. @module */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { readWindow } from '../../json/moments.ts'
import { fromMinorUnits } from '../../protocol/payment-proof.ts'
import type { Database } from '../../store/database.ts'
import type { UsageDay, UsageDays, UsageDaysQuery } from './schemas.ts'
import { type Days, findDayCharges, findUsageDays } from './store.ts'

const DAY_MS = 24 * 3_600_000
const DEFAULT_DAYS = 30
const MAX_DAYS = 366

/** @throws AppError invalid_query */
const daysOf = (query: UsageDaysQuery, now: number): Days => {
  const { from, to = now } = readWindow(query)
  // The end of a day that was asked for is the midnight after it.
  const last = query.to === undefined ? Math.floor(to / DAY_MS) : to / DAY_MS - 1
  const first = from === undefined ? Math.max(0, last - DEFAULT_DAYS + 1) : from / DAY_MS
  if (first > last || last - first >= MAX_DAYS)
    fail('invalid_query', {
      details: [
        { path: 'query/from', code: 'out_of_range', message: `The window must have 1 to ${MAX_DAYS} days.` },
      ],
    })
  return { first, last }
}

const dateOf = (day: number): string => iso(day * DAY_MS).slice(0, 'yyyy-mm-dd'.length)

export const createUsageDays = ({
  database,
  clock,
}: {
  readonly database: Database
  readonly clock: Clock
}) => ({
  /** The last day first. @throws AppError invalid_query */
  async days({ organisation }: Caller, query: UsageDaysQuery): Promise<UsageDays> {
    const window = daysOf(query, clock.now())
    const [rows, charges] = await Promise.all([
      findUsageDays(database, organisation, window),
      findDayCharges(database, organisation, window),
    ])
    const days = new Map<number, UsageDay>()
    for (let day = window.last; day >= window.first; day--)
      days.set(day, { day: dateOf(day), results: 0, proofs: 0, byCategory: {}, charges: [] })
    for (const { day, category, results, proofs } of rows) {
      const one = days.get(day)
      if (one === undefined) continue
      one.results += results
      one.proofs += proofs
      one.byCategory[category] = results
    }
    for (const { day, currency, amount } of charges)
      days.get(day)?.charges.push({ currency, amount: fromMinorUnits(amount, currency) })
    return { days: [...days.values()] }
  },
})
