/**
 * What a proof, its public signals and a verification key must look like before a pairing is computed, and the bytes that the
 * verifier takes them in. Works in pages, without WebAssembly.
 * @module
 */
import {
  type PointFault,
  readCoordinates1,
  readCoordinates2,
  readG1,
  readG2,
} from '../protocol/proof-points.ts'
import type { SnarkProof } from '../protocol/zk1.ts'
import { isCanonicalSignal } from './circuit.ts'

/** A verification key in the JSON form of snarkjs. */
export interface VerificationKey {
  readonly protocol: 'groth16'
  readonly curve: 'bn128'
  readonly nPublic: number
  readonly vk_alpha_1: readonly string[]
  readonly vk_beta_2: readonly (readonly string[])[]
  readonly vk_gamma_2: readonly (readonly string[])[]
  readonly vk_delta_2: readonly (readonly string[])[]
  /** A product that verifiers may start from; three levels of coordinates. */
  readonly vk_alphabeta_12: readonly (readonly (readonly string[])[])[]
  readonly IC: readonly (readonly string[])[]
}

/** Why a proof is not valid, in the order in which it is asked. */
export type ProofRefusal =
  | 'CIRCUIT_UNKNOWN'
  | 'SIGNAL_COUNT'
  | 'SIGNAL_NOT_CANONICAL'
  | PointFault
  | 'POINT_NOT_IN_SUBGROUP'
  | 'PROOF_INVALID'

export type ProofVerdict = { readonly valid: true } | { readonly valid: false; readonly reason: ProofRefusal }

/** Bytes of a coordinate or signal, the lowest first. */
export const ELEMENT_BYTES = 32
/** A (2 coordinates), B (4) and C (2). */
export const POINTS_BYTES = 8 * ELEMENT_BYTES
const WORD_BITS = 64n
const WORD_BYTES = 8

/** Elements below 2^256, one behind the other. */
export const packElements = (elements: readonly bigint[]): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(ELEMENT_BYTES * elements.length)
  const view = new DataView(bytes.buffer)
  elements.forEach((element, i) => {
    for (let word = 0, rest = element; rest > 0n; word++, rest >>= WORD_BITS)
      view.setBigUint64(ELEMENT_BYTES * i + WORD_BYTES * word, BigInt.asUintN(Number(WORD_BITS), rest), true)
  })
  return bytes
}

/**
 * The bytes that the verifier takes a proof in: the coordinates of A, B and C, then the public signals. That the points are on
 * their curves and in their subgroups is for the verifier to say; everything else is checked.
 * @param publicCount how many signals the key has
 * @returns why it is refused, as text, where it can't be a proof
 */
export const packProof = (
  publicCount: number,
  proof: SnarkProof,
  publicSignals: readonly string[],
): Uint8Array<ArrayBuffer> | ProofRefusal => {
  if (!Array.isArray(publicSignals) || publicSignals.length !== publicCount) return 'SIGNAL_COUNT'
  // A copy has no holes, which `every` passes over.
  if (![...publicSignals].every(isCanonicalSignal)) return 'SIGNAL_NOT_CANONICAL'
  if (typeof proof !== 'object' || proof === null) return 'PROOF_MALFORMED'
  const { pi_a, pi_b, pi_c, protocol, curve } = proof as Partial<Record<keyof SnarkProof, unknown>>
  if (protocol !== 'groth16' || curve !== 'bn128') return 'PROOF_MALFORMED'
  const points = [readCoordinates1(pi_a), readCoordinates2(pi_b), readCoordinates1(pi_c)]
  const coordinates: bigint[] = []
  for (const point of points) {
    if ('fault' in point) return point.fault
    coordinates.push(...point)
  }
  return packElements([...coordinates, ...publicSignals.map(BigInt)])
}

/**
 * The bytes that the verifier prepares itself from: α, β, γ, δ and the bases of the public signals.
 * @throws RangeError for what readVerificationKey refuses
 */
export const packKey = ({ vk_alpha_1, vk_beta_2, vk_gamma_2, vk_delta_2, IC }: VerificationKey) => {
  const points = [
    readCoordinates1(vk_alpha_1),
    ...[vk_beta_2, vk_gamma_2, vk_delta_2].map(readCoordinates2),
    ...IC.map(readCoordinates1),
  ]
  const coordinates = points.flatMap((point) => {
    if ('fault' in point) throw new RangeError(`This is no verification key: ${point.fault}.`)
    return point
  })
  return packElements(coordinates)
}

const isPoint = (read: typeof readG1 | typeof readG2, point: unknown): boolean => !('fault' in read(point))

/**
 * Takes a key that somebody else made. That its points lie in their subgroups isn't checked: a key is trusted, whoever
 * made it can forge.
 * @returns undefined unless it has the shape of snarkjs's verification keys, and points of the curve
 */
export const readVerificationKey = (value: unknown): VerificationKey | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  const key = value as Partial<Record<keyof VerificationKey, unknown>>
  const { protocol, curve, nPublic, IC } = key
  const isShaped =
    protocol === 'groth16' && curve === 'bn128' && Array.isArray(IC) && IC.length - 1 === nPublic
  const fits =
    isShaped &&
    isPoint(readG1, key.vk_alpha_1) &&
    [key.vk_beta_2, key.vk_gamma_2, key.vk_delta_2].every((point) => isPoint(readG2, point)) &&
    IC.every((point) => isPoint(readG1, point))
  return fits ? (value as VerificationKey) : undefined
}
