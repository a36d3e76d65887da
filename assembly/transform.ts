/**
 * Number-theoretic transforms over the BN254 scalar field, four elements at once, of sizes 2^k from 16 on.
 *
 * Elements stand in fours: in natural order element e is lane e mod 4 of vector e div 4. The levels with strides below a
 * vector would mix lanes, so after two levels (or before the last two) the quarters of the polynomial move into lanes
 * of their own: element e is then lane e div (size / 4) of vector e mod (size / 4).
 *
 * To coefficients goes by decimation in frequency and leaves them in the order of reversed bits, to values by decimation
 * in time from that order, so nothing is ever put into order.
 * @module
 */
import { gather, putLane, subtractLifted } from './base-vectors'
import { LIFT, multiply, multiply4, multiplyConstant4, TWICE_MODULUS, VECTOR_BYTES, ELEMENT_BYTES } from './field-kernels'

const LIMB_MASK: i32 = 0x1fffffff
const TOP: usize = 128
/** The highest limb of 2r, and what lower limbs can add to it or take from it. */
const TWICE_TOP: i32 = 0x60c89c
const SLACK: i32 = 4

const SCRATCH: usize = memory.data(144, 16)
const FACTORS: usize = memory.data(144, 16)
const POWER: usize = memory.data(48, 16)

/** z = x + y, less 2r where that leaves something. */
function addTo(z: usize, x: usize, y: usize): void {
  const top = i32x4.add(v128.load(x, TOP), v128.load(y, TOP))
  const isLarge = i32x4.ge_s(top, i32x4.splat(TWICE_TOP + SLACK))
  let carry = i32x4.splat(0)
  for (let i: usize = 0; i < VECTOR_BYTES; i += 16) {
    const sum = i32x4.add(v128.load(x + i), v128.load(y + i))
    carry = i32x4.add(carry, i32x4.sub(sum, v128.and(isLarge, v128.load(TWICE_MODULUS + i))))
    v128.store(z + i, v128.and(carry, i32x4.splat(LIMB_MASK)))
    carry = i32x4.shr_s(carry, 29)
  }
}

/** z = x − y, with 2r or 4r where it would be negative. */
export function takeFrom(z: usize, x: usize, y: usize): void {
  const top = i32x4.sub(v128.load(x, TOP), v128.load(y, TOP))
  const isSmall = i32x4.lt_s(top, i32x4.splat(SLACK))
  const isSmaller = i32x4.lt_s(top, i32x4.splat(SLACK - TWICE_TOP))
  subtractLifted(z, x, y, i32x4.neg(i32x4.add(isSmall, isSmaller)), TWICE_MODULUS)
}

/** z = x − y + 4r, as a factor only. */
function differ(z: usize, x: usize, y: usize): void {
  for (let i: usize = 0; i < VECTOR_BYTES; i += 16) {
    v128.store(z + i, i32x4.sub(i32x4.add(v128.load(x + i), v128.load(LIFT + i)), v128.load(y + i)))
  }
}

/** FACTORS = every `step`th of the roots, four from `roots` on. */
@inline
function takeFactors(roots: usize, step: usize): void {
  gather<u32>(FACTORS, roots, roots + step, roots + 2 * step, roots + 3 * step)
}

/**
 * A level with a stride of whole vectors in natural order. It goes apart (a, b → a + b, (a − b) · root) or together
 * (a, b → a + b · root, a − b · root).
 */
function passVectors(x: usize, size: usize, stride: usize, roots: usize, goesApart: bool): void {
  const step = ELEMENT_BYTES * (size / (2 * stride))
  const half = 36 * stride
  for (let block = x; block < x + 36 * size; block += 2 * half) {
    let root = roots
    for (let a = block; a < block + half; a += VECTOR_BYTES, root += 4 * step) {
      const b = a + half
      takeFactors(root, step)
      if (goesApart) {
        differ(SCRATCH, a, b)
        addTo(a, a, b)
        multiply4(b, SCRATCH, FACTORS)
      } else {
        multiply4(SCRATCH, b, FACTORS)
        takeFrom(b, a, SCRATCH)
        addTo(a, a, SCRATCH)
      }
    }
  }
}

/** Levels within the quarters, from the widest stride to 1. */
function splitQuarters(x: usize, size: usize, roots: usize): void {
  for (let stride = size >> 3; stride > 0; stride >>= 1) {
    const step = ELEMENT_BYTES * (size / (2 * stride))
    const half = VECTOR_BYTES * stride
    for (let block = x; block < x + 36 * size; block += 2 * half) {
      let root = roots
      for (let a = block; a < block + half; a += VECTOR_BYTES, root += step) {
        const b = a + half
        differ(SCRATCH, a, b)
        addTo(a, a, b)
        multiplyConstant4(b, SCRATCH, root)
      }
    }
  }
}

