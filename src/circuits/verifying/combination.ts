/**
 * The random combination of many proofs' equations under one key: what makes a false proof among them show, except with a
 * chance of 2^-128 (Bellare, Garay, Rabin, "Fast batch verification for modular exponentiation and digital signatures", 1998,
 * section 3).
 * @module
 */
import { FIELD_MODULUS } from '../../core/field.ts'

/**
 * λ = 36x³ + 18x² + 6x + 1, a cube root of unity modulo r: what an endomorphism of G1 multiplies points by. For a and b below 2^64
 * all a + bλ differ, since no two numbers below 2^126 but zeros make a + bλ a multiple of r.
 */
export const ENDOMORPHISM_SCALAR = 4407920970296243842393367215006156084916469457145843978461n

const HALF_WORDS = 2

/** The factors z = a + bλ of `count` proofs: a and b are 64 bits each, unpredictable, and not both 0. */
export const drawFactors = (count: number): BigUint64Array<ArrayBuffer> => {
  const halves = crypto.getRandomValues(new BigUint64Array(HALF_WORDS * count))
  for (let i = 0; i < count; i++) {
    const own = halves.subarray(HALF_WORDS * i, HALF_WORDS * (i + 1))
    while (own.every((half) => half === 0n)) crypto.getRandomValues(own)
  }
  return halves
}

/** The factors as scalars. */
export const factorsOf = (halves: BigUint64Array): bigint[] =>
  Array.from({ length: halves.length / HALF_WORDS }, (_, i) => {
    const [a = 0n, b = 0n] = halves.subarray(HALF_WORDS * i, HALF_WORDS * (i + 1))
    return (a + b * ENDOMORPHISM_SCALAR) % FIELD_MODULUS
  })
