/**
 * Verifies Groth16 proofs with the pairing of @noble/curves: about ten times slower than the verifier of the service, but a
 * few kilobytes without WebAssembly or threads, so that a page can do it.
 * @module
 */
import { bn254 } from '@noble/curves/bn254.js'
import { readG1, readG2 } from '../protocol/proof-points.ts'
import type { SnarkProof } from '../protocol/zk1.ts'
import { formFault, type ProofVerdict, type VerificationKey } from './proof-form.ts'

const { G1, G2 } = bn254

const pointG1 = (coordinates: unknown) => {
  const read = readG1(coordinates)
  if ('fault' in read) throw new TypeError(`not a point of G1: ${read.fault}`)
  return G1.Point.fromAffine(read)
}

const pointG2 = (coordinates: unknown) => {
  const read = readG2(coordinates)
  if ('fault' in read) throw new TypeError(`not a point of G2: ${read.fault}`)
  return G2.Point.fromAffine(read)
}

/**
 * Whether this is a proof of these public signals under this key: e(A, B) = e(α, β) · e(Σ signal · IC, γ) · e(C, δ).
 * @param key read by readVerificationKey
 */
export const verifyByPairing = (
  key: VerificationKey,
  proof: SnarkProof,
  publicSignals: readonly string[],
): ProofVerdict => {
  const fault = formFault(key, proof, publicSignals)
  if (fault !== undefined) return { valid: false, reason: fault }
  const [constant, ...bases] = key.IC.map(pointG1)
  const inputs = bases.reduce(
    (sum, base, i) => sum.add(base.multiplyUnsafe(BigInt(publicSignals[i] ?? 0))),
    constant ?? G1.Point.ZERO,
  )
  const pairs = [
    { g1: pointG1(proof.pi_a).negate(), g2: pointG2(proof.pi_b) },
    { g1: pointG1(key.vk_alpha_1), g2: pointG2(key.vk_beta_2) },
    { g1: inputs, g2: pointG2(key.vk_gamma_2) },
    { g1: pointG1(proof.pi_c), g2: pointG2(key.vk_delta_2) },
  ]
  // What is paired with infinity is 1.
  const product = bn254.pairingBatch(pairs.filter(({ g1 }) => !g1.is0()))
  const { Fp12 } = bn254.fields
  return Fp12.eql(product, Fp12.ONE) ? { valid: true } : { valid: false, reason: 'PROOF_INVALID' }
}
