/** An entry of a watch list, as every loader makes it. @module */
import { hash } from 'node:crypto'
import { canonicalJson } from '../../protocol/canonical-json.ts'

/** What somebody can be checked for. */
export const CHECK_TYPES = ['sanctions', 'pep', 'watchlist', 'adverse_media'] as const
export type CheckType = (typeof CHECK_TYPES)[number]

/** A span of days, both included, each `YYYY-MM-DD`: a date that is known exactly is one day, a year is its 365. */
export interface DaySpan {
  readonly from: string
  readonly to: string
}

export interface ListName {
  readonly text: string
  /** The publisher calls it weak: too common or too short to mean somebody by itself. */
  readonly weak?: true
}

export interface ListEntry {
  /** The publisher's id, unique within its list. */
  readonly id: string
  readonly kind: 'person' | 'organisation' | 'unknown'
  /** What a match with it is a match for; never empty. */
  readonly types: readonly CheckType[]
  /** The main name first; never empty. */
  readonly names: readonly ListName[]
  /** Dates that were given, any of which may be the right one. */
  readonly births: readonly DaySpan[]
  /** Nationalities, citizenships and addresses: ISO 3166-1 alpha-2, upper case. */
  readonly countries: readonly string[]
  /** Numbers of documents and registers, as {@link comparableIdentifier} writes them. */
  readonly identifiers: readonly string[]
}

/** Shorter ones are shared by too many. */
export const MIN_IDENTIFIER_CHARACTERS = 5

/** A document's number without what people write differently: capital letters and digits. */
export const comparableIdentifier = (text: string): string =>
  text
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '')

/**
 * What an entry says, as a hash: the same on every server, and another one as soon as its publisher changes anything that is
 * compared or shown. SHA-256 over the RFC 8785 JSON of the entry, lower-case hex.
 */
export const entryDigest = (entry: ListEntry): string => hash('sha256', canonicalJson(entry), 'hex')
