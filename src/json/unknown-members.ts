/**
 * What a caller is told of a member that nothing here knows: where it stands, and which known one was probably meant.
 * @module
 */
import { distance } from 'fastest-levenshtein'
import { type ErrorDetail, pointerToken } from '../errors.ts'

/** At most so many are told of one request. */
export const MAX_UNKNOWN_TOLD = 10
/** Names are the caller's; longer ones are cut. */
const MAX_NAME_CHARACTERS = 64
/** A message lists at most this many known names. */
const LISTED_NAMES = 20
/** Of two names that are alike, one letter in this many may differ. */
const LETTERS_PER_SLIP = 3
const MIN_PREFIX_CHARACTERS = 2

/** A name known somewhere else in the same document; `place` is where, empty for the top. */
export interface KnownName {
  readonly name: string
  readonly place: string
}

/** `single_use`, `singleUse` and `SingleUse` are one name spelt in three ways. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')

/** How far two names are apart; undefined: nobody would take one for the other. */
const apart = (sent: string, known: string): number | undefined => {
  const [a, b] = [plain(sent), plain(known)]
  const slips = distance(a, b)
  if (slips <= Math.max(1, Math.round(Math.min(a.length, b.length) / LETTERS_PER_SLIP))) return slips
  const shorter = Math.min(a.length, b.length)
  return shorter >= MIN_PREFIX_CHARACTERS && (a.startsWith(b) || b.startsWith(a)) ? shorter : undefined
}

const nearest = <T>(sent: string, known: readonly T[], nameOf: (one: T) => string): T | undefined => {
  let best: { one: T; by: number } | undefined
  for (const one of known) {
    const by = apart(sent, nameOf(one))
    if (by !== undefined && (best === undefined || by < best.by)) best = { one, by }
  }
  return best?.one
}

const at = (place: string): string => (place === '' ? 'at the top' : `in \`${place}\``)

const hint = (name: string, here: readonly string[], elsewhere: readonly KnownName[]): string => {
  const misplaced = elsewhere.find((known) => known.name === name)
  if (misplaced) return `is not known here; \`${name}\` belongs ${at(misplaced.place)}`
  const close = nearest(name, here, (known) => known)
  if (close !== undefined) return `is not known; did you mean \`${close}\`?`
  const far = nearest(name, elsewhere, (known) => known.name)
  if (far) return `is not known; did you mean \`${far.name}\` ${at(far.place)}?`
  if (here.length === 0) return 'is not known; no members are accepted here'
  const listed = here.slice(0, LISTED_NAMES).map((known) => `\`${known}\``)
  return `is not known; known here: ${listed.join(', ')}${here.length > LISTED_NAMES ? ', …' : ''}`
}

/**
 * @param pointer JSON Pointer (RFC 6901) to the object that has the member
 * @param sent the member's name
 * @param here names that are known in its place
 * @param elsewhere names that are known in other places
 */
export const unknownMember = (
  pointer: string,
  sent: string,
  here: readonly string[],
  elsewhere: readonly KnownName[] = [],
): ErrorDetail => {
  const name = sent.slice(0, MAX_NAME_CHARACTERS)
  return {
    path: `${pointer}/${pointerToken(name)}`,
    code: 'unknown_member',
    message: hint(name, here, elsewhere),
  }
}
