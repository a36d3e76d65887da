/**
 * JSON text looked at before it is parsed: how deep it nests, how many values it has, and which of its numbers a
 * double can't hold. `JSON.parse` rounds 9007199254740993 and 0.10000000000000000001 without a word; what is signed
 * or decided would then differ from what was sent. And what it drops, such as all but the last of repeated names, no
 * look at the parsed value can bound.
 *
 * A number is exact here if the shortest text of its double (ECMAScript, RFC 8785 §3.2.2.3) is the same decimal:
 * 1.50, 1e3 and 0.1 are, whole numbers beyond 2^53 only sometimes.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { compareNumber, isNumber } from 'lossless-json'

/** Longer whole numbers become NaN, since arithmetic on them would take time. */
const MAX_BIGINT_CHARS = 1000
/** Shorter numbers have at most 15 digits, which a double keeps, unless an exponent takes them out of its range. */
const LONG_NUMBER_CHARS = 16
/** Closer to zero doubles have fewer digits. */
const MIN_NORMAL = 2 ** -1022
const WHOLE = /^-?\d+$/
const MARK_BYTES = 16

const code = (character: string): number => character.charCodeAt(0)
const QUOTE = code('"')
const BACKSLASH = code('\\')
const COMMA = code(',')
const COLON = code(':')
const SMALL_E = code('e')
const LARGE_E = code('E')
const ONE = code('1')
const NINE = code('9')

const NOTHING = 0
const WHITESPACE = 1
const OPENS = 2
const CLOSES = 3
const NUMBER = 4

/** What each byte means outside of texts. A number goes on as long as its bytes do. */
const MEANING = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte)
  if (' \t\n\r'.includes(character)) return WHITESPACE
  if ('[{'.includes(character)) return OPENS
  if (']}'.includes(character)) return CLOSES
  return '-0123456789'.includes(character) ? NUMBER : NOTHING
})
const GOES_ON = Uint8Array.from({ length: 256 }, (_, byte) =>
  '-+.eE0123456789'.includes(String.fromCharCode(byte)) ? 1 : 0,
)

/** A number that no double holds, at its place in the text. */
export interface Inexact {
  /** Bytes from the start of the text. */
  readonly start: number
  readonly end: number
  /** As {@link readNumber} reads it: a bigint or NaN. */
  readonly value: number | bigint
}

export interface JsonLimits {
  /** Levels of lists and objects inside one another. */
  readonly depth: number
  /** Values in all, lists and objects included. */
  readonly values?: number
  /** Inexact numbers. Absent: nobody looks at numbers. */
  readonly inexact?: number
}

/** What was found in a text: the limit it exceeds; or its inexact numbers, in order, and how many members its objects have. */
export type JsonScan =
  | { readonly exceeds: keyof JsonLimits }
  | { readonly inexact: readonly Inexact[]; readonly members: number }

/** Comparing throws at texts that `Number` reads and JSON does not have, such as `-.5`. */
const isSame = (text: string, shortest: string): boolean =>
  isNumber(text) && compareNumber(text, shortest) === 0

/** What a number in JSON text means: itself where it is exact, else a bigint if it is whole, else NaN. */
export const readNumber = (text: string): number | bigint => {
  const value = Number(text)
  const shortest = String(value)
  if (shortest === text || (Number.isFinite(value) && isSame(text, shortest))) return value
  return WHOLE.test(text) && text.length <= MAX_BIGINT_CHARS ? BigInt(text) : Number.NaN
}

/** @returns the place of the quote that ends the text which begins at `start` */
const endOfText = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}

/** @returns the place after the number which begins at `start` */
const endOfNumber = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  while (GOES_ON[bytes[at] as number] === 1) at += 1
  return at
}

const hasExponent = (bytes: Uint8Array, start: number, end: number): boolean => {
  for (let at = start; at < end; at++) if (bytes[at] === SMALL_E || bytes[at] === LARGE_E) return true
  return false
}

const isNormal = (value: number): boolean => Number.isFinite(value) && Math.abs(value) >= MIN_NORMAL

/** Whether a number has no digit but zeros, whatever its exponent. */
const isZero = (bytes: Uint8Array, start: number, end: number): boolean => {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte === SMALL_E || byte === LARGE_E) return true
    if (byte >= ONE && byte <= NINE) return false
  }
  return true
}

const readInexact = (bytes: Buffer, start: number, end: number): Inexact | undefined => {
  const isShort = end - start < LONG_NUMBER_CHARS
  if (isShort && !hasExponent(bytes, start, end)) return undefined
  const text = bytes.toString('latin1', start, end)
  if (isShort) {
    const value = Number(text)
    if (isNormal(value) || (value === 0 && isZero(bytes, start, end))) return undefined
  }
  const value = readNumber(text)
  return typeof value === 'bigint' || Number.isNaN(value) ? { start, end, value } : undefined
}

