/**
 * Four elements of BN254's base field, or of its extension, at once: nine vectors, one lane an element, then those of
 * the factors of u. Normal limbs have 29 bits. Elements are below 2p and a little (2^236) where nothing else is said.
 * @module
 */
import { elementBytes, isExtension } from './base-field'
import { HIGH_LIFT, LIFT, MODULUS_LIMBS, multiply4, multiplyAdd4, square4, TWICE_MODULUS } from './base-kernels'

/** Bytes of four parts. */
export const PART: usize = 144
const TOP: usize = 128
const LIMB_MASK: i32 = 0x1fffffff

/** Bytes of four elements. */
@inline
export function vectorBytes<F>(): usize {
  return isExtension<F>() ? 288 : 144
}

const NEGATIVE: usize = memory.data(144, 16)
const SUM: usize = memory.data(144, 16)
const DIFFERENCE: usize = memory.data(288, 16)
const PRODUCT: usize = memory.data(144, 16)

@inline
function gatherFour(z: usize, a: usize, b: usize, c: usize, d: usize): void {
  const va = v128.load(a)
  const vb = v128.load(b)
  const vc = v128.load(c)
  const vd = v128.load(d)
  const ab = v128.shuffle<u32>(va, vb, 0, 4, 1, 5)
  const cd = v128.shuffle<u32>(vc, vd, 0, 4, 1, 5)
  const abHigh = v128.shuffle<u32>(va, vb, 2, 6, 3, 7)
  const cdHigh = v128.shuffle<u32>(vc, vd, 2, 6, 3, 7)
  v128.store(z, v128.shuffle<u64>(ab, cd, 0, 2))
  v128.store(z, v128.shuffle<u64>(ab, cd, 1, 3), 16)
  v128.store(z, v128.shuffle<u64>(abHigh, cdHigh, 0, 2), 32)
  v128.store(z, v128.shuffle<u64>(abHigh, cdHigh, 1, 3), 48)
}

function gatherPart(z: usize, a: usize, b: usize, c: usize, d: usize): void {
  gatherFour(z, a, b, c, d)
  gatherFour(z + 64, a + 16, b + 16, c + 16, d + 16)
  v128.store(z, i32x4(load<i32>(a, 32), load<i32>(b, 32), load<i32>(c, 32), load<i32>(d, 32)), 128)
}

/** Brings the elements at four addresses together. */
export function gather<F>(z: usize, a: usize, b: usize, c: usize, d: usize): void {
  gatherPart(z, a, b, c, d)
  if (isExtension<F>()) gatherPart(z + PART, a + 36, b + 36, c + 36, d + 36)
}

@inline
function scatterFour(x: usize, a: usize, b: usize, c: usize, d: usize): void {
  const x0 = v128.load(x)
  const x1 = v128.load(x, 16)
  const x2 = v128.load(x, 32)
  const x3 = v128.load(x, 48)
  const low = v128.shuffle<u32>(x0, x1, 0, 4, 1, 5)
  const lowNext = v128.shuffle<u32>(x2, x3, 0, 4, 1, 5)
  const high = v128.shuffle<u32>(x0, x1, 2, 6, 3, 7)
  const highNext = v128.shuffle<u32>(x2, x3, 2, 6, 3, 7)
  v128.store(a, v128.shuffle<u64>(low, lowNext, 0, 2))
  v128.store(b, v128.shuffle<u64>(low, lowNext, 1, 3))
  v128.store(c, v128.shuffle<u64>(high, highNext, 0, 2))
  v128.store(d, v128.shuffle<u64>(high, highNext, 1, 3))
}

function scatterPart(x: usize, a: usize, b: usize, c: usize, d: usize): void {
  scatterFour(x, a, b, c, d)
  scatterFour(x + 64, a + 16, b + 16, c + 16, d + 16)
  const top = v128.load(x, 128)
  store<i32>(a, i32x4.extract_lane(top, 0), 32)
  store<i32>(b, i32x4.extract_lane(top, 1), 32)
  store<i32>(c, i32x4.extract_lane(top, 2), 32)
  store<i32>(d, i32x4.extract_lane(top, 3), 32)
}

/** Sends the four elements to their addresses. */
export function scatter<F>(x: usize, a: usize, b: usize, c: usize, d: usize): void {
  scatterPart(x, a, b, c, d)
  if (isExtension<F>()) scatterPart(x + PART, a + 36, b + 36, c + 36, d + 36)
}

