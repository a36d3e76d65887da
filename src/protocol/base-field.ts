/**
 * BN254's base field and its quadratic extension by u² = −1, as few operations as reading points takes. Proofs are verified in
 * WebAssembly; this is for the coordinates that go in and out. Elements are the integers 0 ≤ x < p.
 * @module
 */

/** p, the order of BN254's base field; p ≡ 3 (mod 4). */
export const BASE_MODULUS = 21888242871839275222246405745257275088696311157297823662689037894645226208583n

/** c0 + c1 · u */
export interface Extended {
  readonly c0: bigint
  readonly c1: bigint
}

/** The element that an integer stands for. */
export const modP = (x: bigint): bigint => {
  const rest = x % BASE_MODULUS
  return rest < 0n ? rest + BASE_MODULUS : rest
}

/** base^exponent */
export const powerP = (base: bigint, exponent: bigint): bigint => {
  let result = 1n
  for (let square = base, rest = exponent; rest > 0n; rest >>= 1n, square = (square * square) % BASE_MODULUS)
    if (rest & 1n) result = (result * square) % BASE_MODULUS
  return result
}

/** 1 / x; 0 for 0. */
export const inverseP = (x: bigint): bigint => powerP(x, BASE_MODULUS - 2n)

/** 1/2 */
const HALF = (BASE_MODULUS + 1n) / 2n

/** The root of a square, one of two. @returns undefined where x is none */
export const squareRootP = (x: bigint): bigint | undefined => {
  const root = powerP(x, (BASE_MODULUS + 1n) / 4n)
  return modP(root * root) === x ? root : undefined
}

export const squareExtended = ({ c0, c1 }: Extended): Extended => ({
  c0: modP((c0 + c1) * (c0 - c1)),
  c1: modP(2n * c0 * c1),
})

export const negateExtended = ({ c0, c1 }: Extended): Extended => ({ c0: modP(-c0), c1: modP(-c1) })

export const areEqual = (x: Extended, y: Extended): boolean => x.c0 === y.c0 && x.c1 === y.c1

/**
 * The root of a square a + bu by its norm: c² = (a ± √(a² + b²))/2 and d = b/2c.
 * @returns undefined where it is none
 */
export const squareRootExtended = (square: Extended): Extended | undefined => {
  const { c0: a, c1: b } = square
  const norm = squareRootP(modP(a * a + b * b))
  if (norm === undefined) return undefined
  for (const sign of [norm, -norm]) {
    const c = squareRootP(modP((a + sign) * HALF))
    if (c === undefined) continue
    const c1 = c === 0n ? squareRootP(modP(-a)) : modP(b * inverseP(modP(2n * c)))
    if (c1 !== undefined && areEqual(squareExtended({ c0: c, c1 }), square)) return { c0: c, c1 }
  }
  return undefined
}
