/**
 * Looks for secrets in what was sent, however they are written: as text, in decimal, hexadecimal, base64 of both alphabets at any
 * place in it, percent-encoded, as plain bytes of either order, or as such a text inside of base64, hexadecimal or decimal.
 */

/** Shorter runs hide no secret. */
const MIN_RUN_CHARACTERS = 8
const BASE64_GROUP = 4

const bytesOf = (value: bigint): Buffer => {
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
}

const unescaped = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** Everything that a text may be read as: the bytes that each run of digits and letters stands for. */
const readings = (text: string): Buffer[] => {
  const runs = (pattern: RegExp): string[] =>
    (text.match(pattern) ?? []).filter(({ length }) => length >= MIN_RUN_CHARACTERS)
  return [
    ...runs(/[0-9a-f]+/gi).flatMap((run) => [Buffer.from(run, 'hex'), Buffer.from(run.slice(1), 'hex')]),
    ...runs(/[0-9]+/g).map((run) => bytesOf(BigInt(run))),
    ...runs(/[\w+/-]+/g).flatMap((run) =>
      Array.from({ length: BASE64_GROUP }, (_, from) => Buffer.from(run.slice(from), 'base64')),
    ),
  ]
}

/** Something that must not be found. */
export interface Needle {
  readonly name: string
  /** Any of these texts, in upper or lower case. */
  readonly texts: readonly string[]
  /** Or these bytes. */
  readonly bytes: readonly Buffer[]
}

/** A number: in decimal, hexadecimal, and as bytes. */
export const numberNeedle = (name: string, value: bigint): Needle => {
  const bytes = bytesOf(value)
  return { name, texts: [String(value), value.toString(16)], bytes: [bytes, Buffer.from(bytes).reverse()] }
}

/** A day, as people and programs write it. @param day yyyy-mm-dd */
export const dayNeedle = (name: string, day: string): Needle => {
  const [year = '', month = '', date = ''] = day.split('-')
  const seconds = Date.parse(day) / 1000
  const compact = BigInt(year + month + date)
  const texts = [
    day,
    String(compact),
    compact.toString(16),
    `${date}.${month}.${year}`,
    `${date}/${month}/${year}`,
    `${month}/${date}/${year}`,
    `${year}/${month}/${date}`,
    `${date}${month}${year}`,
    String(seconds),
    seconds.toString(16),
  ]
  return { name, texts, bytes: [bytesOf(compact), Buffer.from(bytesOf(compact)).reverse(), Buffer.from(day)] }
}

/** @returns the names of those that were found */
export const traces = (sent: Buffer, needles: readonly Needle[]): string[] => {
  const plain = sent.toString('latin1')
  const texts = [plain, unescaped(plain)]
  const bytes = [...texts.map((text) => Buffer.from(text, 'latin1')), ...texts.flatMap(readings)]
  const lower = bytes.map((one) => one.toString('latin1').toLowerCase())
  const isThere = (needle: Needle): boolean =>
    needle.texts.some((text) => lower.some((one) => one.includes(text.toLowerCase()))) ||
    needle.bytes.some((wanted) => bytes.some((one) => one.includes(wanted)))
  return needles.filter(isThere).map(({ name }) => name)
}
