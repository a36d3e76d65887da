/** Comma-separated values (RFC 4180), safe to open in a spreadsheet. @module */
import { stringify } from 'csv-stringify/sync'
import type { EventRow } from '../../event-log/rows.ts'
import { COLUMNS, toWire } from '../wire.ts'

/** Spreadsheets take a field that begins like a formula for one: such fields get an apostrophe before them. */
const OPTIONS = { escape_formulas: true, record_delimiter: 'windows' } as const

/** Lines of rows, each with its CR LF. @param log of all rows @param first whether the line of the names comes before them */
export const toCsv = (rows: readonly EventRow[], log: number, first: boolean): string => {
  const columns = log === 0 ? [...COLUMNS] : [...COLUMNS, 'log']
  return stringify(rows.map(toWire), { ...OPTIONS, columns, header: first })
}
