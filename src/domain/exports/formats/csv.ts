/** Comma-separated values (RFC 4180), safe to open in a spreadsheet. @module */
import { stringify } from 'csv-stringify/sync'
import type { EventRow } from '../../event-log/rows.ts'
import { COLUMNS, toWire } from '../wire.ts'

/** Spreadsheets take a field that begins like a formula for one: such fields get an apostrophe before them. */
const OPTIONS = { columns: [...COLUMNS], escape_formulas: true, record_delimiter: 'windows' } as const

/** Lines of rows, each with its CR LF. @param first whether the line of the names comes before them */
export const toCsv = (rows: readonly EventRow[], first: boolean): string =>
  stringify(rows.map(toWire), { ...OPTIONS, header: first })
