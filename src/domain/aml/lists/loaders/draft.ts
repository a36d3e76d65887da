/** What a loader has read of an entry, made into an entry: repeated and empty values left out, sizes bounded. @module */
import {
  type CheckType,
  comparableIdentifier,
  type DaySpan,
  type ListEntry,
  type ListName,
  MIN_IDENTIFIER_CHARACTERS,
} from '../../entry.ts'
import { type ListFile, ListFileError } from '../files/list-file.ts'
import { countryCode } from './countries.ts'

/** More than the longest published entry has, some 600. */
const MAX_NAMES = 1000
const MAX_NAME_CHARACTERS = 400
const MAX_ID_CHARACTERS = 256
const MAX_VALUES = 100
const MAX_IDENTIFIER_CHARACTERS = 64

export interface Draft {
  readonly id: string
  readonly kind: ListEntry['kind']
  readonly types: readonly CheckType[]
  readonly names: readonly ListName[]
  readonly births: readonly (DaySpan | undefined)[]
  /** Names of countries or their codes; what is neither is left out. */
  readonly countries: readonly string[]
  readonly identifiers: readonly string[]
}

/** What a file says of itself, told when all of it was read: when it was published, Unix ms. */
export type Published = number | undefined

/** The entries of a list, in the order of its file. */
export type Entries = AsyncGenerator<ListEntry, Published>

/** Each once, where it stands first. @param better whether a later one is kept in its place */
const distinct = <T>(
  values: readonly T[],
  key: (value: T) => string,
  better: (later: T, kept: T) => boolean = () => false,
): T[] => {
  const found = new Map<string, T>()
  for (const value of values) {
    const kept = found.get(key(value))
    if (kept === undefined || better(value, kept)) found.set(key(value), value)
  }
  return [...found.values()]
}

/** Half a surrogate pair, which has no canonical JSON, becomes U+FFFD. */
const wellFormed = (text: string): string => text.replaceAll(/\p{Cs}/gu, '\uFFFD')

const cleanName = ({ text, weak }: ListName): ListName => {
  const clean = wellFormed(text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_NAME_CHARACTERS))
  return weak ? { text: clean, weak } : { text: clean }
}

/** @param line where it stands, or ends @throws ListFileError for an entry without an id or a name */
export const finishDraft = (file: ListFile, line: number | undefined, draft: Draft): ListEntry => {
  const refuse = (what: string): never => {
    throw new ListFileError(file.name, line, what)
  }
  const id = wellFormed(draft.id.trim())
  if (id === '') refuse('the entry has no id')
  if (id.length > MAX_ID_CHARACTERS) refuse(`the id has more than ${MAX_ID_CHARACTERS} characters`)
  const names = distinct(
    draft.names.map(cleanName).filter(({ text }) => text !== ''),
    ({ text }) => text,
    // Weak only where its publisher never calls it anything else.
    (later, kept) => kept.weak === true && later.weak !== true,
  ).slice(0, MAX_NAMES)
  if (names.length === 0) refuse(`the entry ${id} has no name`)
  const identifiers = draft.identifiers
    .map(comparableIdentifier)
    .filter(({ length }) => length >= MIN_IDENTIFIER_CHARACTERS && length <= MAX_IDENTIFIER_CHARACTERS)
  const countries = draft.countries.flatMap((name) => countryCode(name) ?? [])
  const births = draft.births.filter((span) => span !== undefined)
  return {
    id,
    kind: draft.kind,
    types: draft.types,
    names,
    births: distinct(births, ({ from, to }) => `${from}/${to}`).slice(0, MAX_VALUES),
    countries: [...new Set(countries)].slice(0, MAX_VALUES),
    identifiers: [...new Set(identifiers)].slice(0, MAX_VALUES),
  }
}

/** `DOE, John` → `John DOE`; names of others stay as they are. */
export const inSpokenOrder = (name: string, kind: ListEntry['kind']): string => {
  const [, last, rest] = (kind === 'person' && /^([^,]+), (.+)$/.exec(name)) || []
  return last === undefined ? name : `${rest} ${last}`
}

/** What lists call numbers that are none of a document or register. */
const NO_DOCUMENT =
  /website|e-?mail|phone|fax|sanctions|gender|digital currency|directive|executive order|vessel|aircraft|type of|permanent resident|\bdate\b|place/i

/** Whether a number of this kind, in the publisher's words, tells somebody from others. */
export const isDocument = (kind: string): boolean => !NO_DOCUMENT.test(kind)
