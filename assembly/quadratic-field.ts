/**
 * Fp2 = Fp[u] / (u² + 1) in the verifier, and what multiples of ξ = 9 + u are there. An element is two of Fp, each below 2.1p
 * with normal limbs, 72 bytes. Results may stand in place of operands.
 * @module
 */
import { multiply, multiplyDifference, multiplySum } from './base-kernels'
import { combine1, combine2, combine3 } from './linear-combination'
import { PACKED_LIFT } from './pairing-constants'

/** Bytes of an element of Fp, and of Fp2. */
export const FP: usize = 36
export const FP2: usize = 72

const REAL: usize = memory.data(48, 16)
const SUM: usize = memory.data(48, 16)
const DIFFERENCE: usize = memory.data(48, 16)
const TWICE: usize = memory.data(48, 16)

@inline
export function copyFp(z: usize, x: usize): void {
  const low = v128.load(x)
  const high = v128.load(x, 16)
  const top = load<u32>(x, 32)
  v128.store(z, low)
  v128.store(z, high, 16)
  store<u32>(z, top, 32)
}

@inline
export function copyFp2(z: usize, x: usize): void {
  copyFp(z, x)
  copyFp(z + FP, x + FP)
}

/** z = x + y without carries or reduction: for the left operand of a product. Not in place of parts of x or y. */
@inline
export function gather(z: usize, x: usize, y: usize): void {
  v128.store(z, i32x4.add(v128.load(x), v128.load(y)))
  v128.store(z, i32x4.add(v128.load(x, 16), v128.load(y, 16)), 16)
  v128.store(z, i32x4.add(v128.load(x, 32), v128.load(y, 32)), 32)
  v128.store(z, i32x4.add(v128.load(x, 48), v128.load(y, 48)), 48)
  store<u64>(z, load<u64>(x, 64) + load<u64>(y, 64), 64)
}

export function add(z: usize, x: usize, y: usize): void {
  combine2(z, x, 1, y, 1)
  combine2(z + FP, x + FP, 1, y + FP, 1)
}

export function subtract(z: usize, x: usize, y: usize): void {
  combine2(z, x, 1, y, -1)
  combine2(z + FP, x + FP, 1, y + FP, -1)
}

/** z = x − y − w */
export function subtractBoth(z: usize, x: usize, y: usize, w: usize): void {
  combine3(z, x, 1, y, -1, w, -1)
  combine3(z + FP, x + FP, 1, y + FP, -1, w + FP, -1)
}

export function negate(z: usize, x: usize): void {
  combine1(z, x, -1)
  combine1(z + FP, x + FP, -1)
}

/** z = x − ξ · y for `sign` −1, x + ξ · y for 1; z is not y. */
@inline
export function addXiTimes(z: usize, x: usize, y: usize, sign: i64): void {
  combine3(z, x, 1, y, 9 * sign, y + FP, -sign)
  combine3(z + FP, x + FP, 1, y + FP, 9 * sign, y, sign)
}

/** z = x + ξ · y; z is not y. */
export function addXi(z: usize, x: usize, y: usize): void {
  addXiTimes(z, x, y, 1)
}

/** z = x^p: the conjugate. */
export function conjugate(z: usize, x: usize): void {
  copyFp(z, x)
  combine1(z + FP, x + FP, -1)
}

/** z = x · y; x may come from `gather`. */
export function product(z: usize, x: usize, y: usize): void {
  multiplyDifference(REAL, x, y, x + FP, y + FP)
  multiplySum(z + FP, x, y + FP, x + FP, y)
  copyFp(z, REAL)
}

/** z = x² = (x₀ + x₁)(x₀ − x₁) + 2x₀x₁ · u */
export function square(z: usize, x: usize): void {
  const a0 = v128.load(x)
  const a1 = v128.load(x, 16)
  const a2 = load<u32>(x, 32)
  const b0 = v128.load(x, 36)
  const b1 = v128.load(x, 52)
  const b2 = load<u32>(x, 68)
  v128.store(SUM, i32x4.add(a0, b0))
  v128.store(SUM, i32x4.add(a1, b1), 16)
  store<u32>(SUM, a2 + b2, 32)
  v128.store(DIFFERENCE, i32x4.sub(i32x4.add(a0, v128.load(PACKED_LIFT)), b0))
  v128.store(DIFFERENCE, i32x4.sub(i32x4.add(a1, v128.load(PACKED_LIFT, 16)), b1), 16)
  store<u32>(DIFFERENCE, a2 + load<u32>(PACKED_LIFT, 32) - b2, 32)
  v128.store(TWICE, i32x4.add(a0, a0))
  v128.store(TWICE, i32x4.add(a1, a1), 16)
  store<u32>(TWICE, a2 + a2, 32)
  multiply(z + FP, TWICE, x + FP)
  multiply(z, SUM, DIFFERENCE)
}

/** z = x · s for s in Fp. */
export function scale(z: usize, x: usize, s: usize): void {
  multiply(z, x, s)
  multiply(z + FP, x + FP, s)
}
