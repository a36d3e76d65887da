/**
 * base64url without padding (RFC 4648 section 5), sixteen characters at a time, without tables indexed by data.
 * @module
 */
import { INPUT, OUTPUT, wipe } from './memory'

const A: i8 = 65

/** Twelve bytes to sixteen values of six bits. */
@inline
function split12(bytes: v128): v128 {
  // Each 32-bit lane gets three bytes as a big-endian number of 24 bits.
  const x = v128.shuffle<u8>(bytes, bytes, 2, 1, 0, 0, 5, 4, 3, 3, 8, 7, 6, 6, 11, 10, 9, 9)
  const first = v128.and(i32x4.shr_u(x, 18), i32x4.splat(0x0000003f))
  const second = v128.and(i32x4.shr_u(x, 4), i32x4.splat(0x00003f00))
  const third = v128.and(i32x4.shl(x, 10), i32x4.splat(0x003f0000))
  const fourth = v128.and(i32x4.shl(x, 24), i32x4.splat(0x3f000000))
  return v128.or(v128.or(first, second), v128.or(third, fourth))
}

/** Values of six bits to characters: the range a value lies in selects what is added to it. */
@inline
function toCharacters(values: v128): v128 {
  // 0 for a–z and, after the correction, 13 for A–Z; 1 to 10 for digits, 11 for '-', 12 for '_'.
  const above = i8x16.sub_sat_u(values, i8x16.splat(51))
  const upper = v128.and(i8x16.lt_s(values, i8x16.splat(26)), i8x16.splat(13))
  const offsets = i8x16(71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -17, 32, 65, 0, 0)
  return i8x16.add(values, v128.swizzle(offsets, v128.or(above, upper)))
}

/** Encodes twelve bytes (reads sixteen) to sixteen characters. */
@inline
export function encode12(to: usize, from: usize): void {
  v128.store(to, toCharacters(split12(v128.load(from))))
}

@inline
function inRange(characters: v128, first: i8, count: i8): v128 {
  return i8x16.lt_u(i8x16.sub(characters, i8x16.splat(first)), i8x16.splat(count))
}

/** Sixteen characters to values of six bits; 255 for every character outside the alphabet. */
@inline
export function toValues(characters: v128): v128 {
  const upper = inRange(characters, 65, 26)
  const lower = inRange(characters, 97, 26)
  const digit = inRange(characters, 48, 10)
  const minus = i8x16.eq(characters, i8x16.splat(45))
  const underscore = i8x16.eq(characters, i8x16.splat(95))
  let offset = v128.and(upper, i8x16.splat(-65))
  offset = v128.or(offset, v128.and(lower, i8x16.splat(-71)))
  offset = v128.or(offset, v128.and(digit, i8x16.splat(4)))
  offset = v128.or(offset, v128.and(minus, i8x16.splat(17)))
  offset = v128.or(offset, v128.and(underscore, i8x16.splat(-32)))
  const known = v128.or(v128.or(v128.or(upper, lower), v128.or(minus, underscore)), digit)
  return v128.or(i8x16.add(characters, offset), v128.not(known))
}

/** Sixteen values of six bits to twelve bytes; the last four bytes are zero. */
@inline
export function join12(values: v128): v128 {
  const first = i32x4.shl(v128.and(values, i32x4.splat(0x0000003f)), 18)
  const second = i32x4.shl(v128.and(values, i32x4.splat(0x00003f00)), 4)
  const third = i32x4.shr_u(v128.and(values, i32x4.splat(0x003f0000)), 10)
  const fourth = i32x4.shr_u(values, 24)
  const x = v128.or(v128.or(first, second), v128.or(third, fourth))
  return v128.swizzle(x, i8x16(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1))
}

/** Encodes the `length` bytes at INPUT, at most 3072, to OUTPUT; wipes INPUT. */
export function base64urlEncode(length: usize): void {
  for (let from: usize = 0, to = OUTPUT; from < length; from += 12, to += 16) encode12(to, INPUT + from)
  wipe(INPUT, length)
}

/**
 * Decodes the `length` characters at INPUT, at most INPUT_BYTES, to OUTPUT; wipes INPUT.
 * @returns the number of bytes, or -1 when a character is foreign, the length impossible or a spare bit set
 */
export function base64urlDecode(length: usize): i32 {
  // The letter A is zero, so what it fills in can't hide a spare bit.
  v128.store(INPUT + length, i8x16.splat(A))
  let foreign = i32x4.splat(0)
  for (let from: usize = 0, to = OUTPUT; from < length; from += 16, to += 12) {
    const values = toValues(v128.load(INPUT + from))
    foreign = v128.or(foreign, values)
    v128.store(to, join12(values))
  }
  wipe(INPUT, length + 16)
  const bytes = (length * 3) >>> 2
  const rest = length & 3
  if (i8x16.bitmask(foreign) != 0 || rest == 1) return -1
  if (rest != 0 && load<u8>(OUTPUT + bytes) != 0) return -1
  return <i32>bytes
}
