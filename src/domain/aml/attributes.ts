/** Whether what is known of somebody besides the name agrees with an entry of a list. @module */
import type { DaySpan } from './entry.ts'

/** What lists give as a range longer than this, such as "1955 to 1960", is too vague to agree with. */
const MAX_AGREEING_DAYS = 366
/** Lists often err by a year: dates this close neither agree nor differ. */
const CLOSE_DAYS = 366
const MS_PER_DAY = 86_400_000

export type Agreement = 'agrees' | 'close' | 'differs'

const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY

/** `2001-03-04` and `2001-04-03`. */
const isTransposed = (a: string, b: string): boolean =>
  a.slice(0, 4) === b.slice(0, 4) && a.slice(5, 7) === b.slice(8, 10) && a.slice(8, 10) === b.slice(5, 7)

/** @returns undefined for what is no date, such as 1974-00-00: it speaks neither for nor against anybody */
const compareToSpan = (birth: string, { from, to }: DaySpan): Agreement | undefined => {
  const [day, first, last] = [dayNumber(birth), dayNumber(from), dayNumber(to)]
  if ([day, first, last].some(Number.isNaN)) return undefined
  if (day >= first && day <= last) return last - first < MAX_AGREEING_DAYS ? 'agrees' : 'close'
  if (from === to && isTransposed(birth, from)) return 'close'
  return day >= first - CLOSE_DAYS && day <= last + CLOSE_DAYS ? 'close' : 'differs'
}

const ORDER: readonly Agreement[] = ['agrees', 'close', 'differs']

/**
 * The best that any of the listed dates gives.
 * @param birth `YYYY-MM-DD`
 * @returns undefined where the list gives none, or this is no date
 */
export const compareBirth = (birth: string, births: readonly DaySpan[]): Agreement | undefined =>
  births
    .map((span) => compareToSpan(birth, span))
    .filter((agreement) => agreement !== undefined)
    .toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))[0]

/** @returns undefined where the list gives none. People have several countries, so another one is no contradiction. */
export const compareCountry = (country: string, countries: readonly string[]): Agreement | undefined =>
  countries.length === 0 ? undefined : countries.includes(country) ? 'agrees' : 'close'
