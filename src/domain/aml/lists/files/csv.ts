/** CSV of a watch list (RFC 4180), record by record. @module */
import { pipeline, Readable } from 'node:stream'
import { parse } from 'csv-parse'
import { parse as parseWhole } from 'csv-parse/sync'
import { type ListFile, ListFileError, readText } from './list-file.ts'

const MAX_RECORD_CHARACTERS = 1024 * 1024
/** A header stands in one of the first records; what comes before is a title. */
const MAX_TITLE_RECORDS = 2

export interface CsvRecord {
  /** On which it ends. */
  readonly line: number
  /** Trimmed. */
  readonly values: readonly string[]
}

/** Some published files end with a Ctrl-Z. */
async function* withoutEndMark(file: ListFile): AsyncGenerator<string> {
  for await (const text of readText(file)) yield text.replaceAll('\x1a', '')
}

/** Records, blank lines left out. @throws ListFileError for open quotation marks and records that are too long */
export async function* readCsv(file: ListFile): AsyncGenerator<CsvRecord> {
  const parser = parse({
    info: true,
    max_record_size: MAX_RECORD_CHARACTERS,
    skip_empty_lines: true,
    relax_column_count: true,
  })
  // What goes wrong is thrown where the parser is read.
  pipeline(Readable.from(withoutEndMark(file)), parser, () => undefined)
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[]
      info: { lines: number }
    }>) {
      if (record.length === 1 && record[0]?.trim() === '') continue
      yield { line: info.lines, values: record.map((value) => value.trim()) }
    }
  } catch (error) {
    if (error instanceof ListFileError) throw error
    const { lines, message } = error as { lines?: number; message: string }
    throw new ListFileError(file.name, lines, message, error)
  }
}

/** @throws ListFileError for a record with more or fewer columns */
export const checkColumns = (file: ListFile, { line, values }: CsvRecord, columns: number): void => {
  if (values.length !== columns)
    throw new ListFileError(file.name, line, `has ${values.length} columns instead of ${columns}`)
}

export interface TableRow {
  readonly line: number
  /** The value in a column; empty where the file has no such column. */
  get(column: string): string
}

export interface Table {
  /** What stands above the header. */
  readonly title: readonly string[]
  readonly rows: AsyncIterable<TableRow>
}

async function* readRows(
  file: ListFile,
  records: AsyncGenerator<CsvRecord>,
  header: readonly string[],
): AsyncGenerator<TableRow> {
  const places = new Map(header.map((name, i) => [name, i]))
  for await (const record of records) {
    checkColumns(file, record, header.length)
    yield {
      line: record.line,
      get(column) {
        const place = places.get(column)
        return place === undefined ? '' : (record.values[place] ?? '')
      },
    }
  }
}

/**
 * A file whose columns have names.
 * @param columns those that it must have; it may have others
 * @throws ListFileError where they are not there
 */
export const readTable = async (file: ListFile, columns: readonly string[]): Promise<Table> => {
  const records = readCsv(file)
  const title: string[] = []
  let missing: readonly string[] = columns
  for (let i = 0; i <= MAX_TITLE_RECORDS; i++) {
    const { value: record } = await records.next()
    if (record === undefined) break
    const { values } = record
    const lacks = columns.filter((column) => !values.includes(column))
    if (lacks.length === 0) return { title, rows: readRows(file, records, values) }
    if (lacks.length < missing.length) missing = lacks
    title.push(...values)
  }
  await records.return(undefined)
  if (title.length === 0) throw new ListFileError(file.name, undefined, 'is empty')
  throw new ListFileError(file.name, undefined, `has no column ${missing[0]}`)
}

/** The values of a cell that is CSV itself, separated by semicolons. @throws ListFileError */
export const splitCell = (file: ListFile, line: number, cell: string): string[] => {
  if (!cell.includes('"')) return cell.split(';')
  try {
    return parseWhole(cell, { delimiter: ';' })[0] ?? []
  } catch (cause) {
    throw new ListFileError(file.name, line, 'has a cell whose values are not separated by semicolons', cause)
  }
}