/** Levels within the quarters, from stride 1 to the widest. */
function joinQuarters(x: usize, size: usize, roots: usize): void {
  for (let stride: usize = 1; stride <= size >> 3; stride <<= 1) {
    const step = ELEMENT_BYTES * (size / (2 * stride))
    const half = VECTOR_BYTES * stride
    for (let block = x; block < x + 36 * size; block += 2 * half) {
      let root = roots
      for (let a = block; a < block + half; a += VECTOR_BYTES, root += step) {
        const b = a + half
        multiplyConstant4(SCRATCH, b, root)
        takeFrom(b, a, SCRATCH)
        addTo(a, a, SCRATCH)
      }
    }
  }
}

/** Exchanges lanes and vectors: lane k of the vectors `from` + l · `fromStep` becomes lane l of `to` + k · `toStep`. */
function transposeFour(to: usize, toStep: usize, from: usize, fromStep: usize): void {
  for (let i: usize = 0; i < VECTOR_BYTES; i += 16) {
    const a = v128.load(from + i)
    const b = v128.load(from + fromStep + i)
    const c = v128.load(from + 2 * fromStep + i)
    const d = v128.load(from + 3 * fromStep + i)
    const ab = v128.shuffle<u32>(a, b, 0, 4, 1, 5)
    const cd = v128.shuffle<u32>(c, d, 0, 4, 1, 5)
    const abHigh = v128.shuffle<u32>(a, b, 2, 6, 3, 7)
    const cdHigh = v128.shuffle<u32>(c, d, 2, 6, 3, 7)
    v128.store(to + i, v128.shuffle<u64>(ab, cd, 0, 2))
    v128.store(to + toStep + i, v128.shuffle<u64>(ab, cd, 1, 3))
    v128.store(to + 2 * toStep + i, v128.shuffle<u64>(abHigh, cdHigh, 0, 2))
    v128.store(to + 3 * toStep + i, v128.shuffle<u64>(abHigh, cdHigh, 1, 3))
  }
}

/** Values in natural order at `x` to `size` · coefficients at `z`, in quarters and the order of reversed bits. */
export function toCoefficients(z: usize, x: usize, size: usize, inverseRoots: usize): void {
  passVectors(x, size, size >> 1, inverseRoots, true)
  passVectors(x, size, size >> 2, inverseRoots, true)
  const quarter = 9 * size
  for (let i: usize = 0; i < size >> 4; i++) {
    transposeFour(z + 4 * VECTOR_BYTES * i, VECTOR_BYTES, x + VECTOR_BYTES * i, quarter)
  }
  splitQuarters(z, size, inverseRoots)
}

/** Coefficients as toCoefficients leaves them, at `x`, to values in natural order at `z`. */
export function toValues(z: usize, x: usize, size: usize, roots: usize): void {
  joinQuarters(x, size, roots)
  const quarter = 9 * size
  for (let i: usize = 0; i < size >> 4; i++) {
    transposeFour(z + VECTOR_BYTES * i, quarter, x + 4 * VECTOR_BYTES * i, VECTOR_BYTES)
  }
  passVectors(z, size, size >> 2, roots, false)
  passVectors(z, size, size >> 1, roots, false)
}

/** Powers of `base` from `first` on, `count` of them, one after the other; all in Montgomery form. */
export function writePowers(target: usize, first: usize, base: usize, count: usize): void {
  memory.copy(POWER, first, ELEMENT_BYTES)
  for (; count > 0; count--, target += ELEMENT_BYTES) {
    memory.copy(target, POWER, ELEMENT_BYTES)
    multiply(POWER, POWER, base)
  }
}

/** As writePowers, where toCoefficients has the coefficients with these numbers. */
export function writeShifts(target: usize, first: usize, base: usize, size: usize): void {
  memory.copy(POWER, first, ELEMENT_BYTES)
  const bits = 31 - clz<u32>(<u32>size)
  for (let i: u32 = 0; i < <u32>size; i++) {
    let place: u32 = 0
    for (let bit: u32 = 0; bit < <u32>bits; bit++) place |= ((i >> bit) & 1) << (<u32>bits - 1 - bit)
    const quarter = <u32>size >> 2
    putLane<u32>(target + VECTOR_BYTES * <usize>(place % quarter), <usize>(place / quarter), POWER)
    multiply(POWER, POWER, base)
  }
}

/** z[i] = x[i] · y[i] for `vectors` vectors. */
export function multiplyAll(z: usize, x: usize, y: usize, vectors: usize): void {
  for (; vectors > 0; vectors--, z += VECTOR_BYTES, x += VECTOR_BYTES, y += VECTOR_BYTES) multiply4(z, x, y)
}
