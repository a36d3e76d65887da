/**
 * The SDN list of the US Office of Foreign Assets Control in its older form: sdn.csv with one line an entry, alt.csv with
 * other names, add.csv with addresses, joined by their first column. No header lines; `-0-` is null. The consolidated list
 * (cons_prim.csv, cons_alt.csv, cons_add.csv) has the same columns.
 * https://ofac.treasury.gov/media/29976/download (data specification)
 * @module
 */
import type { CheckType, DaySpan, ListEntry, ListName } from '../../entry.ts'
import { checkColumns, readCsv } from '../files/csv.ts'
import { type ListFile, ListFileError } from '../files/list-file.ts'
import { readVagueDate } from './dates.ts'
import { type Draft, type Entries, finishDraft, inSpokenOrder, isDocument } from './draft.ts'

/** Statements that are longer hold no number. */
const MAX_NUMBER_REMARK_CHARACTERS = 500
const NULL = '-0-'
const COLUMNS = { main: 12, alt: 5, add: 6 } as const

export interface OfacFiles {
  readonly main: ListFile
  readonly alt?: ListFile
  readonly add?: ListFile
}

interface Record {
  readonly line: number
  /** Nulls are empty. */
  readonly values: readonly string[]
}

async function* readRecords(file: ListFile, columns: number): AsyncGenerator<Record> {
  for await (const record of readCsv(file)) {
    checkColumns(file, record, columns)
    yield { line: record.line, values: record.values.map((value) => (value === NULL ? '' : value)) }
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

/** The last word of what numbers are called: `Company Number`, `C.U.R.P.`, `Registration Certificate Number (Dubai)`. */
const NUMBERED =
  /^(?:numbers?|no\.?|#|id|card|code\)?|passport|identification|document|registration|licen[cs]e|ssn|fein|rfc|rsin|rtn|electoral|nacional|identidad|(?:[a-z]\.){2,}|\([a-z]{2,}\))$/i
/** What is told of a number behind it: its country, `issued 16 Jun 2000`. */
const BEHIND_NUMBER = /^(?:\(.*|issued|expires)$/
/** Places and other parties may have numbers in their names. */
const NO_KIND = /^POB |:/

/** Of a document or register. */
const numberOf = (remark: string): string | undefined => {
  if (remark.length > MAX_NUMBER_REMARK_CHARACTERS) return undefined
  const words = remark.split(' ')
  const digits = words.findIndex((word) => /\d/.test(word))
  const last = words.findLastIndex((word, i) => i < digits && NUMBERED.test(word))
  const kind = words.slice(0, last + 1).join(' ')
  if (kind === '' || NO_KIND.test(kind) || !isDocument(kind)) return undefined
  const rest = words.slice(last + 1)
  const end = rest.findIndex((word) => BEHIND_NUMBER.test(word))
  return rest.slice(0, end < 0 ? rest.length : end).join(' ')
}

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

const KINDS: ReadonlyMap<string, ListEntry['kind']> = new Map([
  ['individual', 'person'],
  ['', 'organisation'],
])

/** Ships and aircraft are nobody who could be a user. */
const LEFT_OUT = new Set(['vessel', 'aircraft'])

/** Entries in the order of the main file. @throws ListFileError */
export async function* readOfac(files: OfacFiles, types: readonly CheckType[]): Entries {
  const others = await readByEntry(files.alt, COLUMNS.alt, (values) => values[3] ?? '')
  const places = await readByEntry(files.add, COLUMNS.add, (values) => values[4] ?? '')
  for await (const { line, values } of readRecords(files.main, COLUMNS.main)) {
    const [id = '', name = '', type = ''] = values
    if (!/^\d+$/.test(id))
      throw new ListFileError(files.main.name, line, `begins with "${id.slice(0, 20)}", not with a number`)
    if (LEFT_OUT.has(type.toLowerCase())) continue
    const kind = KINDS.get(type.toLowerCase()) ?? 'unknown'
    const remarks = readRemarks(values[11] ?? '')
    const written = [name, ...(others.get(id) ?? [])].map((text) => ({ text: inSpokenOrder(text, kind) }))
    yield finishDraft(files.main, line, {
      ...remarks,
      id,
      kind,
      types,
      names: [...written, ...remarks.names],
      countries: [...remarks.countries, ...(places.get(id) ?? [])],
    })
  }
  return undefined
}
