/**
 * The points of a proof on BN254 as snarkjs writes them, read strictly: canonical decimals, affine, on their curve.
 * @module
 */
import { bn254 } from '@noble/curves/bn254.js'

export const { Fp, Fp2 } = bn254.fields
export type Fp2 = ReturnType<typeof Fp2.create>

/** G1: y² = x³ + 3. */
export const B1 = 3n
/** G2: y² = x³ + 3/(9 + u). */
export const B2: Fp2 = Fp2.div(Fp2.fromBigTuple([3n, 0n]), Fp2.fromBigTuple([9n, 1n]))

/** Why three coordinates are no point. The point at infinity is none either: no good proof has it. */
export type PointFault = 'PROOF_MALFORMED' | 'COORDINATE_NOT_CANONICAL' | 'POINT_NOT_ON_CURVE'

export type ReadPoint<F> = { readonly x: F; readonly y: F } | { readonly fault: PointFault }

const DECIMAL = /^(?:0|[1-9]\d{0,77})$/

/** @returns the value of a canonical decimal below `modulus`, else undefined */
export const readDecimal = (text: unknown, modulus: bigint): bigint | undefined => {
  if (typeof text !== 'string' || !DECIMAL.test(text)) return undefined
  const value = BigInt(text)
  return value < modulus ? value : undefined
}

const isList = (value: unknown, length: number): value is unknown[] =>
  Array.isArray(value) && value.length === length

/** @param point `[x, y, "1"]` */
export const readG1 = (point: unknown): ReadPoint<bigint> => {
  if (!isList(point, 3) || point[2] !== '1') return { fault: 'PROOF_MALFORMED' }
  const x = readDecimal(point[0], Fp.ORDER)
  const y = readDecimal(point[1], Fp.ORDER)
  if (x === undefined || y === undefined) return { fault: 'COORDINATE_NOT_CANONICAL' }
  if (!Fp.eql(Fp.sqr(y), squareOfY1(x))) return { fault: 'POINT_NOT_ON_CURVE' }
  return { x, y }
}

/** @param point `[[x.c0, x.c1], [y.c0, y.c1], ["1", "0"]]`. That it lies in the subgroup isn't checked here. */
export const readG2 = (point: unknown): ReadPoint<Fp2> => {
  if (!isList(point, 3) || ![...point].every((pair) => isList(pair, 2))) return { fault: 'PROOF_MALFORMED' }
  const [xs, ys, zs] = point as [unknown[], unknown[], unknown[]]
  if (zs[0] !== '1' || zs[1] !== '0') return { fault: 'PROOF_MALFORMED' }
  const [x0, x1, y0, y1] = [...xs, ...ys].map((text) => readDecimal(text, Fp.ORDER))
  if (x0 === undefined || x1 === undefined || y0 === undefined || y1 === undefined)
    return { fault: 'COORDINATE_NOT_CANONICAL' }
  const x = Fp2.fromBigTuple([x0, x1])
  const y = Fp2.fromBigTuple([y0, y1])
  if (!Fp2.eql(Fp2.sqr(y), squareOfY2(x))) return { fault: 'POINT_NOT_ON_CURVE' }
  return { x, y }
}

/** x³ + 3 */
export const squareOfY1 = (x: bigint): bigint => Fp.add(Fp.mul(Fp.sqr(x), x), B1)

/** x³ + 3/(9 + u) */
export const squareOfY2 = (x: Fp2): Fp2 => Fp2.add(Fp2.mul(Fp2.sqr(x), x), B2)
