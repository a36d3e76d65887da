/** The prompt of the day as its definition says it, day by day from the first; slow and without memory. */
import { createHash } from 'node:crypto'

const FIRST_DATE = '2026-01-01'
const REST_DAYS = 30

/** UTC day `days` after `date`. */
export const dayAfter = (date: string, days = 1): string => {
  const time = new Date(`${date}T00:00:00Z`)
  time.setUTCDate(time.getUTCDate() + days)
  return time.toISOString().slice(0, 10)
}

const chosen = (ids: readonly string[], date: string, resting: readonly string[]): string => {
  const digest = createHash('sha256').update(`daily/1|${date}`, 'utf8').digest('hex')
  const start = Number(BigInt(`0x${digest.slice(0, 12)}`) % BigInt(ids.length))
  const id = [...ids.slice(start), ...ids.slice(0, start)].find((candidate) => !resting.includes(candidate))
  if (id === undefined) throw new Error('all prompts rest')
  return id
}

/**
 * @param ids of all prompts, none of which came later
 * @returns ids of the first `days` days from 2026-01-01 on
 */
export const referenceDailies = (ids: readonly string[], days: number): string[] => {
  const sorted = ids.toSorted((a, b) => (a < b ? -1 : 1))
  const result: string[] = []
  let date = FIRST_DATE
  while (result.length < days) {
    result.push(chosen(sorted, date, result.slice(-REST_DAYS)))
    date = dayAfter(date)
  }
  return result
}