/**
 * Goes once over a text, which is a fraction of the work of parsing it, so that what is too large costs nobody the
 * time of finding that out.
 * @param bytes UTF-8; what is no JSON gets some answer, and is for the parser to refuse
 */
export const scanJson = (
  bytes: Buffer,
  { depth: maxDepth, values: maxValues, inexact: maxInexact }: JsonLimits,
): JsonScan => {
  const inexact: Inexact[] = []
  let values = 1
  let members = 0
  let depth = 0
  let opened = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    const meaning = MEANING[byte]
    if (meaning === WHITESPACE) continue
    // The first member of a list or an object has no comma before it.
    if (byte === COMMA || (opened && meaning !== CLOSES)) values += 1
    if (byte === COLON) members += 1
    if (maxValues !== undefined && values > maxValues) return { exceeds: 'values' }
    opened = meaning === OPENS
    if (opened) depth += 1
    if (depth > maxDepth) return { exceeds: 'depth' }
    if (meaning === CLOSES) depth -= 1
    if (byte === QUOTE) at = endOfText(bytes, at)
    if (meaning === NUMBER) {
      const end = endOfNumber(bytes, at)
      const found = maxInexact === undefined ? undefined : readInexact(bytes, at, end)
      if (found) inexact.push(found)
      if (inexact.length > (maxInexact ?? 0)) return { exceeds: 'inexact' }
      at = end - 1
    }
  }
  return { inexact, members }
}

const decode = (bytes: Buffer): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes)

/** The text with one that nobody can guess in the place of each inexact number. */
const markInexact = (bytes: Buffer, inexact: readonly Inexact[]): { text: string; mark: string } => {
  const mark = randomBytes(MARK_BYTES).toString('hex')
  const parts: Buffer[] = []
  let from = 0
  for (const [index, { start, end }] of inexact.entries()) {
    parts.push(bytes.subarray(from, start), Buffer.from(`"${mark}${index}"`))
    from = end
  }
  return { text: decode(Buffer.concat([...parts, bytes.subarray(from)])), mark }
}

/** Puts each inexact number in the place of its mark. A reviver would be called for every value, and takes ten times as long. */
const unmark = (parsed: unknown, mark: string, inexact: readonly Inexact[]): unknown => {
  // What it is in is one more place to look at, so that the whole may be a mark as well.
  const root = [parsed]
  const open: object[] = [root]
  for (let holder = open.pop(); holder !== undefined; holder = open.pop())
    for (const name of Object.keys(holder)) {
      const member: unknown = (holder as Record<string, unknown>)[name]
      if (typeof member === 'object' && member !== null) open.push(member)
      else if (typeof member === 'string' && member.startsWith(mark))
        // Its own already, also where its name is that of a prototype.
        (holder as Record<string, unknown>)[name] = inexact[Number(member.slice(mark.length))]?.value
    }
  return root[0]
}

/**
 * Parses JSON like `JSON.parse`, except that a whole number which a double can't hold is a bigint, and any other
 * such number NaN. Neither can be mistaken for a number that was sent. The last of repeated names counts.
 * @param bytes UTF-8, with or without a byte order mark
 * @param inexact what {@link scanJson} found in them
 * @throws SyntaxError when it is no JSON, TypeError when it is no UTF-8
 */
export const parseExact = (bytes: Buffer, inexact: readonly Inexact[]): unknown => {
  // First as it is: with marks in it, what is no JSON might become some.
  const value: unknown = JSON.parse(decode(bytes))
  if (inexact.length === 0) return value
  const { text, mark } = markInexact(bytes, inexact)
  return unmark(JSON.parse(text), mark, inexact)
}

/**
 * Looks for the first inexact number that parsing keeps.
 * @param bytes JSON that was parsed before, of bounded depth
 * @param inexact what {@link scanJson} found in them
 * @returns the names and indices on the way to it; undefined when there is none, or only under a repeated name
 */
export const findInexact = (bytes: Buffer, inexact: readonly Inexact[]): string[] | undefined => {
  if (inexact.length === 0) return undefined
  const { text, mark } = markInexact(bytes, inexact)
  const walk = (value: unknown): string[] | undefined => {
    if (typeof value === 'string') return value.startsWith(mark) ? [] : undefined
    if (typeof value !== 'object' || value === null) return undefined
    for (const name of Object.keys(value)) {
      const below = walk((value as Record<string, unknown>)[name])
      if (below) return [name, ...below]
    }
    return undefined
  }
  return walk(JSON.parse(text))
}
