/**
 * What a Groth16 proof is put together from, for points of G1 (coordinates in the base field) and of G2 (in its
 * extension). The host lays out the memory from HEAP on and calls these in turn. What calls leave below HEAP depends on
 * their scalars; after a proof the host puts back what stood there in the beginning.
 * @module
 */
import { Base, Extension, reduce } from './base-field'
import { multiply } from './base-kernels'
import { fillTable, multiScalar, readPoints } from './multi-scalar'
import { addProjective, multiplyPoint, POINT_BYTES, toAffine } from './projective'
import { writeScalar } from './quotient'

/** Where memory of the host's begins. */
export const HEAP: usize = (__heap_base + 63) & ~63
/** Bytes of an affine point in a table. */
export const G1_BYTES: usize = 72
export const G2_BYTES: usize = 144
export { POINT_BYTES }

const UNIT: usize = memory.data<u32>([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16)
const FIRST: usize = memory.data(224, 16)
const SECOND: usize = memory.data(224, 16)

/** Reads points of a proving key, none of them infinity, as the first row of a table, and fills its other rows. */
export function prepareG1(table: usize, source: usize, count: i32, entries: i32, doublings: i32): void {
  readPoints<Base>(table, source, count)
  fillTable<Base>(table, count, entries, doublings)
}

export function prepareG2(table: usize, source: usize, count: i32, entries: i32, doublings: i32): void {
  readPoints<Extension>(table, source, count)
  fillTable<Extension>(table, count, entries, doublings)
}

/** multiScalar in G1. */
export function sumG1(
  result: usize,
  count: i32,
  table: usize,
  bits: i32,
  groups: i32,
  scalars: usize,
  numbers: usize,
  room: usize,
): void {
  multiScalar<Base>(result, count, table, bits, groups, scalars, numbers, room)
}

/** multiScalar in G2. */
export function sumG2(
  result: usize,
  count: i32,
  table: usize,
  bits: i32,
  groups: i32,
  scalars: usize,
  numbers: usize,
  room: usize,
): void {
  multiScalar<Extension>(result, count, table, bits, groups, scalars, numbers, room)
}

/** c = c + s · a + r · b in G1, for projective points and scalars of 32 bytes. */
export function blind(c: usize, a: usize, s: usize, b: usize, r: usize): void {
  multiplyPoint<Base>(FIRST, a, s)
  multiplyPoint<Base>(SECOND, b, r)
  addProjective<Base>(FIRST, FIRST, SECOND)
  addProjective<Base>(c, c, FIRST)
}

function writeCoordinates(target: usize, point: usize, parts: i32): void {
  for (; parts > 0; parts--, target += 32, point += 36) {
    multiply(point, point, UNIT)
    reduce<Base>(point)
    writeScalar(target, point)
  }
}

/** The affine coordinates of a projective point, 32 bytes each, least first; zeros for infinity. Overwrites the point. */
export function writeG1(target: usize, point: usize): void {
  toAffine<Base>(point, point)
  writeCoordinates(target, point, 2)
}

/** As writeG1, each coordinate followed by its factor of u. */
export function writeG2(target: usize, point: usize): void {
  toAffine<Extension>(point, point)
  writeCoordinates(target, point, 4)
}
