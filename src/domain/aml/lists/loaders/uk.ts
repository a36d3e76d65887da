/**
 * The UK Sanctions List of the Foreign, Commonwealth & Development Office as CSV: a title, a header, and for each entry a line a
 * name or address. https://www.gov.uk/government/publications/the-uk-sanctions-list
 * @module
 */
import type { CheckType, ListEntry, ListName } from '../../entry.ts'
import { readTable, type TableRow } from '../files/csv.ts'
import { type ListFile, ListFileError } from '../files/list-file.ts'
import { readAnyDate, readSlashedDate, readVagueDate, startOf } from './dates.ts'
import { type Draft, type Entries, finishDraft } from './draft.ts'

const NEEDED = ['Unique ID', 'Name 6', 'Name type', 'Designation Type']
const NAME_PARTS = ['Name 1', 'Name 2', 'Name 3', 'Name 4', 'Name 5', 'Name 6']
const COUNTRIES = ['Nationality(/ies)', 'Address Country']
const IDENTIFIERS = ['Passport number', 'National Identifier number', 'Business registration number (s)']
const KINDS: ReadonlyMap<string, ListEntry['kind']> = new Map([
  ['Individual', 'person'],
  ['Entity', 'organisation'],
])
/** Ships are nobody who could be a user. */
const LEFT_OUT = new Set(['Ship'])
/** An entry is told when all lines were read, so that they are held in memory until then. */
const MAX_LINES = 500_000

/** What the lines of an entry say together. */
interface Collected {
  readonly line: number
  readonly kind: ListEntry['kind']
  readonly primary: ListName[]
  readonly others: ListName[]
  readonly births: string[]
  readonly countries: string[]
  readonly identifiers: string[]
}

/** Where a cell has several values. */
const split = (text: string): string[] => text.split(/[|;]/).map((value) => value.trim())

const readNames = (row: TableRow): ListName[] => {
  const parts = NAME_PARTS.map((part) => row.get(part)).filter((part) => part !== '')
  const weak = /^low quality/i.test(row.get('Alias strength')) && { weak: true as const }
  return [
    { text: parts.join(' '), ...weak },
    { text: row.get('Name non-latin script'), ...weak },
  ]
}

const collect = (known: Collected, row: TableRow): void => {
  const isPrimary = /^primary name$/i.test(row.get('Name type'))
  for (const name of readNames(row)) (isPrimary ? known.primary : known.others).push(name)
  known.births.push(...split(row.get('D.O.B')))
  for (const column of COUNTRIES) known.countries.push(...split(row.get(column)))
  for (const column of IDENTIFIERS) known.identifiers.push(...split(row.get(column)))
}

const toDraft = (id: string, known: Collected, types: readonly CheckType[]): Draft => ({
  id,
  kind: known.kind,
  types,
  names: [...known.primary, ...known.others],
  births: known.births.map((text) => readSlashedDate(text) ?? readAnyDate(text)),
  countries: known.countries,
  identifiers: known.identifiers,
})

/** Entries in the order of their first lines. @throws ListFileError */
export async function* readUk(file: ListFile, types: readonly CheckType[]): Entries {
  const { title, rows } = await readTable(file, NEEDED)
  const entries = new Map<string, Collected>()
  let lines = 0
  for await (const row of rows) {
    if (++lines > MAX_LINES) throw new ListFileError(file.name, row.line, `has more than ${MAX_LINES} lines`)
    const type = row.get('Designation Type')
    if (LEFT_OUT.has(type)) continue
    const id = row.get('Unique ID')
    const kind = KINDS.get(type) ?? 'unknown'
    const known = entries.get(id) ?? {
      line: row.line,
      kind,
      primary: [],
      others: [],
      births: [],
      countries: [],
      identifiers: [],
    }
    entries.set(id, known)
    collect(known, row)
  }
  for (const [id, known] of entries) yield finishDraft(file, known.line, toDraft(id, known, types))
  const [, reported] = /^Report Date:(.+)$/i.exec(title[0] ?? '') ?? []
  return startOf(reported === undefined ? undefined : readVagueDate(reported.replaceAll('-', ' ').trim()))
}
