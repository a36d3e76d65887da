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

/** Longer whole numbers become NaN, since arithmetic on them would take time. */
const MAX_BIGINT_CHARS = 1000
/** Decimals of so many digits lie further apart than doubles do, so that each is the shortest text of its own (IEEE 754). */
const MAX_SURE_DIGITS = 15
/** Powers of ten. The greatest double is 1.8e308, and those closest to zero are 4.9e-324 apart, whatever their size. */
const MAX_SURE_POWER = 307
const MIN_SURE_POWER = -322
/** No shortest text has more. */
const MAX_SHORTEST_DIGITS = 17
const WHOLE = /^-?\d+$/
const MARK_BYTES = 16

const code = (character: string): number => character.charCodeAt(0)
const QUOTE = code('"')
const BACKSLASH = code('\\')
const COMMA = code(',')
const COLON = code(':')
const SMALL_E = code('e')
const LARGE_E = code('E')
const MINUS = code('-')
const POINT = code('.')
const ZERO = code('0')
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
  /** A bigint if it is whole, else NaN. */
  readonly value: bigint | number
}

export interface JsonLimits {
  /** Levels of lists and objects inside one another. */
  readonly depth: number
  /** Values in all, lists and objects included. */
  readonly values?: number
}

/**
 * What was found in a text: the limit it exceeds; or where numbers begin, in order, that may be inexact, which
 * {@link readInexact} tells, and how many members its objects have.
 */
export type JsonScan =
  | { readonly exceeds: keyof JsonLimits }
  | { readonly doubtful: readonly number[]; readonly members: number }

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

/** The digits of a number without the zeros around them. */
interface Digits {
  /** 0 for a number that is zero, whatever its exponent. */
  readonly count: number
  /** Their first and their last one, in bytes from the start of the text. */
  readonly first: number
  readonly last: number
  /** Of what these two stand for, as powers of ten. */
  readonly highest: number
  readonly lowest: number
}

const readExponent = (bytes: Uint8Array, start: number, end: number): number => {
  let exponent = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte >= ZERO && byte <= NINE) exponent = exponent * 10 + byte - ZERO
  }
  return bytes[start] === MINUS ? -exponent : exponent
}

const readDigits = (bytes: Uint8Array, start: number, end: number): Digits => {
  let first = -1
  let last = -1
  let point = -1
  let at = start
  for (; at < end && bytes[at] !== SMALL_E && bytes[at] !== LARGE_E; at++) {
    const byte = bytes[at] as number
    if (byte === POINT) point = at
    if (byte < ONE || byte > NINE) continue
    if (first === -1) first = at
    last = at
  }
  if (first === -1) return { count: 0, first, last, highest: 0, lowest: 0 }
  if (point === -1) point = at
  const exponent = readExponent(bytes, at + 1, end)
  return {
    count: last - first + (first < point && point < last ? 0 : 1),
    first,
    last,
    highest: exponent + point - first - (first < point ? 1 : 0),
    lowest: exponent + point - last - (last < point ? 1 : 0),
  }
}

/** Whether a number is exact by how many digits it has, and where: without asking for its double. */
const isSurelyExact = ({ count, highest, lowest }: Digits): boolean =>
  count === 0 || (count <= MAX_SURE_DIGITS && highest <= MAX_SURE_POWER && lowest >= MIN_SURE_POWER)

/**
 * Compares a number with the shortest text of its double, which takes up to a microsecond.
 * @param start where it begins, as {@link scanJson} says of those that are doubtful
 * @returns undefined when it is exact
 */
export const readInexact = (bytes: Buffer, start: number): Inexact | undefined => {
  const end = endOfNumber(bytes, start)
  const text = bytes.toString('latin1', start, end)
  const { count, first, last, highest } = readDigits(bytes, start, end)
  if (count <= MAX_SHORTEST_DIGITS) {
    const digits = text.slice(first - start, last - start + 1).replace('.', '')
    const written = `${digits[0]}${count > 1 ? '.' : ''}${digits.slice(1)}e${highest < 0 ? '' : '+'}${highest}`
    if (Math.abs(Number(text)).toExponential() === written) return undefined
  }
  const isReadable = text.length <= MAX_BIGINT_CHARS && WHOLE.test(text)
  return { start, end, value: isReadable ? BigInt(text) : Number.NaN }
}

/**
 * Goes once over a text, which is a fraction of the work of parsing it, so that what is too large costs nobody the
 * time of finding that out.
 * @param bytes UTF-8; what is no JSON gets some answer, and is for the parser to refuse
 */
export const scanJson = (
  bytes: Buffer,
  { depth: maxDepth, values: maxValues = Number.POSITIVE_INFINITY }: JsonLimits,
): JsonScan => {
  const doubtful: number[] = []
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
    if (values > maxValues) return { exceeds: 'values' }
    opened = meaning === OPENS
    if (opened) depth += 1
    if (depth > maxDepth) return { exceeds: 'depth' }
    if (meaning === CLOSES) depth -= 1
    if (byte === QUOTE) at = endOfText(bytes, at)
    if (meaning === NUMBER) {
      const end = endOfNumber(bytes, at)
      if (!isSurelyExact(readDigits(bytes, at, end))) doubtful.push(at)
      // What is no JSON may have them without a comma.
      if (doubtful.length > maxValues) return { exceeds: 'values' }
      at = end - 1
    }
  }
  return { doubtful, members }
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
 * @param inexact all that are in them, in order
 * @throws SyntaxError when it is no JSON, TypeError when it is no UTF-8
 */
export const parseExact = (bytes: Buffer, inexact: readonly Inexact[]): unknown => {
  // First as it is: with marks in it, what is no JSON might become some.
  const value: unknown = JSON.parse(decode(bytes))
  if (inexact.length === 0) return value
  const { text, mark } = markInexact(bytes, inexact)
  return unmark(JSON.parse(text), mark, inexact)
}

const firstInexact = (bytes: Buffer, doubtful: readonly number[]): Inexact | undefined => {
  for (const start of doubtful) {
    const found = readInexact(bytes, start)
    if (found) return found
  }
  return undefined
}

/**
 * Looks for the first inexact number.
 * @param bytes JSON that was parsed before, of bounded depth, no name twice in one object
 * @param doubtful what {@link scanJson} found in them
 * @returns the names and indices on the way to it; undefined when there is none
 */
export const findInexact = (bytes: Buffer, doubtful: readonly number[]): string[] | undefined => {
  const found = firstInexact(bytes, doubtful)
  if (found === undefined) return undefined
  const { text, mark } = markInexact(bytes, [found])
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
