/**
 * The SDN list of the US Office of Foreign Assets Control in its older form: sdn.csv with one line an entry, alt.csv with
 * other names, add.csv with addresses, joined by their first column. No header lines; `-0-` is null. The consolidated list
 * (cons_prim.csv, cons_alt.csv, cons_add.csv) has the same columns.
 * https://ofac.treasury.gov/media/29976/download (data specification)
 * @module
 */
import { pipeline, Readable } from 'node:stream'
import { parse } from 'csv-parse'
import type { CheckType, DaySpan, ListEntry, ListName } from '../../entry.ts'
import { readVagueDate } from './dates.ts'
import { type Draft, finishDraft } from './draft.ts'
import { type ListFile, ListFileError, readText } from './list-file.ts'

const MAX_RECORD_CHARACTERS = 65_536
/** Statements that are longer hold no number. */
const MAX_NUMBER_REMARK_CHARACTERS = 500
const NULL = '-0-'
const COLUMNS = { main: 12, alt: 5, add: 6 } as const

export interface OfacFiles {
  readonly main: ListFile
  readonly alt?: ListFile
  readonly add?: ListFile
}

/** The published files end with a Ctrl-Z. */
async function* withoutEndMark(file: ListFile): AsyncGenerator<string> {
  for await (const text of readText(file)) yield text.replaceAll('\x1a', '')
}

interface Record {
  readonly line: number
  /** Nulls are empty. */
  readonly values: readonly string[]
}

async function* readRecords(file: ListFile, columns: number): AsyncGenerator<Record> {
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
      if (record.length !== columns)
        throw new ListFileError(file.name, info.lines, `has ${record.length} columns instead of ${columns}`)
      yield { line: info.lines, values: record.map((value) => (value.trim() === NULL ? '' : value.trim())) }
    }
  } catch (error) {
    if (error instanceof ListFileError) throw error
    const { lines, message } = error as { lines?: number; message: string }
    throw new ListFileError(file.name, lines, message, error)
  }
}

/** Values of a column by the number of the entry that they belong to. */
const readByEntry = async (
  file: ListFile | undefined,
  columns: number,
  pick: (values: readonly string[]) => string,
): Promise<Map<string, string[]>> => {
  const found = new Map<string, string[]>()
  if (file === undefined) return found
  for await (const { values } of readRecords(file, columns)) {
    const [number = ''] = values
    const value = pick(values)
    if (value === '') continue
    const known = found.get(number)
    if (known) known.push(value)
    else found.set(number, [value])
  }
  return found
}

const NUMBER =
  /^(?:Passport|National ID No\.|Identification Number|Registration (?:ID|Number)|Tax ID No\.|[A-Z][\w.() ]* (?:No\.|#)) ([A-Za-z0-9/. -]+?)(?: \(.*)?$/

/** Of a document or register. */
const numberOf = (remark: string): string | undefined =>
  remark.length > MAX_NUMBER_REMARK_CHARACTERS ? undefined : NUMBER.exec(remark)?.[1]

/** What the remarks say, one by one: `DOB 10 Dec 1948; nationality Iraq; Passport M0003264580 (Iraq)`. */
const readRemarks = (remarks: string): Pick<Draft, 'births' | 'countries' | 'identifiers' | 'names'> => {
  const births: (DaySpan | undefined)[] = []
  const countries: string[] = []
  const identifiers: string[] = []
  const names: ListName[] = []
  for (const remark of remarks.replace(/\.\s*$/, '').split(/;\s*/)) {
    const text = remark.replace(/^alt\. /, '')
    const [, birth] = /^DOB (.+)$/.exec(text) ?? []
    const [, country] = /^(?:nationality|citizen) (.+)$/.exec(text) ?? []
    const [, alias] = /^[afn]\.k\.a\. '(.+)'$/.exec(text) ?? []
    const number = numberOf(text)
    if (birth !== undefined) births.push(readVagueDate(birth))
    else if (country !== undefined) countries.push(country)
    else if (alias !== undefined) names.push({ text: alias, weak: true })
    else if (number !== undefined) identifiers.push(number)
  }
  return { births, countries, identifiers, names }
}

/** `DOE, John` → `John DOE`; names of others stay as they are. */
const inOrder = (name: string, isPerson: boolean): string => {
  const [, last, rest] = (isPerson && /^([^,]+), (.+)$/.exec(name)) || []
  return last === undefined ? name : `${rest} ${last}`
}

const KINDS: Readonly<{ [type: string]: ListEntry['kind'] }> = { individual: 'person', '': 'organisation' }

/** Ships and aircraft are nobody who could be a user. */
const LEFT_OUT = new Set(['vessel', 'aircraft'])

/** Entries in the order of the main file. @throws ListFileError */
export async function* readOfac(files: OfacFiles, types: readonly CheckType[]): AsyncGenerator<ListEntry> {
  const others = await readByEntry(files.alt, COLUMNS.alt, (values) => values[3] ?? '')
  const places = await readByEntry(files.add, COLUMNS.add, (values) => values[4] ?? '')
  for await (const { line, values } of readRecords(files.main, COLUMNS.main)) {
    const [id = '', name = '', type = ''] = values
    if (!/^\d+$/.test(id))
      throw new ListFileError(files.main.name, line, `begins with "${id.slice(0, 20)}", not with a number`)
    if (LEFT_OUT.has(type.toLowerCase())) continue
    const kind = KINDS[type.toLowerCase()] ?? 'unknown'
    const remarks = readRemarks(values[11] ?? '')
    const written = [name, ...(others.get(id) ?? [])].map((text) => ({
      text: inOrder(text, kind === 'person'),
    }))
    const entry = finishDraft({
      ...remarks,
      id,
      kind,
      types,
      names: [...written, ...remarks.names],
      countries: [...remarks.countries, ...(places.get(id) ?? [])],
    })
    if (entry === undefined) throw new ListFileError(files.main.name, line, 'has no name')
    yield entry
  }
}
