/**
 * JSON as the service accepts it: I-JSON (RFC 7493) as far as strings go, no keys that reach prototypes,
 * no name twice in one object, bounded depth, and bounded width where a schema leaves the shape open.
 * @module
 */
import { isUtf8 } from 'node:buffer'
import { AppError, pointerToken } from '../../errors.ts'
import { findInexact, scanJson } from '../../json/exact-numbers.ts'
import { locateJsonFault } from '../../json/fault.ts'

export const JSON_MAX_DEPTH = 64
export const JSON_MAX_KEYS_PER_OBJECT = 1000
/** Pointers in error details echo the caller's keys; longer ones are cut. */
const POINTER_MAX_CHARS = 256

const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor'])

export const clipPointer = (pointer: string): string =>
  pointer.length <= POINTER_MAX_CHARS ? pointer : `${pointer.slice(0, POINTER_MAX_CHARS)}…`

const refuse = (path: string, code: string, message: string): never => {
  throw new AppError('invalid_request', { message, details: [{ path: clipPointer(path), code, message }] })
}

/** NUL, which PostgreSQL text can't hold, and lone surrogates, which have no UTF-8 form. */
const isStorable = (text: string): boolean => !text.includes('\u0000') && !/\p{Surrogate}/u.test(text)

/** A list or an object on the way; the path to it is spelt out only for a refusal. */
interface Place {
  readonly value: object
  readonly name: string
  readonly parent?: Place
}

const pathOf = (place: Place): string => {
  const tokens: string[] = []
  for (let at = place; at.parent !== undefined; at = at.parent) tokens.push(`/${pointerToken(at.name)}`)
  return tokens.reverse().join('')
}

const requireNames = (names: readonly string[], place: Place, bounded: boolean): void => {
  if (bounded && names.length > JSON_MAX_KEYS_PER_OBJECT) {
    refuse(pathOf(place), 'max_keys', `An object can have at most ${JSON_MAX_KEYS_PER_OBJECT} keys.`)
  }
  for (const name of names) {
    if (FORBIDDEN_KEYS.has(name))
      refuse(`${pathOf(place)}/${pointerToken(name)}`, 'forbidden_key', 'This key is not allowed.')
    if (!isStorable(name))
      refuse(pathOf(place), 'invalid_string', 'A key contains U+0000 or a lone surrogate.')
  }
}

/**
 * Walks a parsed value without recursion.
 * @param bounded whether key counts are limited too
 * @throws AppError invalid_request naming the offending place
 */
const inspect = (root: object, bounded: boolean): void => {
  const open: Place[] = [{ value: root, name: '' }]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value } = place
    const names = Array.isArray(value) ? undefined : Object.keys(value)
    if (names) requireNames(names, place, bounded)
    const members: readonly unknown[] = Object.values(value)
    for (let i = 0; i < members.length; i++) {
      const member = members[i]
      if (typeof member === 'object' && member !== null) {
        open.push({ value: member, name: names?.[i] ?? String(i), parent: place })
      } else if (typeof member === 'string' && !isStorable(member)) {
        const path = `${pathOf(place)}/${pointerToken(names?.[i] ?? String(i))}`
        refuse(path, 'invalid_string', 'The text contains U+0000 or a lone surrogate.')
      }
    }
  }
}

/** How many members the objects of a value have in all; its depth is bounded. */
const countMembers = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  let count = Array.isArray(value) ? 0 : Object.keys(value).length
  for (const member of Object.values(value)) count += countMembers(member)
  return count
}

/** @throws AppError invalid_json, always; what the text holds is not told */
const refuseText = (text: string, what: string, cause?: unknown): never => {
  const place = locateJsonFault(text)
  const message = place === undefined ? `${what}.` : `${what}: ${place}.`
  throw new AppError('invalid_json', { message, cause })
}

/** @throws AppError invalid_json for what is no JSON, or repeats a name within an object (RFC 7493 §2.3) */
const parseOnce = (text: string, members: number): unknown => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    return refuseText(text, 'The request body is not valid JSON', cause)
  }
  // Parsing keeps the last of repeated names, and says nothing.
  if (countMembers(value) !== members)
    refuseText(text, 'The request body has a duplicate member in an object')
  return value
}

/** @throws AppError number_not_exact naming the place of the first */
const requireExactNumbers = (bytes: Buffer, doubtful: readonly number[]): void => {
  const place = findInexact(bytes, doubtful)
  if (place === undefined) return
  const path = clipPointer(place.map((name) => `/${pointerToken(name)}`).join(''))
  const message = 'has more digits than can be kept exactly; send it as a string'
  throw new AppError('number_not_exact', { details: [{ path, code: 'number_not_exact', message }] })
}

/**
 * Parses a request body.
 * @param bytes the raw body, UTF-8 (a byte order mark is refused, RFC 8259 §8.1)
 * @param open whether its schema leaves some part's shape open, so that widths must be bounded here
 * @param exactNumbers whether numbers that a double would round are refused; widths are then bounded, too
 * @throws AppError invalid_json, invalid_request, number_not_exact
 */
export const parseJson = (bytes: Buffer, open: boolean, exactNumbers = false): unknown => {
  if (!isUtf8(bytes)) throw new AppError('invalid_json', { message: 'The request body is not valid UTF-8.' })
  const scan = scanJson(bytes, { depth: JSON_MAX_DEPTH })
  // Told of the whole: what is too deep may stand anywhere.
  if ('exceeds' in scan)
    return refuse('', 'max_depth', `JSON can be nested at most ${JSON_MAX_DEPTH} levels deep.`)
  const bounded = open || exactNumbers
  const text = bytes.toString('utf8')
  const value = parseOnce(text, scan.members)
  if (typeof value === 'string' && !isStorable(value)) {
    refuse('', 'invalid_string', 'The text contains U+0000 or a lone surrogate.')
  }
  // Escapes can spell anything, so a text with escapes is walked; others only when the words appear.
  const suspicious =
    bounded || text.includes('\\u') || text.includes('__proto__') || text.includes('"constructor"')
  if (suspicious && typeof value === 'object' && value !== null) inspect(value, bounded)
  if (exactNumbers) requireExactNumbers(bytes, scan.doubtful)
  return value
}
