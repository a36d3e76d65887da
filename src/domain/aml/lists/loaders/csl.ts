/**
 * The Consolidated Screening List of the US International Trade Administration: the lists of the Departments of Commerce, State
 * and the Treasury in one file, CSV or JSON. https://www.trade.gov/consolidated-screening-list
 * @module
 */
import { isObject } from '../../../../protocol/json-object.ts'
import type { CheckType, ListEntry } from '../../entry.ts'
import { readTable } from '../files/csv.ts'
import { readJsonArray } from '../files/json.ts'
import { type ListFile, ListFileError, readText, sha256Hex } from '../files/list-file.ts'
import { readAnyDate } from './dates.ts'
import { type Entries, finishDraft, inSpokenOrder, isDocument } from './draft.ts'

/** Sources that block; a match with the others is for the watch list. */
const SANCTIONS = /\((?:SDN|ISN)\)/
const NEEDED = ['source', 'entity_number', 'type', 'name', 'addresses', 'alt_names', 'ids']
const KINDS: ReadonlyMap<string, ListEntry['kind']> = new Map([
  ['Individual', 'person'],
  ['Entity', 'organisation'],
])
/** Ships and aircraft are nobody who could be a user. */
const LEFT_OUT = new Set(['Vessel', 'Aircraft'])
const SHOWN_HASH_DIGITS = 32

/** What both forms say. */
interface Party {
  readonly id: string
  readonly source: string
  readonly type: string
  readonly names: readonly string[]
  readonly births: readonly string[]
  readonly countries: readonly string[]
  readonly ids: readonly { readonly type: string; readonly number: string }[]
  readonly line: number | undefined
}

/** Cells with several values separate them like this. */
const split = (text: string): string[] => text.split(/;\s+/).filter((value) => value !== '')

/** `CO, 811038291-3, NIT #` or `1148904001971, Registration ID`: the country is left out where there is none. */
const readId = (text: string): { type: string; number: string } => {
  const parts = text.split(', ')
  const [number = '', ...type] = /^[A-Z]{2}$/.test(parts[0] ?? '') ? parts.slice(1) : parts
  return { number, type: type.join(', ') }
}

/** Addresses end with the code of their country; other endings are the postal code, the state or the city. */
const countryOf = (address: string): string => /(?:^|, )([A-Z]{2})$/.exec(address)?.[1] ?? ''

async function* readCsvParties(file: ListFile): AsyncGenerator<Party> {
  const { rows } = await readTable(file, NEEDED)
  for await (const { get, line } of rows) {
    yield {
      id: get('_id') || get('entity_number'),
      source: get('source'),
      type: get('type'),
      names: [get('name'), ...split(get('alt_names'))],
      births: split(get('dates_of_birth')),
      countries: [
        ...split(get('nationalities')),
        ...split(get('citizenships')),
        ...split(get('addresses')).map(countryOf),
      ],
      ids: split(get('ids')).map(readId),
      line,
    }
  }
}

const textIn = (value: unknown, name: string): string => {
  const text = isObject(value) ? value[name] : undefined
  return typeof text === 'string' || typeof text === 'number' ? String(text) : ''
}

const listIn = (value: Readonly<Record<string, unknown>>, name: string): unknown[] => {
  const list = value[name]
  return Array.isArray(list) ? list : []
}

const textsIn = (value: Readonly<Record<string, unknown>>, name: string): string[] =>
  listIn(value, name).filter((one): one is string => typeof one === 'string')

async function* readJsonParties(file: ListFile): AsyncGenerator<Party> {
  for await (const { value } of readJsonArray(file, 'results')) {
    if (!isObject(value) || typeof value.source !== 'string')
      throw new ListFileError(file.name, undefined, 'has an entry without a source')
    yield {
      id: textIn(value, 'id') || textIn(value, 'entity_number'),
      source: value.source,
      type: textIn(value, 'type'),
      names: [textIn(value, 'name'), ...textsIn(value, 'alt_names')],
      births: textsIn(value, 'dates_of_birth'),
      countries: [
        ...textsIn(value, 'nationalities'),
        ...textsIn(value, 'citizenships'),
        ...listIn(value, 'addresses').map((one) => textIn(one, 'country')),
        textIn(value, 'country'),
      ],
      ids: listIn(value, 'ids').map((one) => ({ type: textIn(one, 'type'), number: textIn(one, 'number') })),
      line: undefined,
    }
  }
}

const isJson = async (file: ListFile): Promise<boolean> => {
  for await (const text of readText(file)) if (text.trim() !== '') return /^[[{]/.test(text.trimStart())
  throw new ListFileError(file.name, undefined, 'is empty')
}

/**
 * Entries in the order of the file. Older files give no id to some: theirs is then the hash of what they say, and what is said
 * twice counts once.
 * @param types what each entry is a match for; absent: sanctions for those that are blocked, watchlist for the rest
 * @throws ListFileError
 */
export async function* readCsl(file: ListFile, types: readonly CheckType[] | undefined): Entries {
  const parties = (await isJson(file)) ? readJsonParties(file) : readCsvParties(file)
  const hashed = new Set<string>()
  for await (const { id, source, type, names, births, countries, ids, line } of parties) {
    if (LEFT_OUT.has(type)) continue
    const kind = KINDS.get(type) ?? 'unknown'
    const [, code = 'CSL'] = /\(([A-Z-]+)(?: List)?\)/.exec(source) ?? []
    const own = `${code}-${sha256Hex(JSON.stringify([source, names, countries, ids])).slice(0, SHOWN_HASH_DIGITS)}`
    if (id === '' && hashed.has(own)) continue
    if (id === '') hashed.add(own)
    yield finishDraft(file, line, {
      id: id || own,
      kind,
      types: types ?? [SANCTIONS.test(source) ? 'sanctions' : 'watchlist'],
      names: names.map((text) => ({ text: inSpokenOrder(text, kind) })),
      births: births.map(readAnyDate),
      countries,
      identifiers: ids.filter((one) => isDocument(one.type)).map(({ number }) => number),
    })
  }
  return undefined
}
