/** Days as documents name them, `yyyy-mm-dd`, and as circuits compare them, yyyymmdd. @module */
import { iso } from '../../clock.ts'

const DAY_MS = 86_400_000
const YEAR = 10_000

/** Whether the calendar has this day. @param day `yyyy-mm-dd` */
export const isDay = (day: string): boolean => {
  const at = Date.parse(`${day}T00:00:00Z`)
  // A day that its month lacks is taken for one of the next month.
  return !Number.isNaN(at) && iso(at).startsWith(day)
}

/** yyyymmdd. @param day `yyyy-mm-dd` */
export const dayNumber = (day: string): number => Number(day.replaceAll('-', ''))

/** The day at a moment, in UTC: `yyyy-mm-dd`. */
export const dayOf = (unixMs: number): string => iso(unixMs).slice(0, 10)

/** When a day is over in UTC, Unix ms. */
export const endOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) + DAY_MS

/** The earliest of what is known, Unix ms; null where nothing is. */
export const earliest = (...moments: readonly (number | null)[]): number | null => {
  const known = moments.filter((moment) => moment !== null)
  return known.length === 0 ? null : Math.min(...known)
}

/** Whole years from one day to another. Who was born on 29 February grows older on 1 March. Both yyyymmdd. */
export const yearsBetween = (from: number, to: number): number => Math.floor((to - from) / YEAR)

export const MAX_AGE_YEARS = 125
/** Whether somebody who lives may be born on this day. Both `yyyy-mm-dd`. */
export const isBirthDate = (day: string, today: string): boolean => {
  if (!isDay(day)) return false
  const age = yearsBetween(dayNumber(day), dayNumber(today))
  return age >= 0 && age <= MAX_AGE_YEARS
}

/** The last day, yyyymmdd, on which somebody was born who is so old today. It need not be one that the calendar has. */
export const latestBirthDate = (minAge: number, unixMs: number): number =>
  dayNumber(dayOf(unixMs)) - minAge * YEAR
