/**
 * Scalars of BN254 as the prover's host side needs them: bytes, roots of unity, secrets.
 * @module
 */
import { FIELD_MODULUS } from '../../core/field.ts'

export const SCALAR_BYTES = 32
/** The least number without a square root; r − 1 is a multiple of 2^28. */
const NON_RESIDUE = 5n
/** So much more than a scalar that the remainder shows no bias. */
const RANDOM_BYTES = 48

/** base^exponent mod r. */
export const power = (base: bigint, exponent: bigint): bigint => {
  let result = 1n
  for (let square = base, rest = exponent; rest > 0n; rest >>= 1n, square = (square * square) % FIELD_MODULUS)
    if (rest & 1n) result = (result * square) % FIELD_MODULUS
  return result
}

/** 1 / x mod r. */
export const inverse = (x: bigint): bigint => power(x, FIELD_MODULUS - 2n)

/** The root of unity of order `size`, a power of two, that snarkjs takes. */
export const rootOfUnity = (size: number): bigint => power(NON_RESIDUE, (FIELD_MODULUS - 1n) / BigInt(size))

/** 32 bytes, the lowest first. */
export const scalarBytes = (x: bigint): Uint8Array =>
  Uint8Array.from({ length: SCALAR_BYTES }, (_, i) => Number(BigInt.asUintN(8, x >> BigInt(8 * i))))

/** The number that bytes are, the lowest first. */
export const scalarOf = (bytes: Uint8Array): bigint =>
  bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n)

/** A scalar that nobody can guess, from 1 on. */
export const randomScalar = (): bigint => {
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))
  return (scalarOf(bytes) % (FIELD_MODULUS - 1n)) + 1n
}
