/**
 * Verifies Groth16 proofs on the thread that asks. The service does so on threads of their own, by verifying/verifier-queue.ts.
 * @module
 */
import type { SnarkProof } from '../protocol/zk1.ts'
import { type ProofRefusal, type ProofVerdict, packProof, type VerificationKey } from './proof-form.ts'
import { createKeyVerifier, type KeyVerifier } from './verifying/key-verifier.ts'

export { readVerificationKey } from './proof-form.ts'
export type { ProofRefusal, ProofVerdict, VerificationKey }

/** Prepared keys, for as long as somebody has the key. */
const prepared = new WeakMap<VerificationKey, KeyVerifier>()

const verifierOf = (key: VerificationKey): KeyVerifier => {
  const known = prepared.get(key)
  if (known !== undefined) return known
  const verifier = createKeyVerifier(key)
  prepared.set(key, verifier)
  return verifier
}

/**
 * Whether this is a proof of these public signals under this key. What they mean is for the caller to check. Takes one to two
 * milliseconds of the thread, and some ten more the first time that a key is used, which must not be changed afterwards.
 * @param proof JSON form of snarkjs; anything else is refused with a reason
 * @param publicSignals canonical decimals, in the circuit's order
 * @throws RangeError for a key that readVerificationKey refuses, or of which a point lies outside of its subgroup
 */
export const verifyPairing = async (
  key: VerificationKey,
  proof: SnarkProof,
  publicSignals: readonly string[],
): Promise<ProofVerdict> => {
  const packed = packProof(key.nPublic, proof, publicSignals)
  return typeof packed === 'string' ? { valid: false, reason: packed } : verifierOf(key).verify(packed)
}
