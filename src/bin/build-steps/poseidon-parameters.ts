/**
 * The public parameters of Poseidon over the BN254 scalar field with three state elements, derived as the paper says
 * (Grassi et al., "Poseidon: a new hash function for zero-knowledge proof systems", appendix E and F) and as circomlib
 * took them over: `generate_parameters_grain 1 0 254 3 8 57 r`.
 * @module
 */

/** r, the order of BN254's groups. */
export const MODULUS = 21888242871839275222246405745257275088548364400416034343698204186575808495617n

/** State elements: one of capacity, two of rate. */
export const WIDTH = 3
export const FULL_ROUNDS = 8
export const PARTIAL_ROUNDS = 57

const FIELD_BITS = 254
const STATE_BITS = 80
const DISCARDED_BITS = 160

/** Taps of Grain's linear feedback shift register. */
const TAPS = [62, 51, 38, 23, 13, 0] as const

/** What the register starts from: kind of field and S-box, then the sizes, then ones. */
const SEED: readonly (readonly [value: number, bits: number])[] = [
  [1, 2],
  [0, 4],
  [FIELD_BITS, 12],
  [WIDTH, 12],
  [FULL_ROUNDS, 10],
  [PARTIAL_ROUNDS, 10],
  [2 ** 30 - 1, 30],
]

export const reduce = (x: bigint): bigint => ((x % MODULUS) + MODULUS) % MODULUS

export const power = (base: bigint, exponent: bigint): bigint => {
  let result = 1n
  let square = reduce(base)
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % MODULUS
    square = (square * square) % MODULUS
  }
  return result
}

/** @throws RangeError for zero */
export const invert = (x: bigint): bigint => {
  if (reduce(x) === 0n) throw new RangeError('zero has no inverse')
  return power(x, MODULUS - 2n)
}

/** Integers of FIELD_BITS bits from the self-shrinking register: of each pair of bits, 1x gives x and 0x nothing. */
const grain = (): (() => bigint) => {
  const state = SEED.flatMap(([value, bits]) =>
    Array.from({ length: bits }, (_, i) => (value >> (bits - 1 - i)) & 1),
  )
  const shift = (): number => {
    const bit = TAPS.reduce<number>((sum, tap) => sum ^ (state[tap] ?? 0), 0)
    state.copyWithin(0, 1)
    state[STATE_BITS - 1] = bit
    return bit
  }
  for (let i = 0; i < DISCARDED_BITS; i++) shift()
  const next = (): number => {
    for (;;) {
      const keep = shift()
      const bit = shift()
      if (keep) return bit
    }
  }
  return () => {
    let value = 0n
    for (let i = 0; i < FIELD_BITS; i++) value = (value << 1n) | BigInt(next())
    return value
  }
}

export interface PoseidonParameters {
  /** Three constants a round, added before the S-boxes. */
  constants: readonly (readonly bigint[])[]
  /** The maximum distance separable matrix, row by row: a Cauchy matrix. */
  matrix: readonly (readonly bigint[])[]
}

/** Derives constants and matrix. The matrix that follows in the stream is known to be secure, so the first is taken. */
export const poseidonParameters = (): PoseidonParameters => {
  const draw = grain()
  const element = (): bigint => {
    for (;;) {
      const value = draw()
      if (value < MODULUS) return value
    }
  }
  const constants = Array.from({ length: FULL_ROUNDS + PARTIAL_ROUNDS }, () =>
    Array.from({ length: WIDTH }, element),
  )
  const points = Array.from({ length: 2 * WIDTH }, () => reduce(draw()))
  if (new Set(points).size !== points.length) throw new Error('the stream gave a point twice')
  const matrix = points.slice(0, WIDTH).map((x) => points.slice(WIDTH).map((y) => invert(x + y)))
  return { constants, matrix }
}
