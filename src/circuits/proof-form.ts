/**
 * What a proof and a verification key must look like before a pairing is computed: canonical signals, points on their
 * curves and in their subgroups. Works in pages, without WebAssembly.
 * @module
 */
import { bn254 } from '@noble/curves/bn254.js'
import { type PointFault, readG1, readG2 } from '../protocol/proof-points.ts'
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

/** Why these points can't be those of a proof. */
const pointFault = (proof: unknown): PointFault | 'POINT_NOT_IN_SUBGROUP' | undefined => {
  if (typeof proof !== 'object' || proof === null) return 'PROOF_MALFORMED'
  const { pi_a, pi_b, pi_c, protocol, curve } = proof as Partial<Record<keyof SnarkProof, unknown>>
  if (protocol !== 'groth16' || curve !== 'bn128') return 'PROOF_MALFORMED'
  const b = readG2(pi_b)
  for (const point of [readG1(pi_a), b, readG1(pi_c)]) if ('fault' in point) return point.fault
  if ('fault' in b) return b.fault
  // G1 has no other subgroup; G2's curve has.
  return bn254.G2.Point.fromAffine({ x: b.x, y: b.y }).isTorsionFree() ? undefined : 'POINT_NOT_IN_SUBGROUP'
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

/** Why these can't be a proof and its public signals under this key, whatever the pairing says. */
export const formFault = (
  key: VerificationKey,
  proof: SnarkProof,
  publicSignals: readonly string[],
): ProofRefusal | undefined => {
  if (!Array.isArray(publicSignals) || publicSignals.length !== key.nPublic) return 'SIGNAL_COUNT'
  // A copy has no holes, which `every` passes over.
  if (![...publicSignals].every(isCanonicalSignal)) return 'SIGNAL_NOT_CANONICAL'
  return pointFault(proof)
}
