/** Dates as watch lists write them, exact, partial or vague, as spans of days. @module */
import type { DaySpan } from '../../entry.ts'

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
/** "circa 1957" is 1956 to 1958. */
const CIRCA_YEARS = 1

const pad = (value: number, digits: number): string => String(value).padStart(digits, '0')

const lastDayOf = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate()

const isYear = (year: number): boolean => year >= 1000 && year <= 9999

/** @param month 1 to 12 @returns undefined for a day that does not exist, and for numbers that are not whole */
export const spanOf = (year: number, month?: number, day?: number): DaySpan | undefined => {
  if (!isYear(year) || ![year, month ?? 1, day ?? 1].every(Number.isInteger)) return undefined
  if (month === undefined) return { from: `${year}-01-01`, to: `${year}-12-31` }
  if (month < 1 || month > 12) return undefined
  const last = lastDayOf(year, month)
  if (day === undefined)
    return { from: `${year}-${pad(month, 2)}-01`, to: `${year}-${pad(month, 2)}-${last}` }
  if (day < 1 || day > last) return undefined
  const exact = `${year}-${pad(month, 2)}-${pad(day, 2)}`
  return { from: exact, to: exact }
}

/** `2001`, `2001-03` or `2001-03-04`, with whatever time follows. */
export const readIsoDate = (text: string): DaySpan | undefined => {
  const [, year, month, day] = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:T.*)?$/.exec(text.trim()) ?? []
  if (year === undefined) return undefined
  return spanOf(
    Number(year),
    month === undefined ? undefined : Number(month),
    day === undefined ? undefined : Number(day),
  )
}

/** From the beginning of one to the end of the other. */
export const spanBetween = (a: DaySpan | undefined, b: DaySpan | undefined): DaySpan | undefined =>
  a && b && a.from <= b.to ? { from: a.from, to: b.to } : undefined

const around = (span: DaySpan | undefined): DaySpan | undefined =>
  span &&
  spanBetween(
    spanOf(Number(span.from.slice(0, 4)) - CIRCA_YEARS),
    spanOf(Number(span.to.slice(0, 4)) + CIRCA_YEARS),
  )

/** `10 Dec 1948`, `Dec 1948` or `1948`. */
const readEnglishDate = (text: string): DaySpan | undefined => {
  const [, day, word, year] = /^(?:(?:(\d{1,2})\s+)?([A-Za-z]{3,9})\s+)?(\d{4})$/.exec(text.trim()) ?? []
  if (year === undefined) return undefined
  if (word === undefined) return spanOf(Number(year))
  const month = MONTHS.indexOf(word.slice(0, 3).toLowerCase()) + 1
  return month === 0 ? undefined : spanOf(Number(year), month, day === undefined ? undefined : Number(day))
}

/** The same, also `circa 1957` and `1957 to 1960`. @returns undefined for anything else */
export const readVagueDate = (text: string): DaySpan | undefined => {
  const [, circa, rest = ''] = /^(circa|c\.|approximately)?(.*)$/is.exec(text.trim()) ?? []
  // Each side is trimmed where it is read.
  const [from = '', to] = rest.trim().split(/\s(?:to|-)\s/)
  const span =
    to === undefined ? readEnglishDate(from) : spanBetween(readEnglishDate(from), readEnglishDate(to))
  return circa === undefined ? span : around(span)
}

/** The same, also as {@link readIsoDate} reads it. */
export const readAnyDate = (text: string): DaySpan | undefined => readIsoDate(text) ?? readVagueDate(text)

/** `13/02/1958`, where `dd` or `mm` may stand for what is not known. */
export const readSlashedDate = (text: string): DaySpan | undefined => {
  const [, day, month, year] = /^(\d{1,2}|dd)\/(\d{1,2}|mm)\/(\d{4})$/i.exec(text.trim()) ?? []
  if (day === undefined) return undefined
  const known = (part: string | undefined): number | undefined =>
    Number.isNaN(Number(part)) || Number(part) === 0 ? undefined : Number(part)
  return spanOf(Number(year), known(month), known(month) === undefined ? undefined : known(day))
}

/** When a file was published: a date and time of ISO 8601, in UTC where it names no zone. @returns Unix ms */
export const readInstant = (text: string): number | undefined => {
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text.trim())
  const at = Date.parse(/T/.test(text) && !hasZone ? `${text.trim()}Z` : text.trim())
  return Number.isNaN(at) ? undefined : at
}

/** The first day of a span, as an instant. */
export const startOf = (span: DaySpan | undefined): number | undefined =>
  span && Date.parse(`${span.from}T00:00:00Z`)

/** A year, give or take one. */
export const aroundYear = (year: number): DaySpan | undefined => around(spanOf(year))

/** From a year before a span to a year after it. */
export const aroundSpan = (span: DaySpan | undefined): DaySpan | undefined => around(span)
