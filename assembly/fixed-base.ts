/**
 * Multiples of points of G1 that are known beforehand: signed windows of five bits over the scalar, with a table of every
 * multiple that a window can ask for, so that a product is 51 additions.
 * @module
 */
import { addPoints, addSigned, doublePoint, G1_AFFINE, G1_PROJECTIVE, lift, toAffine } from './g1'

const WINDOW_BITS: usize = 5
/** Cover scalars below 2^254, and the carry of the highest window but one. */
const WINDOWS: usize = 51
const ENTRIES: usize = 16
const SCALAR_BYTES: usize = 32
export const TABLE_BYTES: usize = WINDOWS * ENTRIES * G1_AFFINE

const MULTIPLES: usize = memory.data(112 * 816, 16)
const WINDOW_BASE: usize = memory.data(112, 16)

/** Writes the table of an affine point, not infinity: for each window 1 … 16 times its power of two. */
export function prepareTable(table: usize, affine: usize): void {
  lift(WINDOW_BASE, affine)
  for (let at = MULTIPLES; at < MULTIPLES + G1_PROJECTIVE * ENTRIES * WINDOWS; at += G1_PROJECTIVE * ENTRIES) {
    memory.copy(at, WINDOW_BASE, G1_PROJECTIVE)
    for (let i: usize = 1; i < ENTRIES; i++) {
      addPoints(at + G1_PROJECTIVE * i, at + G1_PROJECTIVE * (i - 1), WINDOW_BASE)
    }
    doublePoint(WINDOW_BASE, at + G1_PROJECTIVE * (ENTRIES - 1))
  }
  toAffine(table, G1_AFFINE, MULTIPLES, <i32>(WINDOWS * ENTRIES))
}

/** sum = sum + Σ scalar i · base i for the bases of `count` tables; scalars below r, 32 bytes, least first. */
export function addMultiples(sum: usize, tables: usize, scalars: usize, count: usize): void {
  for (let i: usize = 0; i < count; i++) {
    const scalar = scalars + SCALAR_BYTES * i
    let window = tables + TABLE_BYTES * i
    let carry: i32 = 0
    for (let bit: usize = 0; bit < WINDOW_BITS * WINDOWS; bit += WINDOW_BITS) {
      const byte = min<usize>(bit >> 3, SCALAR_BYTES - 2)
      const digit = (((<i32>load<u16>(scalar + byte)) >> <i32>(bit - 8 * byte)) & 31) + carry
      carry = digit > <i32>ENTRIES ? 1 : 0
      const signed = digit - 32 * carry
      if (signed != 0) addSigned(sum, window + G1_AFFINE * <usize>(abs<i32>(signed) - 1), signed < 0)
      window += ENTRIES * G1_AFFINE
    }
  }
}
