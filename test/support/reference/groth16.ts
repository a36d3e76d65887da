/**
 * Groth16 verification as the paper writes it (Groth 2016, section 3.2): e(A, B) = e(α, β) · e(Σ sᵢ·ICᵢ, γ) · e(C, δ), with
 * the pairing of noble-curves. Independent of snarkjs.
 * @module
 */
import { bn254 } from '@noble/curves/bn254.js'
import type { VerificationKey } from '../../../src/circuits/verifier.ts'
import type { SnarkProof } from '../../../src/protocol/zk1.ts'

const { G1, G2, fields } = bn254
type G1Point = typeof G1.Point.BASE
type G2Point = typeof G2.Point.BASE

export const g1 = (point: readonly string[]): G1Point =>
  G1.Point.fromAffine({ x: BigInt(point[0] ?? ''), y: BigInt(point[1] ?? '') })

export const g2 = (point: readonly (readonly string[])[]): G2Point => {
  const [x, y] = point.map(([c0 = '', c1 = '']) => fields.Fp2.fromBigTuple([BigInt(c0), BigInt(c1)]))
  if (!x || !y) throw new Error('no point of G2')
  return G2.Point.fromAffine({ x, y })
}

export const g1Json = (point: G1Point): string[] => {
  const { x, y } = point.toAffine()
  return [String(x), String(y), '1']
}

export const g2Json = (point: G2Point): string[][] => {
  const { x, y } = point.toAffine()
  return [
    [String(x.c0), String(x.c1)],
    [String(y.c0), String(y.c1)],
    ['1', '0'],
  ]
}

/** Whether the equation holds. Says nothing of canonical forms. @throws Error for points off their curves */
export const holdsByNoble = (
  key: VerificationKey,
  publicSignals: readonly string[],
  { pi_a, pi_b, pi_c }: SnarkProof,
): boolean => {
  const [ic0, ...ics] = key.IC.map(g1)
  if (!ic0) throw new Error('the key has no IC')
  const inputs = publicSignals.reduce((sum, signal, i) => {
    const scalar = BigInt(signal)
    return scalar === 0n ? sum : sum.add((ics[i] ?? ic0).multiply(scalar))
  }, ic0)
  const pairs = [
    { g1: g1(pi_a).negate(), g2: g2(pi_b) },
    { g1: g1(key.vk_alpha_1), g2: g2(key.vk_beta_2) },
    { g1: inputs, g2: g2(key.vk_gamma_2) },
    { g1: g1(pi_c), g2: g2(key.vk_delta_2) },
  ]
  // What is paired with infinity is 1.
  const product = bn254.pairingBatch(pairs.filter((pair) => !pair.g1.is0()))
  return fields.Fp12.eql(product, fields.Fp12.ONE)
}

/** The one text of a number. */
const isDecimal = (text: string): boolean => /^\d+$/.test(text) && String(BigInt(text)) === text

/** Whether a proof and its signals are written in the one form of the wire, whatever their numbers are. */
export const isStrictForm = (publicSignals: readonly string[], { pi_a, pi_b, pi_c }: SnarkProof): boolean =>
  [...pi_a, ...pi_b.flat(), ...pi_c, ...publicSignals].every(isDecimal) &&
  [pi_a, pi_c].every((point) => point.length === 3 && point[2] === '1') &&
  pi_b.length === 3 &&
  pi_b[2]?.join() === '1,0'

/** Noble's pairing with the checks that it leaves to its caller: canonical forms, curves, orders, and that no point is infinity. */
export const acceptedByNoble = (
  key: VerificationKey,
  publicSignals: readonly string[],
  proof: SnarkProof,
): boolean => {
  const coordinates = [...proof.pi_a, ...proof.pi_b.flat(), ...proof.pi_c]
  if (!isStrictForm(publicSignals, proof)) return false
  if (coordinates.some((text) => BigInt(text) >= fields.Fp.ORDER)) return false
  if (publicSignals.some((text) => BigInt(text) >= fields.Fr.ORDER)) return false
  const points = [g1(proof.pi_a), g2(proof.pi_b), g1(proof.pi_c)]
  if (points.some((point) => point.is0())) return false
  try {
    for (const point of points) point.assertValidity()
  } catch {
    return false
  }
  return g2(proof.pi_b).isTorsionFree() && holdsByNoble(key, publicSignals, proof)
}

/**
 * Another proof of the same statement, made without knowing the witness: (A/r, B·r + δ·r·s, C + A·s) for A, B, C and
 * random r, s.
 */
export const rerandomise = (key: VerificationKey, proof: SnarkProof, r: bigint, s: bigint): SnarkProof => {
  const [a, b, c] = [g1(proof.pi_a), g2(proof.pi_b), g1(proof.pi_c)]
  const { Fr } = fields
  return {
    ...proof,
    pi_a: g1Json(a.multiply(Fr.inv(r))),
    pi_b: g2Json(b.multiply(r).add(g2(key.vk_delta_2).multiply(Fr.mul(r, s)))),
    pi_c: g1Json(c.add(a.multiply(s))),
  }
}

/** n times a point of the twist, whatever its order; noble's own multiples take scalars modulo r. */
const multipleOnTwist = (point: G2Point, scalar: bigint): G2Point => {
  let sum = G2.Point.ZERO
  for (const bit of scalar.toString(2)) {
    sum = sum.double()
    if (bit === '1') sum = sum.add(point)
  }
  return sum
}

const TWIST_ORDER = fields.Fr.ORDER * (2n * fields.Fp.ORDER - fields.Fr.ORDER)
const ofOrder = new Map<bigint, G2Point>()

/** A point of the twist whose order is this prime factor of the cofactor 2p − r, or a multiple of such a point. */
export const pointOfOrder = (order: bigint): G2Point => {
  for (let x = 1n; !ofOrder.has(order); x++) {
    const candidate = multipleOnTwist(g2(pointOutsideOfSubgroup(x)), TWIST_ORDER / order)
    if (!candidate.is0()) ofOrder.set(order, candidate)
  }
  return ofOrder.get(order) ?? G2.Point.ZERO
}

/**
 * A point of the curve of G2, outside of the subgroup that proofs live in.
 * @param from where to look
 */
export const pointOutsideOfSubgroup = (from = 1n): string[][] => {
  const { Fp, Fp2 } = bn254.fields
  const b = Fp2.div(Fp2.fromBigTuple([3n, 0n]), Fp2.fromBigTuple([9n, 1n]))
  for (let i = from; ; i++) {
    const x = Fp2.fromBigTuple([i, 0n])
    const square = Fp2.add(Fp2.mul(Fp2.sqr(x), x), b)
    // Half of all elements are squares; those are found by Euler's criterion.
    if (!Fp2.eql(Fp2.pow(square, (Fp.ORDER * Fp.ORDER - 1n) / 2n), Fp2.ONE)) continue
    const point = bn254.G2.Point.fromAffine({ x, y: Fp2.sqrt(square) })
    if (!point.isTorsionFree()) return g2Json(point)
  }
}
