/** Times and days as texts of queries, and the windows between two of them. @module */
import { fail } from '../errors.ts'

const DAY_MS = 86_400_000
/** What every format can write: years 1970 to 9998. */
const MAX_UNIX_MS = Date.UTC(9999, 0, 1)

/** RFC 3339 §5.6 with any number of decimals, or a date alone. */
const MOMENT =
  /^(\d{4})-(\d\d)-(\d\d)(?:T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/i
const DATE_CHARACTERS = 10

/** Whether a time is in the years that databases, dates and formats all know. @param at Unix ms */
export const isWritable = (at: number): boolean => at >= 0 && at < MAX_UNIX_MS

/** A time of RFC 3339, or a date, which stands for its midnight in UTC. @returns Unix ms, undefined for anything else */
export const readDateTime = (text: string): number | undefined => {
  const [, year, month, day, hour = '00', minute = '00', second = '00', decimals = '', zone = 'Z'] =
    MOMENT.exec(text) ?? []
  if (year === undefined) return undefined
  const date = `${year}-${month}-${day}`
  const midnight = Date.parse(`${date}T00:00:00Z`)
  // Date takes February 30 for March 2.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(date)) return undefined
  const ms = decimals.slice(0, 3).padEnd(3, '0')
  return Date.parse(`${date}T${hour}:${minute}:${second}.${ms}${zone.toUpperCase()}`)
}

/** What a list is narrowed to. Unix ms. */
export interface Window {
  /** Included. */
  readonly from?: number
  /** Not included. */
  readonly to?: number
}

const refuse = (name: 'from' | 'to', code: string, message: string): never =>
  fail('invalid_query', { details: [{ path: `query/${name}`, code, message }] })

const momentOf = (name: 'from' | 'to', text: string): number => {
  const plus = / \d\d:\d\d$/.test(text) ? ' In a query, + is written %2B.' : ''
  const at =
    readDateTime(text) ??
    refuse(
      name,
      'format',
      `${name} must be a day such as 2026-01-31 or a time such as 2026-01-31T08:00:00Z.${plus}`,
    )
  return isWritable(at) ? at : refuse(name, 'out_of_range', `${name} must be in the years 1970 to 9998.`)
}

/**
 * Reads the parameters `from` and `to` of a list: UTC days, both included, or times, of which `to` is not.
 * @throws AppError invalid_query naming the parameter
 */
export const readWindow = (asked: { readonly from?: string; readonly to?: string }): Window => {
  const from = asked.from === undefined ? undefined : momentOf('from', asked.from)
  const end = asked.to === undefined ? undefined : momentOf('to', asked.to)
  const to = end !== undefined && asked.to?.length === DATE_CHARACTERS ? end + DAY_MS : end
  if (from !== undefined && to !== undefined && from >= to)
    refuse('from', 'out_of_range', 'The window must end after it begins.')
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}
