/**
 * Verifies Groth16 proofs. snarkjs alone accepts coordinates above p and points outside of the subgroup, and throws
 * on a public signal too many; everything it takes for granted is checked first.
 * @module
 */
import { groth16 } from 'snarkjs'
import type { SnarkProof } from '../protocol/zk1.ts'
import { CIRCUITS, type CircuitId } from './catalogue.ts'
import { prepareCurve } from './curve.ts'
import { formFault, type ProofRefusal, type ProofVerdict, type VerificationKey } from './proof-form.ts'

export { readVerificationKey } from './proof-form.ts'
export type { ProofRefusal, ProofVerdict, VerificationKey }

export interface Verifier {
  /** As {@link verifyProof}, under the key of a circuit. */
  verify(circuitId: string, proof: SnarkProof, publicSignals: readonly string[]): Promise<ProofVerdict>
  /** @returns the key in the JSON form of snarkjs, or undefined where there is no such circuit */
  verificationKey(circuitId: string): VerificationKey | undefined
}

const refuse = (reason: ProofRefusal): ProofVerdict => ({ valid: false, reason })

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
  const fault = formFault(key, proof, publicSignals)
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
