/**
 * A Groth16 proof on BN254 with its public signals as one text, and the digest that names what was proven.
 *
 * `zk1.` ‖ base64url(A (32) ‖ B (64) ‖ C (32) ‖ each public signal (32, big-endian)).
 *
 * A point is its x coordinate, big-endian; B's is x.c1 ‖ x.c0 (x = c0 + c1·u). A coordinate has 254 bits, so the two
 * highest bits of the first byte are free for the flag: 10 the lesser y, 11 the greater one (greater: y > (p − 1)/2, in
 * Fp2 decided by c1, by c0 where c1 is 0). These are the compressed points of gnark-crypto. The point at infinity has
 * no place in a proof and no form here. Each proof has one text, but a proof can be made anew from another, so
 * neither the text nor its bytes are an identity; {@link proofDigest} is.
 * @module
 */
import { FIELD_MODULUS } from '../core/field.ts'
import { createCore } from '../core/index.ts'
import {
  BASE_MODULUS,
  type Extended,
  modP,
  negateExtended,
  squareRootExtended,
  squareRootP,
} from './base-field.ts'
import { readDecimal, readG1, readG2, squareOfY1, squareOfY2 } from './proof-points.ts'

/** A proof in the JSON form of snarkjs: affine coordinates in decimal, with a third coordinate that is 1. */
export interface SnarkProof {
  readonly pi_a: readonly string[]
  readonly pi_b: readonly (readonly string[])[]
  readonly pi_c: readonly string[]
  readonly protocol: string
  readonly curve: string
}

export interface ProofWithSignals {
  readonly proof: SnarkProof
  /** Canonical decimals below the order of the scalar field. */
  readonly publicSignals: readonly string[]
}

const PREFIX = 'zk1.'
const ELEMENT_BYTES = 32
const POINTS_BYTES = 128
/** More than any circuit has. */
const MAX_SIGNALS = 64
const MAX_CHARACTERS = PREFIX.length + Math.ceil(((POINTS_BYTES + MAX_SIGNALS * ELEMENT_BYTES) * 4) / 3)
const DIGEST_PREFIX = 'digest/1'

const LESSER = 0b10
const GREATER = 0b11
const FLAG_BITS_AT = 254n

const core = createCore()
const HALF = (BASE_MODULUS - 1n) / 2n

const isGreater = ({ c0, c1 }: Extended): boolean => (c1 === 0n ? c0 : c1) > HALF