/** Copies one element into a lane of four. */
export function putLane<F>(z: usize, lane: usize, x: usize): void {
  for (let i: usize = 0; i < elementBytes<F>(); i += 4) store<u32>(z + 4 * lane + 4 * i, load<u32>(x + i))
}

/** Copies one lane of four out. */
export function getLane<F>(z: usize, x: usize, lane: usize): void {
  for (let i: usize = 0; i < elementBytes<F>(); i += 4) store<u32>(z + i, load<u32>(x + 4 * lane + 4 * i))
}

/** z = x + y with limbs below 2^30. */
export function addLazily(z: usize, x: usize, y: usize): void {
  for (let i: usize = 0; i < PART; i += 16) v128.store(z + i, i32x4.add(v128.load(x + i), v128.load(y + i)))
}

/** z = x − y + 4p with limbs below 3 · 2^29: the factor of a product, beside normal ones. */
export function subtractLazily(z: usize, x: usize, y: usize): void {
  for (let i: usize = 0; i < PART; i += 16) {
    v128.store(z + i, i32x4.sub(i32x4.add(v128.load(x + i), v128.load(LIFT + i)), v128.load(y + i)))
  }
}

/** z = x − y + 4p with normal limbs; limbs of x and y may be signed. */
function subtractPart(z: usize, x: usize, y: usize): void {
  let carry = i32x4.splat(0)
  for (let i: usize = 0; i < PART; i += 16) {
    const difference = i32x4.sub(i32x4.add(v128.load(x + i), v128.load(LIFT + i)), v128.load(y + i))
    carry = i32x4.add(carry, difference)
    if (i == TOP) v128.store(z + i, carry)
    else v128.store(z + i, v128.and(carry, i32x4.splat(LIMB_MASK)))
    carry = i32x4.shr_s(carry, 29)
  }
}

/** z = x − y + 4p in each part, with normal limbs; those of x and y may be signed. */
export function subtract4<F>(z: usize, x: usize, y: usize): void {
  subtractPart(z, x, y)
  if (isExtension<F>()) subtractPart(z + PART, x + PART, y + PART)
}

/** z = 8p − x with limbs below 2^30, for x below 8p with normal limbs. */
@inline
function negateLazily(z: usize, x: usize): void {
  for (let i: usize = 0; i < PART; i += 16) v128.store(z + i, i32x4.sub(v128.load(HIGH_LIFT + i), v128.load(x + i)))
}

/** The highest limb of 2p, and more than lower limbs can add to the highest one or take from it. */
const TWICE_TOP: i32 = 0x60c89c
const SLACK: i32 = 4

/** How often 2p has to be added to a value above −6p, whose top limb is about that, to make it positive. */
@inline
function lifts(top: v128): v128 {
  const once = i32x4.lt_s(top, i32x4.splat(SLACK))
  const twice = i32x4.lt_s(top, i32x4.splat(SLACK - TWICE_TOP))
  const thrice = i32x4.lt_s(top, i32x4.splat(SLACK - 2 * TWICE_TOP))
  return i32x4.neg(i32x4.add(i32x4.add(once, twice), thrice))
}

/** z = x − y − w. */
function subtractBothPart(z: usize, x: usize, y: usize, w: usize): void {
  const times = lifts(i32x4.sub(i32x4.sub(v128.load(x, TOP), v128.load(y, TOP)), v128.load(w, TOP)))
  let carry = i32x4.splat(0)
  for (let i: usize = 0; i < PART; i += 16) {
    const difference = i32x4.sub(i32x4.sub(v128.load(x + i), v128.load(y + i)), v128.load(w + i))
    carry = i32x4.add(carry, i32x4.add(difference, i32x4.mul(times, v128.load(TWICE_MODULUS + i))))
    v128.store(z + i, v128.and(carry, i32x4.splat(LIMB_MASK)))
    carry = i32x4.shr_s(carry, 29)
  }
}

export function subtractBoth<F>(z: usize, x: usize, y: usize, w: usize): void {
  subtractBothPart(z, x, y, w)
  if (isExtension<F>()) subtractBothPart(z + PART, x + PART, y + PART, w + PART)
}

