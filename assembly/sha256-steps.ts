/**
 * The functions of FIPS 180-4 section 4.1.2 that the rounds of SHA-256 are made of: on one word, and on four messages
 * at once in the lanes of a vector.
 * @module
 */

@inline
export function sum0(x: u32): u32 {
  return rotr<u32>(x, 2) ^ rotr<u32>(x, 13) ^ rotr<u32>(x, 22)
}

@inline
export function sum1(x: u32): u32 {
  return rotr<u32>(x, 6) ^ rotr<u32>(x, 11) ^ rotr<u32>(x, 25)
}

/** Ch: where a bit of x is set, y, else z. */
@inline
export function choose(x: u32, y: u32, z: u32): u32 {
  return z ^ (x & (y ^ z))
}

/** Maj, written so that the compiler can reuse x ^ y as y ^ z of the following round. */
@inline
export function majority(x: u32, y: u32, z: u32): u32 {
  return y ^ ((x ^ y) & (y ^ z))
}

/** Reverses the bytes of each 32-bit lane: big-endian words to registers and back. */
@inline
export function bigEndian(x: v128): v128 {
  return v128.shuffle<u8>(x, x, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)
}

/** Rotation to the right in each 32-bit lane; WebAssembly has none for vectors. */
@inline
function rotr4(x: v128, count: i32): v128 {
  return v128.xor(i32x4.shr_u(x, count), i32x4.shl(x, 32 - count))
}

@inline
export function sum0x4(x: v128): v128 {
  return v128.xor(v128.xor(rotr4(x, 2), rotr4(x, 13)), rotr4(x, 22))
}

@inline
export function sum1x4(x: v128): v128 {
  return v128.xor(v128.xor(rotr4(x, 6), rotr4(x, 11)), rotr4(x, 25))
}

@inline
export function choose4(x: v128, y: v128, z: v128): v128 {
  return v128.xor(z, v128.and(x, v128.xor(y, z)))
}

@inline
function sigma0x4(x: v128): v128 {
  return v128.xor(v128.xor(rotr4(x, 7), rotr4(x, 18)), i32x4.shr_u(x, 3))
}

@inline
function sigma1x4(x: v128): v128 {
  return v128.xor(v128.xor(rotr4(x, 17), rotr4(x, 19)), i32x4.shr_u(x, 10))
}

/** W[t] of four messages from W[t-16], W[t-15], W[t-7] and W[t-2], section 6.2.2 step 1. */
@inline
export function extend4(w16: v128, w15: v128, w7: v128, w2: v128): v128 {
  return i32x4.add(i32x4.add(w16, sigma0x4(w15)), i32x4.add(w7, sigma1x4(w2)))
}

/**
 * sigma1 of two words: each stands twice in a 64-bit lane, so that one 64-bit shift leaves the rotated word in the
 * lower half.
 */
@inline
function sigma1x2(doubled: v128): v128 {
  return v128.xor(v128.xor(i64x2.shr_u(doubled, 17), i64x2.shr_u(doubled, 19)), i32x4.shr_u(doubled, 10))
}

/** W[t..t+3] of one message from the sixteen words before them, four a vector. The upper two need the lower two. */
@inline
export function extend(w16: v128, w12: v128, w8: v128, w4: v128): v128 {
  const zero = i32x4.splat(0)
  let w = i32x4.add(w16, v128.shuffle<u32>(w8, w4, 1, 2, 3, 4))
  w = i32x4.add(w, sigma0x4(v128.shuffle<u32>(w16, w12, 1, 2, 3, 4)))
  const lower = sigma1x2(v128.shuffle<u32>(w4, w4, 2, 2, 3, 3))
  w = i32x4.add(w, v128.shuffle<u32>(lower, zero, 0, 2, 4, 4))
  const upper = sigma1x2(v128.shuffle<u32>(w, w, 0, 0, 1, 1))
  return i32x4.add(w, v128.shuffle<u32>(zero, upper, 0, 0, 4, 6))
}
