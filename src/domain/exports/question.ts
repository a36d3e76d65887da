/** What an export is asked for: times in four forms, a limit, a format. @module */
import { AppError } from '../../errors.ts'
import { isWritable, readDateTime } from '../../json/moments.ts'
import type { Window } from '../event-log/event-log.ts'

const DAY_MS = 86_400_000
const MS_PER_SECOND = 1_000
/** Unix times below are seconds, others milliseconds: the year 5138, and March 1973. */
const LEAST_UNIX_MS = 100_000_000_000
const UNIX = /^\d{1,15}$/

/** As it stands in the query. */
export interface ExportQuery<F extends string> {
  readonly since?: string
  readonly until?: string
  readonly format?: F
  readonly limit?: number
}

export interface Question<F extends string> {
  readonly window: Window
  /** Rows at most. */
  readonly limit: number | undefined
  readonly format: F
}

const refuse = (name: 'since' | 'until', code: string, message: string): never => {
  throw new AppError('validation_failed', { details: [{ path: `query/${name}`, code, message }] })
}

/** @returns Unix ms, undefined for what is no time */
const readMoment = (text: string): number | undefined => {
  if (UNIX.test(text)) {
    const number = Number(text)
    return number < LEAST_UNIX_MS ? number * MS_PER_SECOND : number
  }
  return readDateTime(text)
}

const momentOf = (name: 'since' | 'until', text: string): number => {
  const at = readMoment(text)
  if (at === undefined) {
    const plus = / \d\d:\d\d$/.test(text) ? ' In a query, + is written %2B.' : ''
    return refuse(
      name,
      'format',
      `${name} must be a time such as 2026-01-31T08:00:00Z, a date, or Unix seconds or milliseconds.${plus}`,
    )
  }
  return isWritable(at) ? at : refuse(name, 'out_of_range', `${name} must be in the years 1970 to 9998.`)
}

/**
 * Reads a query. Without `until` the window ends now, without `since` it is a day long. Moments between two
 * milliseconds count as the earlier one.
 * @param now Unix ms
 * @throws AppError validation_failed naming the parameter
 */
export const readQuestion = <F extends string>(
  query: ExportQuery<F>,
  usualFormat: F,
  now: number,
): Question<F> => {
  const until = query.until === undefined ? now : momentOf('until', query.until)
  const since = query.since === undefined ? Math.max(0, until - DAY_MS) : momentOf('since', query.since)
  if (since > until) refuse('since', 'out_of_range', 'The window ends before it begins.')
  return { window: { since, until }, limit: query.limit, format: query.format ?? usualFormat }
}