/** z = x − y with `times` times the number at `twice` added, with normal limbs; those of y may be signed. */
@inline
export function subtractLifted(z: usize, x: usize, y: usize, times: v128, twice: usize): void {
  let carry = i32x4.splat(0)
  for (let i: usize = 0; i < PART; i += 16) {
    const difference = i32x4.sub(v128.load(x + i), v128.load(y + i))
    carry = i32x4.add(carry, i32x4.add(difference, i32x4.mul(times, v128.load(twice + i))))
    v128.store(z + i, v128.and(carry, i32x4.splat(LIMB_MASK)))
    carry = i32x4.shr_s(carry, 29)
  }
}

/** z = x − y, where limbs of y may be signed. */
function subtractOnePart(z: usize, x: usize, y: usize): void {
  subtractLifted(z, x, y, lifts(i32x4.sub(v128.load(x, TOP), v128.load(y, TOP))), TWICE_MODULUS)
}

export function subtractOne<F>(z: usize, x: usize, y: usize): void {
  subtractOnePart(z, x, y)
  if (isExtension<F>()) subtractOnePart(z + PART, x + PART, y + PART)
}

/** x = −x in lanes whose mask is −1, with limbs that may be signed; x is at most 2p. */
@inline
function signPart(x: usize, mask: v128): void {
  for (let i: usize = 0; i < PART; i += 16) {
    const flipped = i32x4.sub(v128.xor(v128.load(x + i), mask), mask)
    v128.store(x + i, i32x4.add(flipped, v128.and(v128.load(TWICE_MODULUS + i), mask)))
  }
}

export function sign4<F>(x: usize, mask: v128): void {
  signPart(x, mask)
  if (isExtension<F>()) signPart(x + PART, mask)
}

/** z = x · y for x and y below 6p with normal limbs; one of them may be lazy in the base field. */
export function product4<F>(z: usize, x: usize, y: usize): void {
  if (!isExtension<F>()) {
    multiply4(z, x, y)
    return
  }
  negateLazily(NEGATIVE, y + PART)
  multiplyAdd4(PRODUCT, x, y, x + PART, NEGATIVE)
  multiplyAdd4(z + PART, x, y + PART, x + PART, y)
  memory.copy(z, PRODUCT, PART)
}

/** z = x² for x below 2p and a little, with normal limbs. */
export function squared4<F>(z: usize, x: usize): void {
  if (!isExtension<F>()) {
    square4(z, x)
    return
  }
  addLazily(SUM, x, x + PART)
  subtractLazily(DIFFERENCE, x, x + PART)
  addLazily(PRODUCT, x, x)
  multiply4(z + PART, PRODUCT, x + PART)
  multiply4(z, SUM, DIFFERENCE)
}

/** Norms of four elements: themselves in the base field, x0² + x1² in the extension. Takes normal limbs. */
export function norm4<F>(z: usize, x: usize): void {
  if (isExtension<F>()) multiplyAdd4(z, x, x, x + PART, x + PART)
  else memory.copy(z, x, PART)
}

/** z = 1 / x by the inverse of its norm. */
export function inverseByNorm4<F>(z: usize, x: usize, inverse: usize): void {
  if (!isExtension<F>()) {
    memory.copy(z, inverse, PART)
    return
  }
  negateLazily(NEGATIVE, x + PART)
  multiply4(z, x, inverse)
  multiply4(z + PART, NEGATIVE, inverse)
}

/**
 * Whether x and y may be the same modulo p in some lane, or one of them be zero, by their lowest limbs. Wrongly so in about
 * one lane of 2^26; never wrongly not.
 */
@inline
export function mayCoincide(x: usize, y: usize): bool {
  const low = v128.load(x)
  const other = v128.load(y)
  const zero = i32x4.splat(0)
  const mask = i32x4.splat(LIMB_MASK)
  const difference = v128.and(i32x4.sub(low, other), mask)
  const negative = v128.and(i32x4.sub(other, low), mask)
  const once = v128.load(MODULUS_LIMBS)
  const twice = v128.load(TWICE_MODULUS)
  let hit = v128.or(i32x4.eq(low, zero), i32x4.eq(other, zero))
  hit = v128.or(hit, i32x4.eq(difference, zero))
  hit = v128.or(hit, v128.or(i32x4.eq(difference, once), i32x4.eq(negative, once)))
  hit = v128.or(hit, v128.or(i32x4.eq(difference, twice), i32x4.eq(negative, twice)))
  return v128.any_true(hit)
}
