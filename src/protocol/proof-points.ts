/**
 * The points of a proof on BN254 as snarkjs writes them, read strictly: canonical decimals, affine, on their curve.
 * @module
 */
import { areEqual, BASE_MODULUS, type Extended, inverseP, modP, squareExtended } from './base-field.ts'

/** Why three coordinates are no point. The point at infinity is none either: no good proof has it. */
export type PointFault = 'PROOF_MALFORMED' | 'COORDINATE_NOT_CANONICAL' | 'POINT_NOT_ON_CURVE'

type Read<T> = T | { readonly fault: PointFault }
export type Point<F> = { readonly x: F; readonly y: F }

const DECIMAL = /^(?:0|[1-9]\d{0,77})$/

/** @returns the value of a canonical decimal below `modulus`, else undefined */
export const readDecimal = (text: unknown, modulus: bigint): bigint | undefined => {
  if (typeof text !== 'string' || !DECIMAL.test(text)) return undefined
  const value = BigInt(text)
  return value < modulus ? value : undefined
}

const isList = (value: unknown, length: number): value is unknown[] =>
  Array.isArray(value) && value.length === length

const readCoordinates = (texts: readonly unknown[]): Read<readonly bigint[]> => {
  const values = texts.flatMap((text) => readDecimal(text, BASE_MODULUS) ?? [])
  return values.length === texts.length ? values : { fault: 'COORDINATE_NOT_CANONICAL' }
}

/**
 * The coordinates of what may be a point of G1; that they are on the curve isn't checked here.
 * @param point `[x, y, "1"]`
 */
export const readCoordinates1 = (point: unknown): Read<readonly bigint[]> =>
  isList(point, 3) && point[2] === '1' ? readCoordinates([point[0], point[1]]) : { fault: 'PROOF_MALFORMED' }

/** Likewise of G2: x.c0, x.c1, y.c0, y.c1. @param point `[[x.c0, x.c1], [y.c0, y.c1], ["1", "0"]]` */
export const readCoordinates2 = (point: unknown): Read<readonly bigint[]> => {
  if (!isList(point, 3) || ![...point].every((pair) => isList(pair, 2))) return { fault: 'PROOF_MALFORMED' }
  const [xs, ys, zs] = point as [unknown[], unknown[], unknown[]]
  if (zs[0] !== '1' || zs[1] !== '0') return { fault: 'PROOF_MALFORMED' }
  return readCoordinates([...xs, ...ys])
}

/** A point of G1: y² = x³ + 3. */
export const readG1 = (point: unknown): Read<Point<bigint>> => {
  const read = readCoordinates1(point)
  if ('fault' in read) return read
  const [x = 0n, y = 0n] = read
  return modP(y * y) === squareOfY1(x) ? { x, y } : { fault: 'POINT_NOT_ON_CURVE' }
}

/** A point of the twist: y² = x³ + 3/(9 + u). That it lies in G2, the subgroup, isn't checked here. */
export const readG2 = (point: unknown): Read<Point<Extended>> => {
  const read = readCoordinates2(point)
  if ('fault' in read) return read
  const [x0 = 0n, x1 = 0n, y0 = 0n, y1 = 0n] = read
  const [x, y] = [
    { c0: x0, c1: x1 },
    { c0: y0, c1: y1 },
  ]
  return areEqual(squareExtended(y), squareOfY2(x)) ? { x, y } : { fault: 'POINT_NOT_ON_CURVE' }
}

/** x³ + 3 */
export const squareOfY1 = (x: bigint): bigint => modP(x * x * x + 3n)

/** 3/(9 + u) = 3 (9 − u)/82 */
const TWIST_B = { c0: modP(27n * inverseP(82n)), c1: modP(-3n * inverseP(82n)) }

/** x³ + 3/(9 + u) */
export const squareOfY2 = (x: Extended): Extended => {
  const { c0, c1 } = squareExtended(x)
  return {
    c0: modP(c0 * x.c0 - c1 * x.c1 + TWIST_B.c0),
    c1: modP(c0 * x.c1 + c1 * x.c0 + TWIST_B.c1),
  }
}
