/** What a loader has read of an entry, made into an entry: repeated and empty values left out, sizes bounded. @module */
import {
  type CheckType,
  comparableIdentifier,
  type DaySpan,
  type ListEntry,
  type ListName,
  MIN_IDENTIFIER_CHARACTERS,
} from '../../entry.ts'
import { countryCode } from './countries.ts'

const MAX_NAMES = 200
const MAX_NAME_CHARACTERS = 400
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

const distinct = <T>(values: readonly T[], key: (value: T) => string): T[] =>
  [...new Map(values.toReversed().map((value) => [key(value), value])).values()].reverse()

const cleanName = ({ text, weak }: ListName): ListName => {
  const clean = text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_NAME_CHARACTERS)
  return weak ? { text: clean, weak } : { text: clean }
}

/** @returns undefined for an entry without a name */
export const finishDraft = (draft: Draft): ListEntry | undefined => {
  const names = distinct(
    draft.names.map(cleanName).filter(({ text }) => text !== ''),
    ({ text }) => text,
  ).slice(0, MAX_NAMES)
  if (names.length === 0) return undefined
  const identifiers = draft.identifiers
    .map(comparableIdentifier)
    .filter(({ length }) => length >= MIN_IDENTIFIER_CHARACTERS && length <= MAX_IDENTIFIER_CHARACTERS)
  const countries = draft.countries.flatMap((name) => countryCode(name) ?? [])
  const births = draft.births.filter((span) => span !== undefined)
  return {
    id: draft.id,
    kind: draft.kind,
    types: draft.types,
    names,
    births: distinct(births, ({ from, to }) => `${from}/${to}`).slice(0, MAX_VALUES),
    countries: [...new Set(countries)].slice(0, MAX_VALUES),
    identifiers: [...new Set(identifiers)].slice(0, MAX_VALUES),
  }
}
