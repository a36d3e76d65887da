/**
 * Values as elements of the BN254 scalar field, so that a rule can be proved as it was decided.
 * @module
 */

import { createCore } from '../core/index.ts'
import { fail } from '../errors.ts'
import { canonicalJson, hasCanonicalJson } from '../protocol/canonical-json.ts'
import { isObject } from '../protocol/json-object.ts'

const H248_BYTES = 31
const PURPOSE_BYTES = 8
const TYPE_SHIFT_BITS = 248n
const TYPE_NUMBER = 1n << TYPE_SHIFT_BITS
const TYPE_BOOLEAN = 2n << TYPE_SHIFT_BITS
const TYPE_OTHER = 3n << TYPE_SHIFT_BITS

/** Numbers are scaled by 10 to this power and then moved up, so that all of them are below 2^64. */
const NUMBER_DECIMALS = 6
const NUMBER_OFFSET = 1n << 63n
const NUMBER_LIMIT = 1n << 64n
/** Larger powers of ten are out of range, whatever their digits. */
const MAX_EXPONENT = 20
/**
 * Values inside a list or an object, at any depth, and characters of its names and texts, together. Rules may look at one
 * and at what is inside it, and each of them takes its canonical JSON, on the thread that serves everybody.
 */
const MAX_INSIDE = 10_000

const core = createCore()

/**
 * The first 31 bytes of SHA-256 as a big-endian number, which always fits the field.
 * @param message bytes, or a text in UTF-8
 * @returns below 2^248
 */
export const h248 = (message: Uint8Array | string): bigint => {
  let element = 0n
  for (const byte of core.sha256(message).subarray(0, H248_BYTES)) element = (element << 8n) | BigInt(byte)
  return element
}

const notProvable = (message: string): never => fail('not_provable', { message })

/** What `String` makes of a number: sign, whole part, decimals, power of ten. */
const NUMBER_TEXT = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/

const encodeNumber = (value: number): bigint => {
  const [, sign, whole = '', decimals = '', power = '0'] = NUMBER_TEXT.exec(String(value)) ?? []
  if (whole === '') return notProvable('A number is not finite.')
  const exponent = Number(power) - decimals.length + NUMBER_DECIMALS
  if (exponent < 0) return notProvable(`A number has more than ${NUMBER_DECIMALS} decimals.`)
  if (exponent > MAX_EXPONENT) return notProvable('A number is out of range.')
  const magnitude = BigInt(whole + decimals) * 10n ** BigInt(exponent)
  const payload = (sign === '-' ? -magnitude : magnitude) + NUMBER_OFFSET
  if (payload < 0n || payload >= NUMBER_LIMIT) return notProvable('A number is out of range.')
  return TYPE_NUMBER + payload
}

/** What an array or an object adds by itself: its values, and the characters of its names. */
const sizeOf = (container: object): number =>
  Array.isArray(container)
    ? container.length
    : Object.keys(container).reduce((size, name) => size + name.length + 1, 0)

/** @throws AppError not_provable for a number that a double can't hold, as `exact-json.ts` marks them, and for too much */
const demandProvable = (container: object, spent = { size: 0 }): void => {
  const spend = (size: number) => {
    spent.size += size
    if (spent.size > MAX_INSIDE)
      notProvable(`A list or an object contains more than ${MAX_INSIDE} values and characters.`)
  }
  spend(sizeOf(container))
  for (const value of Object.values(container)) {
    if (typeof value === 'string') spend(value.length)
    if (typeof value === 'bigint' || Number.isNaN(value))
      notProvable('A number inside a list or an object is not exact.')
    if (typeof value === 'object' && value !== null) demandProvable(value, spent)
  }
}

/**
 * Encodes a JSON value as type · 2^248 + payload. Two provable values are equal exactly if their elements are.
 *
 * | Value | Type | Payload |
 * |---|---|---|
 * | missing (`undefined`) | 0 | 0 |
 * | number | 1 | value · 10^6 + 2^63, from its shortest text; at most 6 decimals, below 2^64 |
 * | boolean | 2 | 0 or 1 |
 * | string, null, array, object | 3 | {@link h248} of its canonical JSON (RFC 8785): a string with its quotes |
 *
 * @throws AppError not_provable for numbers with more decimals or out of range, which are never rounded, and for lists and
 *   objects with more than 10,000 values and characters inside
 */
