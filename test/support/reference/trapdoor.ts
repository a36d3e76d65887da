/** A verification key whose secrets are known, so that a proof of any public signals can be made without a circuit. @module */
import { bn254 } from '@noble/curves/bn254.js'
import type { Proved } from '../../../src/circuits/proving/groth16.ts'
import type { VerificationKey } from '../../../src/circuits/verifier.ts'
import { randomElement } from '../elements.ts'
import { g1Json, g2Json } from './groth16.ts'

const { G1, G2, fields } = bn254
const { Fr } = fields

export interface Trapdoor {
  readonly alphaBeta: bigint
  readonly gamma: bigint
  readonly delta: bigint
  /** Logarithms of IC₀, IC₁, … */
  readonly bases: readonly bigint[]
  /** Signals for which IC₀ + Σ sᵢ · ICᵢ is infinity. */
  signalsThatCancel(): bigint[]
}

const secret = (): bigint => randomElement() + 1n
const multiple1 = (scalar: bigint) => g1Json(G1.Point.BASE.multiply(scalar))
const multiple2 = (scalar: bigint) => g2Json(G2.Point.BASE.multiply(scalar))

const inputSum = (bases: readonly bigint[], signals: readonly bigint[]): bigint =>
  bases.reduce((sum, base, i) => Fr.add(sum, i === 0 ? base : Fr.mul(base, signals[i - 1] ?? 0n)), 0n)

/** Makes a key of so many public signals. */
export const trapdoorKey = (count: number): { verificationKey: VerificationKey; trapdoor: Trapdoor } => {
  const [alpha, beta, gamma, delta] = [secret(), secret(), secret(), secret()]
  const bases = Array.from({ length: count + 1 }, secret)
  return {
    verificationKey: {
      protocol: 'groth16',
      curve: 'bn128',
      nPublic: count,
      vk_alpha_1: multiple1(alpha),
      vk_beta_2: multiple2(beta),
      vk_gamma_2: multiple2(gamma),
      vk_delta_2: multiple2(delta),
      vk_alphabeta_12: [],
      IC: bases.map(multiple1),
    },
    trapdoor: {
      alphaBeta: Fr.mul(alpha, beta),
      gamma,
      delta,
      bases,
      signalsThatCancel() {
        const signals = Array.from({ length: count - 1 }, secret)
        const rest = inputSum(bases.slice(0, -1), signals)
        return [...signals, Fr.div(Fr.neg(rest), bases.at(-1) ?? 1n)]
      },
    },
  }
}

/** A proof of these signals: any A and B, and the C that fits. */
export const forge = ({ alphaBeta, gamma, delta, bases }: Trapdoor, signals: readonly bigint[]): Proved => {
  const [a, b] = [secret(), secret()]
  const known = Fr.add(alphaBeta, Fr.mul(gamma, inputSum(bases, signals)))
  const c = Fr.div(Fr.sub(Fr.mul(a, b), known), delta)
  return {
    proof: {
      pi_a: multiple1(a),
      pi_b: multiple2(b),
      pi_c: multiple1(c),
      protocol: 'groth16',
      curve: 'bn128',
    },
    publicSignals: signals.map(String),
  }
}
