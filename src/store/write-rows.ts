/**
 * Turns row values into one query for any number of tables: each table's rows travel as one JSON array, and the
 * table itself says their types. Rows of accumulating tables that meet in a batch are combined before they travel.
 * @module
 */
import type { Row, Table } from './table.ts'

type Values = Readonly<Record<string, unknown>>
type Combine = 'sum' | 'max' | 'min' | 'last' | 'first'

/** A query that writes rows, ready for `Session.query`. */
export interface RowQuery {
  readonly text: string
  readonly values: unknown[]
  /** Absent: the text comes too seldom to be prepared. */
  readonly name?: string
}

/**
 * A text is prepared once it has come more often than this: PostgreSQL plans a prepared one anew as often before it considers one plan
 * for all, so nothing is lost by waiting.
 */
const UNPREPARED_TIMES = 5
/** So many texts are counted at a time; one more, and counting begins anew: what comes rarely never comes to be prepared. */
const MAX_COUNTED_TEXTS = 500
/** Prepared texts are kept for ever, here and by each connection. */
export const MAX_PREPARED_TEXTS = 128

const quote = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`

/** One value as `json_populate_recordset` reads it: bytes as hexadecimal bytea, times as ISO 8601, int8 as text. */
const encode = (value: unknown): unknown => {
  if (value instanceof Uint8Array) {
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError('A column never holds NaN or infinity.')
  return typeof value === 'bigint' ? value.toString() : value
}

const foreign = (columns: readonly string[], values: Values): string | undefined =>
  Object.keys(values).find((column) => !columns.includes(column))

/**
 * Checks a row against its table and brings it into the form that travels, which most rows have already.
 * @throws TypeError when a column is missing or foreign
 */
const encodeRow = ({ name, columns }: Table, values: Values): Values => {
  for (const column of columns)
    if (values[column] === undefined) throw new TypeError(`A row of ${name} lacks ${column}.`)
  let encoded: Record<string, unknown> | undefined
  let count = 0
  for (const column in values) {
    if (++count > columns.length) throw new TypeError(`${name} has no column ${foreign(columns, values)}.`)
    const value = values[column]
    const sent = encode(value)
    if (sent === value) continue
    encoded ??= { ...values }
    encoded[column] = sent
  }
  return encoded ?? values
}

const add = (a: unknown, b: unknown): unknown => {
  if (typeof a === 'number' && typeof b === 'number') return a + b
  if (typeof a === 'bigint' && typeof b === 'bigint') return a + b
  throw new TypeError('Columns that add up hold numbers, all of one kind.')
}

/** Orders two values of one kind the way PostgreSQL does: numbers, times, and text under COLLATE "C". */
const isGreater = (a: unknown, b: unknown): boolean => {
  if (typeof a === 'string' && typeof b === 'string')
    return Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0
  if (typeof a === 'number' && typeof b === 'number') return a > b
  if (typeof a === 'bigint' && typeof b === 'bigint') return a > b
  if (a instanceof Date && b instanceof Date) return a > b
  throw new TypeError(
    'Columns that keep the greater or lesser value hold numbers, times or text, all of one kind.',
  )
}

/** Null loses against any value, as in PostgreSQL's greatest() and least(). */
const extreme = (a: unknown, b: unknown, greater: boolean): unknown => {
  if (a === null) return b
  if (b === null) return a
  return isGreater(b, a) === greater ? b : a
}

const combineValues = (how: Combine, older: unknown, newer: unknown): unknown => {
  switch (how) {
    case 'sum':
      return add(older, newer)
    case 'max':
      return extreme(older, newer, true)
    case 'min':
      return extreme(older, newer, false)
    case 'last':
      return newer
    case 'first':
      return older
  }
}

const SQL_OF: Record<Combine, (stored: string, added: string) => string> = {
  sum: (stored, added) => `${stored} + ${added}`,
  max: (stored, added) => `greatest(${stored}, ${added})`,
  min: (stored, added) => `least(${stored}, ${added})`,
  last: (_stored, added) => added,
  first: (stored) => stored,
}

/** Combines rows with equal keys, in order. Columns without a rule keep the older row's value. */
const mergeRows = (table: Table, rows: readonly Values[]): readonly Values[] => {
  const { merge } = table
  if (merge === undefined || rows.length < 2) return rows
  const rules: Readonly<Record<string, Combine | undefined>> = merge.columns
  const merged = new Map<string, Values>()
  for (const row of rows) {
    const key = JSON.stringify(merge.key.map((column) => encode(row[column])))
    const older = merged.get(key)
    if (older === undefined) {
      merged.set(key, row)
      continue
    }
    const combined: Record<string, unknown> = { ...older }
    for (const [column, how] of Object.entries(rules)) {
      if (how !== undefined) combined[column] = combineValues(how, older[column], row[column])
    }
    merged.set(key, combined)
  }
  return [...merged.values()]
}

const insertText = (table: Table, parameter: number): string => {
  const name = quote(table.name)
  const columns = table.columns.map(quote).join(', ')
  const insert = `INSERT INTO ${name} (${columns}) SELECT ${columns} FROM json_populate_recordset(null::${name}, $${parameter}::json)`
  const { merge } = table
  if (merge === undefined) return insert
  const rules: Readonly<Record<string, Combine | undefined>> = merge.columns
  const set = Object.entries(rules).flatMap(([column, how]) => {
    const stored = quote(column)
    return how === undefined || how === 'first'
      ? []
      : [`${stored} = ${SQL_OF[how](`${name}.${stored}`, `excluded.${stored}`)}`]
  })
  const action = set.length > 0 ? `UPDATE SET ${set.join(', ')}` : 'NOTHING'
  return `${insert} ON CONFLICT (${merge.key.map(quote).join(', ')}) DO ${action}`
}

interface RowText {
  readonly text: string
  readonly name?: string
}

/** Texts of queries that write rows. */
export interface RowTexts {
  /** @param tables in a fixed order @param last see {@link RowWriter.query} @param lastCount its parameters */
  of(tables: readonly Table[], last: string, lastCount: number): RowText
}

const tableNumbers = new WeakMap<Table, number>()
let tableCount = 0

const numberOf = (table: Table): number => {
  const number = tableNumbers.get(table) ?? tableCount++
  tableNumbers.set(table, number)
  return number
}

const composeText = (tables: readonly Table[], last: string, lastCount: number): string => {
  const parts = tables.map((table, index) => `t${index} AS (${insertText(table, lastCount + index + 1)})`)
  return parts.length > 0 ? `WITH ${parts.join(', ')} ${last}` : last
}

/**
 * A batch writes what its units write, so there are nearly as many texts as sets of tables. Those that come often are prepared, each
 * under a name that stands for it for ever; all others are sent without one, and nobody keeps them.
 */
export const createRowTexts = (): RowTexts => {
  const prepared = new Map<string, RowText>()
  const counts = new Map<string, number>()
  const isFrequent = (key: string): boolean => {
    const count = (counts.get(key) ?? 0) + 1
    if (count === 1 && counts.size === MAX_COUNTED_TEXTS) counts.clear()
    counts.set(key, count)
    return count > UNPREPARED_TIMES
  }
  return {
    of(tables, last, lastCount) {
      const key = `${tables.map(numberOf).join(' ')} ${last}`
      const known = prepared.get(key)
      if (known !== undefined) return known
      const text = composeText(tables, last, lastCount)
      if (prepared.size === MAX_PREPARED_TEXTS || !isFrequent(key)) return { text }
      const made = { text, name: `rows-${prepared.size}` }
      prepared.set(key, made)
      counts.delete(key)
      return made
    },
  }
}

/** Of this process: a name stands for one text on all its connections. */
const rowTexts = createRowTexts()

/** Gathers rows, table by table, and writes them in one query. */
export interface RowWriter {
  /** Adds a row, which must not change any more. @throws TypeError when it does not fit its table; nothing is added then */
  add(row: Row): void
  /**
   * The query that writes everything added so far and then runs `last`, a data-modifying or SELECT statement
   * whose result is the result of the whole. PostgreSQL runs all of it on one snapshot (§ 7.8.4 Data-Modifying
   * Statements in WITH), so `last` sees none of the rows.
   * @param last text with its own parameters `$1`… @param lastValues values of those parameters
   */
  query(last: string, lastValues: readonly unknown[]): RowQuery
}

/** @param texts those of the process, but in tests of them */
export const createRowWriter = (texts: RowTexts = rowTexts): RowWriter => {
  const tables = new Map<Table, Values[]>()
  return {
    add({ table, values }) {
      const given = values as Values
      const encoded = encodeRow(table, given)
      // Rows that may still be combined are kept as they came: encoded, bytes and times would not compare.
      const row = table.merge === undefined ? encoded : given
      const rows = tables.get(table)
      if (rows === undefined) tables.set(table, [row])
      else rows.push(row)
    },
    query(last, lastValues) {
      // A fixed order of tables, so that the same set of tables gives the same text.
      const sorted = [...tables].sort(([a], [b]) => (a.name < b.name ? -1 : 1))
      const { text, name } = texts.of(
        sorted.map(([table]) => table),
        last,
        lastValues.length,
      )
      const json = sorted.map(([table, rows]) =>
        JSON.stringify(
          table.merge === undefined ? rows : mergeRows(table, rows).map((row) => encodeRow(table, row)),
        ),
      )
      return { text, values: [...lastValues, ...json], name }
    },
  }
}