export const encodeValue = (value: unknown): bigint => {
  if (value === undefined) return 0n
  if (typeof value === 'number') return encodeNumber(value)
  if (typeof value === 'boolean') return TYPE_BOOLEAN + (value ? 1n : 0n)
  if (typeof value === 'bigint') return notProvable('A number is out of range.')
  if (typeof value === 'function' || typeof value === 'symbol') return notProvable('A value is not JSON.')
  if (typeof value === 'object' && value !== null) demandProvable(value)
  return TYPE_OTHER + h248(canonicalJson(value))
}

/** What a proof is bound to, so that it answers one question only. */
export interface ProofContext {
  /** Who asked: an absolute URL. */
  readonly aud: string
  readonly org: string
  readonly circuit: string
  /** What is proved, as JSON. */
  readonly statement: unknown
  readonly nonce: string
  /** Unix seconds; left out when the proof doesn't expire. */
  readonly exp?: number
}

/** Whether this is what a `ctx` can be the hash of. */
export const isContext = (value: unknown): value is Readonly<Record<string, unknown>> & ProofContext =>
  isObject(value) &&
  ['aud', 'org', 'circuit', 'nonce'].every((name) => typeof value[name] === 'string') &&
  (value.exp === undefined || typeof value.exp === 'number') &&
  hasCanonicalJson(value)

/** `ctx`: h248("ctx/1" ‖ JCS of the six fields). */
export const contextElement = ({ aud, org, circuit, statement, nonce, exp }: ProofContext): bigint =>
  h248(`ctx/1${canonicalJson({ aud, org, circuit, statement, nonce, exp })}`)

/** Where a nullifier counts. */
export interface ProofScope {
  readonly aud: string
  /** The organisation that asks: two that ask for one purpose are shown different nullifiers. */
  readonly org: string
  readonly purpose: string
}

/** `scope`: h248("scope/2" ‖ JCS of the three fields). */
export const scopeElement = ({ aud, org, purpose }: ProofScope): bigint =>
  h248(`scope/2${canonicalJson({ aud, org, purpose })}`)

/** `scope` of proofs made before organisations had scopes of their own: h248("scope/1" ‖ JCS of the two fields). */
export const commonScopeElement = ({ aud, purpose }: Omit<ProofScope, 'org'>): bigint =>
  h248(`scope/1${canonicalJson({ aud, purpose })}`)

/** `holder`: only the person's own device knows the secret. `bearer`: the issuer made it, and whoever has it can use it. */
export const BINDINGS = ['bearer', 'holder'] as const
export type Binding = (typeof BINDINGS)[number]

const HELD = 1n << TYPE_SHIFT_BITS

/** An organisation as issuer: h248 of its id, plus 2^248 where the holder made the secret. @param id `org_…` */
export const organisationElement = (id: string, binding: Binding): bigint =>
  h248(id) + (binding === 'holder' ? HELD : 0n)

/** @param organisation an {@link organisationElement} */
export const bindingOf = (organisation: bigint): Binding => (organisation < HELD ? 'bearer' : 'holder')

/** h248 of its id, however it is bound; of what is no {@link organisationElement} nobody's. */
export const idElement = (organisation: bigint): bigint =>
  organisation < HELD ? organisation : organisation - HELD

/**
 * The purpose of a proof for which none is named: one for each question to a circuit, whoever the answer is about.
 * @param statement what the proof's `ctx` binds
 * @returns the circuit's id, `/`, and the first 16 hex digits of SHA-256 of the canonical JSON (RFC 8785) of the statement
 *   without `subject` and `credential`
 */
export const defaultPurpose = (circuitId: string, statement: Readonly<Record<string, unknown>>): string => {
  const { subject: _, credential: __, ...question } = statement
  const hash = core.sha256(canonicalJson(question))
  const hex = Array.from(hash.subarray(0, PURPOSE_BYTES), (byte) => byte.toString(16).padStart(2, '0'))
  return `${circuitId}/${hex.join('')}`
}
