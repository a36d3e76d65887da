/**
 * Points one at a time in projective coordinates X : Y : Z, by the complete formulas for y² = x³ + b of Renes, Costello
 * and Batina, "Complete addition formulas for prime order elliptic curves" (2015), section 4: no case is special.
 * @module
 */
import { add, elementBytes, invert, isExtension, isZero, product, subtract } from './base-field'
import { RADIX, TRIPLED_B, TRIPLED_TWIST_B } from './base-kernels'

/** Room of a point, whatever its field. */
export const POINT_BYTES: usize = 224

const T0: usize = memory.data(80, 16)
const T1: usize = memory.data(80, 16)
const T2: usize = memory.data(80, 16)
const T3: usize = memory.data(80, 16)
const T4: usize = memory.data(80, 16)
const T5: usize = memory.data(80, 16)
const U0: usize = memory.data(80, 16)
const U1: usize = memory.data(80, 16)

const RUNNING: usize = memory.data(224, 16)
const LIFTED: usize = memory.data(224, 16)
/** Multiples 0 … 15 of the point that is multiplied. */
const MULTIPLES: usize = memory.data(224 * 16, 16)

/** z = (a + b)(c + d) − e − f. */
function crossProduct<F>(z: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize): void {
  add<F>(U0, a, b)
  add<F>(U1, c, d)
  product<F>(z, U0, U1)
  subtract<F>(z, z, e)
  subtract<F>(z, z, f)
}

/** x = 3b · x. */
function multiplyTripledB<F>(x: usize): void {
  product<F>(x, x, isExtension<F>() ? TRIPLED_TWIST_B : TRIPLED_B)
}

/** r = p + q for any two points; r may be one of them. */
export function addProjective<F>(r: usize, p: usize, q: usize): void {
  const y = elementBytes<F>()
  const z = 2 * elementBytes<F>()
  product<F>(T0, p, q)
  product<F>(T1, p + y, q + y)
  product<F>(T2, p + z, q + z)
  crossProduct<F>(T3, p, p + y, q, q + y, T0, T1)
  crossProduct<F>(T4, p + y, p + z, q + y, q + z, T1, T2)
  crossProduct<F>(T5, p, p + z, q, q + z, T0, T2)
  multiplyTripledB<F>(T2)
  multiplyTripledB<F>(T5)
  add<F>(U0, T0, T0)
  add<F>(T0, U0, T0)
  add<F>(U0, T1, T2)
  subtract<F>(T1, T1, T2)
  // X = T3 · T1 − T4 · T5, Y = U0 · T1 + T0 · T5, Z = T4 · U0 + T0 · T3
  product<F>(r, T3, T1)
  product<F>(U1, T4, T5)
  subtract<F>(r, r, U1)
  product<F>(r + y, U0, T1)
  product<F>(U1, T0, T5)
  add<F>(r + y, r + y, U1)
  product<F>(r + z, T4, U0)
  product<F>(U1, T0, T3)
  add<F>(r + z, r + z, U1)
}

function setOne<F>(x: usize): void {
  memory.fill(x, 0, elementBytes<F>())
  memory.copy(x, RADIX, 36)
}

/** 0 : 1 : 0 */
export function setInfinity<F>(p: usize): void {
  memory.fill(p, 0, 3 * elementBytes<F>())
  setOne<F>(p + elementBytes<F>())
}

/** The projective form of an affine point; all zero is infinity. */
export function fromAffine<F>(p: usize, affine: usize): void {
  const bytes = elementBytes<F>()
  if (isZero<F>(affine) && isZero<F>(affine + bytes)) {
    setInfinity<F>(p)
    return
  }
  memory.copy(p, affine, 2 * bytes)
  setOne<F>(p + 2 * bytes)
}

/** The affine form, all zero for infinity. May stand in the place of the point. */
export function toAffine<F>(affine: usize, p: usize): void {
  const bytes = elementBytes<F>()
  invert<F>(T0, p + 2 * bytes)
  product<F>(affine, p, T0)
  product<F>(affine + bytes, p + bytes, T0)
}

/** r = Σ i · point i of `count` affine points, counted from 0: sums of the sums from the end. */
export function weightedSum<F>(r: usize, affine: usize, count: i32): void {
  setInfinity<F>(r)
  setInfinity<F>(RUNNING)
  for (let i = count - 1; i > 0; i--) {
    fromAffine<F>(LIFTED, affine + 2 * elementBytes<F>() * i)
    addProjective<F>(RUNNING, RUNNING, LIFTED)
    addProjective<F>(r, r, RUNNING)
  }
}

/** p = 2^times · p. */
export function doubleTimes<F>(p: usize, times: i32): void {
  for (; times > 0; times--) addProjective<F>(p, p, p)
}

/** r = scalar · p; the scalar has 32 bytes, least first. r and p are different places. */
export function multiplyPoint<F>(r: usize, p: usize, scalar: usize): void {
  setInfinity<F>(MULTIPLES)
  for (let i: usize = 1; i < 16; i++) {
    addProjective<F>(MULTIPLES + POINT_BYTES * i, MULTIPLES + POINT_BYTES * (i - 1), p)
  }
  setInfinity<F>(r)
  for (let digit: isize = 63; digit >= 0; digit--) {
    doubleTimes<F>(r, 4)
    const value = (load<u8>(scalar + (digit >> 1)) >> <u8>(4 * (digit & 1))) & 15
    addProjective<F>(r, r, MULTIPLES + POINT_BYTES * <usize>value)
  }
}
