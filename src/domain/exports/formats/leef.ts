/** Log Event Extended Format 2.0, IBM QRadar (LEEF guide, version 2). @module */
import type { EventRow } from '../../event-log/rows.ts'
import { toWire } from '../wire.ts'
import { addressOf, gravityOf, outcomeOf, PRODUCT, SEVERITY } from './words.ts'

/** Attributes are separated by tabs, which the header says as a code. */
const SEPARATOR = '\t'
const SEPARATOR_CODE = 'x09'

/** The format has no escapes: what would separate or end something becomes a space. */
const value = (text: string): string => text.replaceAll(/[\t\r\n]+/g, ' ')
const header = (text: string): string => value(text).replaceAll('|', ' ')

/** Attributes that QRadar knows by name; all others keep the names of the API. */
const predefined = (row: EventRow) => ({
  cat: row.type,
  // Unix ms is a form that needs no devTimeFormat.
  devTime: row.at,
  sev: SEVERITY[gravityOf(row)],
  ...(row.type === 'request' && { src: addressOf(row.ip), usrName: row.actorId, url: row.route }),
  outcome: outcomeOf(row),
})

/** One event in one line, without its newline. */
export const toLeef = (row: EventRow): string => {
  const { vendor, name, version } = PRODUCT
  const head = ['LEEF:2.0', vendor, name, version, row.type, SEPARATOR_CODE].map(header)
  const { type: _, at: __, outcome: ___, ...own } = toWire(row)
  const pairs = Object.entries({ ...predefined(row), ...own }).flatMap(([key, content]) =>
    content === null || content === undefined ? [] : [`${key}=${value(String(content))}`],
  )
  return `${head.join('|')}|${pairs.join(SEPARATOR)}`
}
