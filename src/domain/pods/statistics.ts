/** Days, weeks and rates of a pod's statistics. @module */

const DAY_MS = 24 * 3_600_000
/** 1970-01-01 was a Thursday: so many days after a Monday. */
const EPOCH_WEEKDAY = 3
const DAYS_A_WEEK = 7

/** Days since 1970-01-01 UTC. @param at Unix ms */
export const utcDay = (at: number): number => Math.floor(at / DAY_MS)

/** The Monday that begins the ISO 8601 week of a UTC day. */
export const mondayOf = (day: number): number => day - ((day + EPOCH_WEEKDAY) % DAYS_A_WEEK)

/** `98.50%`: hundredths of a percent, halves rounded up; `0.00%` of none. */
export const percentage = (part: number, whole: number): string => {
  if (whole === 0) return '0.00%'
  const hundredths = (BigInt(part) * 20_000n + BigInt(whole)) / (2n * BigInt(whole))
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, '0')}%`
}
