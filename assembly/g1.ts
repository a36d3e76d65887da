/**
 * Points of G1 one at a time for the verifier, projective X : Y : Z, 108 bytes, by the complete formulas for y² = x³ + 3 of
 * Renes, Costello and Batina, "Complete addition formulas for prime order elliptic curves" (2015), algorithms 7 to 9, with two
 * products to a reduction where two are added. No case is special; infinity is 0 : 1 : 0. No scalar here is secret.
 * @module
 */
import { invertPart } from './base-field'
import { multiply, multiplyDifference, multiplySum, RADIX } from './base-kernels'
import { combine1, combine2 } from './linear-combination'
import { ENDOMORPHISM_FACTOR } from './pairing-constants'
import { copyFp, FP } from './quadratic-field'

/** Room of a projective point, and bytes of an affine one. */
export const G1_PROJECTIVE: usize = 112
export const G1_AFFINE: usize = 72

const XX: usize = memory.data(48, 16)
const YY: usize = memory.data(48, 16)
const ZZ: usize = memory.data(48, 16)
const XY: usize = memory.data(48, 16)
const YZ: usize = memory.data(48, 16)
const XZ: usize = memory.data(48, 16)
const SUM: usize = memory.data(48, 16)
const DIFFERENCE: usize = memory.data(48, 16)
const X3: usize = memory.data(48, 16)

export function setInfinity(p: usize): void {
  memory.fill(p, 0, 3 * FP)
  copyFp(p + FP, RADIX)
}

/** The projective form of an affine point. */
export function lift(p: usize, affine: usize): void {
  memory.copy(p, affine, G1_AFFINE)
  copyFp(p + 2 * FP, RADIX)
}

/** r = the sum whose products XX, YY, ZZ and mixed products XY, YZ, XZ were computed. */
@inline
function finishSum(r: usize): void {
  combine1(XX, XX, 3)
  combine2(SUM, YY, 1, ZZ, 9)
  combine2(DIFFERENCE, YY, 1, ZZ, -9)
  combine1(XZ, XZ, 9)
  multiplyDifference(X3, XY, DIFFERENCE, YZ, XZ)
  multiplySum(r + FP, DIFFERENCE, SUM, XX, XZ)
  multiplySum(r + 2 * FP, SUM, YZ, XX, XY)
  copyFp(r, X3)
}

/** r = p + q; r may be one of them. */
export function addPoints(r: usize, p: usize, q: usize): void {
  multiply(XX, p, q)
  multiply(YY, p + FP, q + FP)
  multiply(ZZ, p + 2 * FP, q + 2 * FP)
  multiplySum(XY, p, q + FP, p + FP, q)
  multiplySum(YZ, p + FP, q + 2 * FP, p + 2 * FP, q + FP)
  multiplySum(XZ, p, q + 2 * FP, p + 2 * FP, q)
  finishSum(r)
}

/** r = p + q for an affine q, not infinity; r may be p. */
export function addAffine(r: usize, p: usize, q: usize): void {
  multiply(XX, p, q)
  multiply(YY, p + FP, q + FP)
  copyFp(ZZ, p + 2 * FP)
  multiplySum(XY, p, q + FP, p + FP, q)
  multiply(YZ, p + 2 * FP, q + FP)
  combine2(YZ, YZ, 1, p + FP, 1)
  multiply(XZ, p + 2 * FP, q)
  combine2(XZ, XZ, 1, p, 1)
  finishSum(r)
}

/** r = 2p; r may be p. */
export function doublePoint(r: usize, p: usize): void {
  multiply(YY, p + FP, p + FP)
  multiply(YZ, p + FP, p + 2 * FP)
  multiply(ZZ, p + 2 * FP, p + 2 * FP)
  multiply(XY, p, p + FP)
  // X = 2xy (y² − 27z²), Y = (y² − 27z²)(y² + 9z²) + 72y²z², Z = 8y³z
  combine2(DIFFERENCE, YY, 1, ZZ, -27)
  combine2(SUM, YY, 1, ZZ, 9)
  combine1(XX, YY, 8)
  combine1(XZ, ZZ, 9)
  combine1(XY, XY, 2)
  multiply(r, XY, DIFFERENCE)
  multiplySum(r + FP, DIFFERENCE, SUM, XX, XZ)
  multiply(r + 2 * FP, YZ, XX)
}

const PREFIXES: usize = memory.data(48 * 1024, 16)
const INVERSES: usize = memory.data(48 * 2, 16)

/** Most points of `toAffine`. */
export const MOST_POINTS: i32 = 1023

/**
 * The affine forms of points at `points`, none of them infinity, by one inversion.
 * @param step bytes from one affine point to the next
 */
export function toAffine(target: usize, step: usize, points: usize, count: i32): void {
  copyFp(PREFIXES, RADIX)
  for (let i: usize = 0; i < <usize>count; i++) {
    multiply(PREFIXES + 48 * (i + 1), PREFIXES + 48 * i, points + G1_PROJECTIVE * i + 2 * FP)
  }
  const inverse = INVERSES
  const own = INVERSES + 48
  invertPart(inverse, PREFIXES + 48 * <usize>count)
  for (let i: isize = count - 1; i >= 0; i--) {
    const point = points + G1_PROJECTIVE * i
    multiply(own, inverse, PREFIXES + 48 * i)
    multiply(inverse, inverse, point + 2 * FP)
    multiply(target + step * i, point, own)
    multiply(target + step * i + FP, point + FP, own)
  }
}

const ENTRY: usize = memory.data(112, 16)

/** r = r + q for an affine q, or r − q. */
export function addSigned(r: usize, q: usize, isMinus: bool): void {
  if (isMinus) {
    copyFp(ENTRY, q)
    combine1(ENTRY + FP, q + FP, -1)
    addAffine(r, r, ENTRY)
  } else addAffine(r, r, q)
}

/** r = r + φ(p): φ multiplies x by a cube root of unity, and the point by ENDOMORPHISM_SCALAR of the host's. */
export function addImage(r: usize, p: usize): void {
  memory.copy(ENTRY, p, 3 * FP)
  multiply(ENTRY, ENTRY, ENDOMORPHISM_FACTOR)
  addPoints(r, r, ENTRY)
}
