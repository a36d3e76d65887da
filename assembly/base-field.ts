/**
 * Single elements of BN254's base field and of its quadratic extension by u² = −1, in Montgomery form: nine limbs of 29
 * bits, least first, then those of the factor of u. Values are below 2p and a little, limbs are normal.
 * @module
 */
import { INVERTING_EXPONENT, MODULUS_LIMBS, multiply, RADIX } from './base-kernels'

/** Names the field in type parameters. */
export type Base = u32
export type Extension = u64

/** Bytes of an element. */
@inline
export function elementBytes<F>(): usize {
  return isExtension<F>() ? 72 : 36
}

@inline
export function isExtension<F>(): bool {
  return sizeof<F>() == sizeof<Extension>()
}

/** Bytes of an element's part. */
const PART: usize = 36
const LIMB_MASK: i32 = 0x1fffffff
const LIMB_BITS: i32 = 29

const SUM: usize = memory.data(160, 16)
const OTHER_SUM: usize = memory.data(160, 16)
const PRODUCT: usize = memory.data(160, 16)
const OTHER_PRODUCT: usize = memory.data(160, 16)
const POWERS: usize = memory.data(640, 16)
const POWER: usize = memory.data(48, 16)
const CANONICAL: usize = memory.data(48, 16)
const OTHER_CANONICAL: usize = memory.data(48, 16)

@inline
function modulusLimb(i: usize): i32 {
  return <i32>load<u32>(MODULUS_LIMBS + 4 * i)
}

/** Takes `times` · p from a part if that is not negative. @returns whether it was taken */
function takeModulus(x: usize, times: i32): bool {
  let carry: i32 = 0
  for (let i: usize = 0; i < PART; i += 4) {
    carry = (<i32>load<u32>(x + i) - times * modulusLimb(i) + carry) >> LIMB_BITS
  }
  if (carry < 0) return false
  carry = 0
  for (let i: usize = 0; i < PART; i += 4) {
    carry += <i32>load<u32>(x + i) - times * modulusLimb(i)
    store<u32>(x + i, carry & LIMB_MASK)
    carry >>= LIMB_BITS
  }
  return true
}

/** Reduces a part below 8p to the value below p. */
export function reducePart(x: usize): void {
  while (takeModulus(x, 2)) {}
  takeModulus(x, 1)
}

/** Reduces an element to its only form below p. */
export function reduce<F>(x: usize): void {
  reducePart(x)
  if (isExtension<F>()) reducePart(x + PART)
}

function addParts(z: usize, x: usize, y: usize): void {
  let carry: u32 = 0
  for (let i: usize = 0; i < PART; i += 4) {
    carry += load<u32>(x + i) + load<u32>(y + i)
    store<u32>(z + i, carry & LIMB_MASK)
    carry >>= LIMB_BITS
  }
  takeModulus(z, 2)
}

function subtractParts(z: usize, x: usize, y: usize): void {
  let carry: i32 = 0
  for (let i: usize = 0; i < PART; i += 4) {
    carry += <i32>load<u32>(x + i) - <i32>load<u32>(y + i) + 2 * modulusLimb(i)
    store<u32>(z + i, carry & LIMB_MASK)
    carry >>= LIMB_BITS
  }
  takeModulus(z, 2)
}

export function add<F>(z: usize, x: usize, y: usize): void {
  addParts(z, x, y)
  if (isExtension<F>()) addParts(z + PART, x + PART, y + PART)
}

export function subtract<F>(z: usize, x: usize, y: usize): void {
  subtractParts(z, x, y)
  if (isExtension<F>()) subtractParts(z + PART, x + PART, y + PART)
}

/** z = x · y; z may be x or y. */
export function product<F>(z: usize, x: usize, y: usize): void {
  if (!isExtension<F>()) {
    multiply(z, x, y)
    return
  }
  addParts(SUM, x, x + PART)
  addParts(OTHER_SUM, y, y + PART)
  multiply(PRODUCT, x, y)
  multiply(OTHER_PRODUCT, x + PART, y + PART)
  multiply(z + PART, SUM, OTHER_SUM)
  subtractParts(z, PRODUCT, OTHER_PRODUCT)
  addParts(PRODUCT, PRODUCT, OTHER_PRODUCT)
  subtractParts(z + PART, z + PART, PRODUCT)
}

/** z = 1 / x for a part, by Fermat's theorem with windows of four bits; 0 gives 0. */
export function invertPart(z: usize, x: usize): void {
  memory.copy(POWERS, RADIX, PART)
  for (let i: usize = 1; i < 16; i++) multiply(POWERS + PART * i, POWERS + PART * (i - 1), x)
  memory.copy(POWER, RADIX, PART)
  // The exponent has 254 bits.
  for (let bit = 252; bit >= 0; bit -= 4) {
    for (let i = 0; i < 4; i++) multiply(POWER, POWER, POWER)
    const low = load<u32>(INVERTING_EXPONENT + 4 * <usize>(bit / LIMB_BITS))
    const high = bit / LIMB_BITS < 8 ? load<u32>(INVERTING_EXPONENT + 4 * <usize>(bit / LIMB_BITS), 4) : 0
    const digit = (((<u64>high << LIMB_BITS) | low) >> (bit % LIMB_BITS)) & 15
    multiply(POWER, POWER, POWERS + PART * <usize>digit)
  }
  memory.copy(z, POWER, PART)
}

/** z = 1 / x. */
export function invert<F>(z: usize, x: usize): void {
  if (!isExtension<F>()) {
    invertPart(z, x)
    return
  }
  multiply(PRODUCT, x, x)
  multiply(OTHER_PRODUCT, x + PART, x + PART)
  addParts(PRODUCT, PRODUCT, OTHER_PRODUCT)
  invertPart(PRODUCT, PRODUCT)
  multiply(z, x, PRODUCT)
  multiply(z + PART, x + PART, PRODUCT)
  memory.fill(OTHER_PRODUCT, 0, PART)
  subtractParts(z + PART, OTHER_PRODUCT, z + PART)
}

/** Whether two elements are the same modulo p. */
export function equals<F>(x: usize, y: usize): bool {
  for (let part: usize = 0; part < elementBytes<F>(); part += PART) {
    memory.copy(CANONICAL, x + part, PART)
    memory.copy(OTHER_CANONICAL, y + part, PART)
    reducePart(CANONICAL)
    reducePart(OTHER_CANONICAL)
    if (memory.compare(CANONICAL, OTHER_CANONICAL, PART) != 0) return false
  }
  return true
}

/** Whether all limbs are zero, as they are for the point at infinity. */
export function isZero<F>(x: usize): bool {
  let bits: u32 = 0
  for (let i: usize = 0; i < elementBytes<F>(); i += 4) bits |= load<u32>(x + i)
  return bits == 0
}