/** @throws RangeError for anything but a canonical decimal below the order of the scalar field */
const readSignal = (text: string): bigint => {
  const value = readDecimal(text, FIELD_MODULUS)
  if (value === undefined) throw new RangeError('a public signal is not a canonical decimal of the field')
  return value
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const writeElement = (view: DataView, at: number, value: bigint): void => {
  for (let word = 0; word < ELEMENT_BYTES; word += 8)
    view.setBigUint64(at + word, value >> BigInt(8 * (ELEMENT_BYTES - 8 - word)))
}

const readElement = (view: DataView, at: number): bigint => {
  let value = 0n
  for (let word = 0; word < ELEMENT_BYTES; word += 8) value = (value << 64n) | view.getBigUint64(at + word)
  return value
}

const flagged = (x: bigint, greater: boolean): bigint =>
  x | (BigInt(greater ? GREATER : LESSER) << FLAG_BITS_AT)

/** Takes the flag off. @returns undefined for an unknown flag, or an x that is not below p */
const unflagged = (value: bigint): { x: bigint; greater: boolean } | undefined => {
  const flag = Number(value >> FLAG_BITS_AT)
  const x = value & ((1n << FLAG_BITS_AT) - 1n)
  if ((flag !== LESSER && flag !== GREATER) || x >= BASE_MODULUS) return undefined
  return { x, greater: flag === GREATER }
}

const compress1 = (point: readonly string[]): bigint => {
  const read = readG1(point)
  if ('fault' in read) throw new RangeError(`not a point of G1: ${read.fault}`)
  return flagged(read.x, read.y > HALF)
}

const compress2 = (point: readonly (readonly string[])[]): [bigint, bigint] => {
  const read = readG2(point)
  if ('fault' in read) throw new RangeError(`not a point of G2: ${read.fault}`)
  return [flagged(read.x.c1, isGreater(read.y)), read.x.c0]
}

/** The root that the flag asks for. @returns undefined where the square has none */
const decompress1 = (value: bigint): string[] | undefined => {
  const read = unflagged(value)
  if (read === undefined) return undefined
  const root = squareRootP(squareOfY1(read.x))
  if (root === undefined) return undefined
  const y = root > HALF === read.greater ? root : modP(-root)
  return [read.x.toString(), y.toString(), '1']
}

const decompress2 = (high: bigint, low: bigint): string[][] | undefined => {
  const read = unflagged(high)
  if (read === undefined || low >= BASE_MODULUS) return undefined
  const x = { c0: low, c1: read.x }
  const root = squareRootExtended(squareOfY2(x))
  if (root === undefined) return undefined
  const y = isGreater(root) === read.greater ? root : negateExtended(root)
  return [
    [x.c0.toString(), x.c1.toString()],
    [y.c0.toString(), y.c1.toString()],
    ['1', '0'],
  ]
}

/** Bytes of a proof with its public signals, before they are written in base64url. */
export const zk1Bytes = (publicSignals: readonly string[]): number =>
  POINTS_BYTES + publicSignals.length * ELEMENT_BYTES

/**
 * Writes a proof as text.
 * @throws RangeError for coordinates or signals that are not canonical decimals, a point off its curve, or more than
 *   64 signals. Whether the proof holds isn't asked.
 */
export const encodeZk1 = (proof: SnarkProof, publicSignals: readonly string[]): string => {
  if (publicSignals.length > MAX_SIGNALS) throw new RangeError(`at most ${MAX_SIGNALS} public signals`)
  const elements = [
    compress1(proof.pi_a),
    ...compress2(proof.pi_b),
    compress1(proof.pi_c),
    ...publicSignals.map(readSignal),
  ]
  const bytes = new Uint8Array(elements.length * ELEMENT_BYTES)
  const view = viewOf(bytes)
  elements.forEach((value, i) => {
    writeElement(view, i * ELEMENT_BYTES, value)
  })
  return PREFIX + core.base64urlEncode(bytes)
}

/**
 * Reads a proof, in the form that snarkjs takes. That its points lie in their subgroups and that it holds is for the
 * verifier to say.
 * @returns undefined unless the text is the one that {@link encodeZk1} makes
 */
export const decodeZk1 = (text: string): ProofWithSignals | undefined => {
  if (!text.startsWith(PREFIX) || text.length > MAX_CHARACTERS) return undefined
  const bytes = core.base64urlDecode(text.slice(PREFIX.length))
  if (bytes === undefined || bytes.length < POINTS_BYTES || bytes.length % ELEMENT_BYTES !== 0)
    return undefined
  const view = viewOf(bytes)
  const elements = Array.from({ length: bytes.length / ELEMENT_BYTES }, (_, i) =>
    readElement(view, i * ELEMENT_BYTES),
  )
  const [a = 0n, high = 0n, low = 0n, c = 0n, ...signals] = elements
  const [pi_a, pi_b, pi_c] = [decompress1(a), decompress2(high, low), decompress1(c)]
  if (!pi_a || !pi_b || !pi_c || signals.some((signal) => signal >= FIELD_MODULUS)) return undefined
  return {
    proof: { pi_a, pi_b, pi_c, protocol: 'groth16', curve: 'bn128' },
    publicSignals: signals.map(String),
  }
}

/**
 * Names what was proven, whoever made the proof and however often: SHA-256("digest/1" ‖ circuit id ‖ each public
 * signal as 32 bytes, big-endian).
 * @returns 64 hexadecimal digits
 * @throws RangeError for a signal that is not a canonical decimal below the order of the scalar field
 */
export const proofDigest = (circuitId: string, publicSignals: readonly string[]): string => {
  const head = new TextEncoder().encode(DIGEST_PREFIX + circuitId)
  const bytes = new Uint8Array(head.length + publicSignals.length * ELEMENT_BYTES)
  bytes.set(head)
  const view = viewOf(bytes)
  publicSignals.forEach((signal, i) => {
    writeElement(view, head.length + i * ELEMENT_BYTES, readSignal(signal))
  })
  const digest = core.sha256(bytes)
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
