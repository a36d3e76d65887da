/**
 * Verifies Groth16 proofs. snarkjs alone accepts coordinates above p and points outside of the subgroup, and throws
 * on a public signal too many; everything it takes for granted is checked first.
 * @module
 */
import { bn254 } from '@noble/curves/bn254.js'
import { groth16 } from 'snarkjs'
import { type PointFault, readG1, readG2 } from '../protocol/proof-points.ts'
import type { SnarkProof } from '../protocol/zk1.ts'
import { CIRCUITS, type CircuitId } from './catalogue.ts'
import { isCanonicalSignal } from './circuit.ts'
import { prepareCurve } from './curve.ts'

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

export interface Verifier {
  /** As {@link verifyProof}, under the key of a circuit. */
  verify(circuitId: string, proof: SnarkProof, publicSignals: readonly string[]): Promise<ProofVerdict>
  /** @returns the key in the JSON form of snarkjs, or undefined where there is no such circuit */
  verificationKey(circuitId: string): VerificationKey | undefined
}

const refuse = (reason: ProofRefusal): ProofVerdict => ({ valid: false, reason })

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

/**
 * Whether this is a proof of these public signals under this key. What they mean is for the caller to check. Takes
 * about 17 ms of the thread, and 150 ms more the first time.
 * @param proof JSON form of snarkjs; anything else is refused with a reason
 * @param publicSignals canonical decimals, in the circuit's order
 */
export const verifyProof = async (
  key: VerificationKey,
  proof: SnarkProof,
  publicSignals: readonly string[],
): Promise<ProofVerdict> => {
  if (!Array.isArray(publicSignals) || publicSignals.length !== key.nPublic) return refuse('SIGNAL_COUNT')
  // A copy has no holes, which `every` passes over.
  if (![...publicSignals].every(isCanonicalSignal)) return refuse('SIGNAL_NOT_CANONICAL')
  const fault = pointFault(proof)
  if (fault !== undefined) return refuse(fault)
  await prepareCurve()
  return (await groth16.verify(key, publicSignals, proof)) ? { valid: true } : refuse('PROOF_INVALID')
}

/** Lets everything else run that waits. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

/**
 * A verification holds up the thread while it runs, so they run one by one, and others get a turn after each.
 * @param artifacts the verification key of every circuit
 */
export const createVerifier = (
  artifacts: Readonly<Record<CircuitId, { readonly verificationKey: VerificationKey }>>,
): Verifier => {
  const keys = new Map<string, VerificationKey>(CIRCUITS.map(({ id }) => [id, artifacts[id].verificationKey]))
  let previous: Promise<unknown> = Promise.resolve()
  return {
    async verify(circuitId, proof, publicSignals) {
      const key = keys.get(circuitId)
      if (key === undefined) return refuse('CIRCUIT_UNKNOWN')
      const verdict = previous.then(() => verifyProof(key, proof, publicSignals))
      previous = verdict.then(turn, turn)
      return verdict
    },
    verificationKey: (circuitId) => keys.get(circuitId),
  }
}
