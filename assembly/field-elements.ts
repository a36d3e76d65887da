/**
 * Elements of the BN254 scalar field between the host's bytes (32, big-endian) and limbs: nine of 29 bits, least first,
 * `stride` bytes apart. A stride of 4 is one element, a stride of 16 one lane of four.
 * @module
 */
import { MODULUS_LIMBS } from './field-kernels'

/** How many elements INPUT and OUTPUT hold. */
export const FIELD_ELEMENTS: u32 = 128
export const FIELD_INPUT: usize = memory.data(4096, 64)
export const FIELD_OUTPUT: usize = memory.data(4096, 64)
/** Bytes of an element as the host knows it. */
export const FIELD_BYTES: usize = 32

export const SINGLE: usize = 4
export const LANE: usize = 16

const LIMB_MASK: u64 = 0x1fffffff

/** r in words of 64 bits, least first. */
const R0: u64 = 0x43e1f593f0000001
const R1: u64 = 0x2833e84879b97091
const R2: u64 = 0xb85045b68181585d
const R3: u64 = 0x30644e72e131a029

/** Index of the first of `count` elements from `source` on that is not below r, or −1. */
export function firstNotCanonical(source: usize, count: i32): i32 {
  for (let i = 0; i < count; i++, source += FIELD_BYTES) {
    const w3 = bswap<u64>(load<u64>(source))
    if (w3 < R3) continue
    const w2 = bswap<u64>(load<u64>(source, 8))
    const w1 = bswap<u64>(load<u64>(source, 16))
    const w0 = bswap<u64>(load<u64>(source, 24))
    const below = w3 == R3 && (w2 < R2 || (w2 == R2 && (w1 < R1 || (w1 == R1 && w0 < R0))))
    if (!below) return i
  }
  return -1
}

@inline
function limb(z: usize, stride: usize, i: usize, bits: u64): void {
  store<u32>(z + i * stride, <u32>(bits & LIMB_MASK))
}

/** Bytes at `source` to limbs. */
export function readElement(z: usize, source: usize, stride: usize): void {
  const w3 = bswap<u64>(load<u64>(source))
  const w2 = bswap<u64>(load<u64>(source, 8))
  const w1 = bswap<u64>(load<u64>(source, 16))
  const w0 = bswap<u64>(load<u64>(source, 24))
  limb(z, stride, 0, w0)
  limb(z, stride, 1, w0 >> 29)
  limb(z, stride, 2, (w0 >> 58) | (w1 << 6))
  limb(z, stride, 3, w1 >> 23)
  limb(z, stride, 4, (w1 >> 52) | (w2 << 12))
  limb(z, stride, 5, w2 >> 17)
  limb(z, stride, 6, (w2 >> 46) | (w3 << 18))
  limb(z, stride, 7, w3 >> 11)
  limb(z, stride, 8, w3 >> 40)
}

/**
 * Reduces a value below 2r, as the kernels leave it, to the one below r. Limbs go through signed differences, so that
 * a borrow travels as a carry does.
 */
export function reduceElement(x: usize, stride: usize): void {
  let borrow: i32 = 0
  for (let i: usize = 0; i < 9; i++) {
    borrow = (<i32>load<u32>(x + i * stride) - <i32>load<u32>(MODULUS_LIMBS + 16 * i) + borrow) >> 29
  }
  if (borrow < 0) return
  for (let i: usize = 0; i < 9; i++) {
    borrow += <i32>load<u32>(x + i * stride) - <i32>load<u32>(MODULUS_LIMBS + 16 * i)
    store<u32>(x + i * stride, <u32>borrow & <u32>LIMB_MASK)
    borrow >>= 29
  }
}

@inline
function at(x: usize, stride: usize, i: usize): u64 {
  return <u64>load<u32>(x + i * stride)
}

/** Reduces the limbs at `x`, a value below 2r, and writes its bytes to `target`. */
export function writeElement(target: usize, x: usize, stride: usize): void {
  reduceElement(x, stride)
  const x2 = at(x, stride, 2)
  const x4 = at(x, stride, 4)
  const x6 = at(x, stride, 6)
  const w0 = at(x, stride, 0) | (at(x, stride, 1) << 29) | (x2 << 58)
  const w1 = (x2 >> 6) | (at(x, stride, 3) << 23) | (x4 << 52)
  const w2 = (x4 >> 12) | (at(x, stride, 5) << 17) | (x6 << 46)
  const w3 = (x6 >> 18) | (at(x, stride, 7) << 11) | (at(x, stride, 8) << 40)
  store<u64>(target, bswap<u64>(w3))
  store<u64>(target, bswap<u64>(w2), 8)
  store<u64>(target, bswap<u64>(w1), 16)
  store<u64>(target, bswap<u64>(w0), 24)
}

/** Copies the limbs of an element to others `stride` bytes apart. */
export function moveElement(z: usize, stride: usize, x: usize): void {
  for (let i: usize = 0; i < 9; i++) store<u32>(z + i * stride, load<u32>(x + 4 * i))
}

/** Adds to each of four elements the one in its lane of the constants, with carries. */
export function addConstants(x: usize, k: usize): void {
  let carry = i32x4.splat(0)
  for (let i: usize = 0; i < 144; i += 16) {
    carry = i32x4.add(carry, i32x4.add(v128.load(x + i), v128.load(k + i)))
    v128.store(x + i, v128.and(carry, i32x4.splat(<i32>LIMB_MASK)))
    carry = i32x4.shr_u(carry, 29)
  }
}
