/**
 * The part of a Groth16 proof that lies in the scalar field: from a witness to A · B − C on the odd roots of unity of
 * twice the domain, where the quotient's bases are made for (as snarkjs has them). C is A · B on the domain itself.
 * @module
 */
import { getLane, putLane } from './base-vectors'
import { ELEMENT_BYTES, multiply, multiplyConstant4, SQUARED_RADIX, TWICE_MODULUS, VECTOR_BYTES } from './field-kernels'
import { multiplyAll, takeFrom, toCoefficients, toValues, writePowers, writeShifts } from './transform'
import { reduceElement, SINGLE } from './field-elements'

const SCALAR_BYTES: usize = 32
const LIMB_MASK: u32 = 0x1fffffff

const SUM: usize = memory.data(48, 16)
const TERM: usize = memory.data(48, 16)
const ROOT: usize = memory.data(48, 16)
const FACTOR: usize = memory.data(48, 16)
const FIRST: usize = memory.data(48, 16)
/** 1, not in Montgomery form: a product with it leaves that form. */
const UNIT: usize = memory.data<u32>([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16)

/** The limbs of a scalar of 32 bytes, least first. */
export function readScalar(z: usize, source: usize): void {
  for (let i: usize = 0; i < 9; i++) {
    const bit = 29 * i
    const byte = min<usize>(bit >> 3, 24)
    store<u32>(z + 4 * i, <u32>(load<u64>(source + byte) >> <u64>(bit - 8 * byte)) & LIMB_MASK)
  }
}

/** The bytes of a reduced element, least first. */
export function writeScalar(target: usize, x: usize): void {
  const x2 = <u64>load<u32>(x, 8)
  const x4 = <u64>load<u32>(x, 16)
  const x6 = <u64>load<u32>(x, 24)
  store<u64>(target, <u64>load<u32>(x) | (<u64>load<u32>(x, 4) << 29) | (x2 << 58))
  store<u64>(target, (x2 >> 6) | (<u64>load<u32>(x, 12) << 23) | (x4 << 52), 8)
  store<u64>(target, (x4 >> 12) | (<u64>load<u32>(x, 20) << 17) | (x6 << 46), 16)
  store<u64>(target, (x6 >> 18) | (<u64>load<u32>(x, 28) << 11) | (<u64>load<u32>(x, 32) << 40), 24)
}

/** Limbs of `count` scalars. */
export function readScalars(z: usize, source: usize, count: i32): void {
  for (; count > 0; count--, z += ELEMENT_BYTES, source += SCALAR_BYTES) readScalar(z, source)
}

/** As readScalars, times the scalar at `factor`, over 2^261. */
export function readProducts(z: usize, source: usize, count: i32, factor: usize): void {
  readScalar(FACTOR, factor)
  for (; count > 0; count--, z += ELEMENT_BYTES, source += SCALAR_BYTES) {
    readScalar(z, source)
    multiply(z, z, FACTOR)
  }
}

function readMontgomery(z: usize, source: usize): void {
  readScalar(z, source)
  multiply(z, z, SQUARED_RADIX)
}

/** SUM = SUM + TERM, less 2r where that leaves something. */
function addTerm(): void {
  let carry: u32 = 0
  for (let i: usize = 0; i < 36; i += 4) {
    carry += load<u32>(SUM + i) + load<u32>(TERM + i)
    store<u32>(SUM + i, carry & LIMB_MASK)
    carry >>= 29
  }
  let borrow: i32 = 0
  for (let i: usize = 0; i < 36; i += 4) {
    borrow = (<i32>load<u32>(SUM + i) - <i32>load<u32>(TWICE_MODULUS + 4 * i) + borrow) >> 29
  }
  if (borrow < 0) return
  borrow = 0
  for (let i: usize = 0; i < 36; i += 4) {
    borrow += <i32>load<u32>(SUM + i) - <i32>load<u32>(TWICE_MODULUS + 4 * i)
    store<u32>(SUM + i, <u32>borrow & LIMB_MASK)
    borrow >>= 29
  }
}

/**
 * The values of one matrix on the domain: row i is Σ coefficient · witness, in Montgomery form and natural order.
 * @param bounds where the terms of each row begin, and where the last one ends
 * @param coefficients in Montgomery form, times 2^261 once more
 * @param signals which element of the witness each one multiplies
 */
export function evaluateRows(
  target: usize,
  rows: i32,
  bounds: usize,
  coefficients: usize,
  signals: usize,
  witness: usize,
): void {
  for (let row: usize = 0; row < <usize>rows; row++) {
    memory.fill(SUM, 0, ELEMENT_BYTES)
    for (let i = load<u32>(bounds + 4 * row), end = load<u32>(bounds + 4 * row, 4); i < end; i++) {
      const element = witness + ELEMENT_BYTES * <usize>load<u32>(signals + 4 * <usize>i)
      multiply(TERM, coefficients + ELEMENT_BYTES * <usize>i, element)
      addTerm()
    }
    putLane<u32>(target + VECTOR_BYTES * (row >> 2), row & 3, SUM)
  }
}

/**
 * Fills the roots that quotient takes: 36 · size bytes for the powers of the root of the domain and of its inverse, then
 * as many for those of the root of twice the domain, over size.
 * @param numbers four scalars: the root of the domain, its inverse, the root of twice the domain, 1 / size
 */
export function prepareRoots(roots: usize, numbers: usize, size: usize): void {
  multiply(FIRST, UNIT, SQUARED_RADIX)
  readMontgomery(ROOT, numbers)
  writePowers(roots, FIRST, ROOT, size >> 1)
  readMontgomery(ROOT, numbers + SCALAR_BYTES)
  writePowers(roots + 18 * size, FIRST, ROOT, size >> 1)
  readMontgomery(ROOT, numbers + 2 * SCALAR_BYTES)
  readMontgomery(FIRST, numbers + 3 * SCALAR_BYTES)
  writeShifts(roots + 36 * size, FIRST, ROOT, size)
}

function moveToOddRoots(values: usize, room: usize, size: usize, roots: usize): void {
  toCoefficients(room, values, size, roots + 18 * size)
  multiplyAll(room, room, roots + 36 * size, size >> 2)
  toValues(values, room, size, roots)
}

/**
 * scalars = A · B − C on the odd roots, plain and canonical, 32 bytes each, least first.
 * @param a values of A on the domain, overwritten; those of B and room for two more such polynomials follow, 36 · size
 *   bytes each
 */
export function quotient(scalars: usize, a: usize, size: usize, roots: usize): void {
  const b = a + 36 * size
  const c = b + 36 * size
  const room = c + 36 * size
  multiplyAll(c, a, b, size >> 2)
  moveToOddRoots(a, room, size, roots)
  moveToOddRoots(b, room, size, roots)
  moveToOddRoots(c, room, size, roots)
  for (let i: usize = 0; i < size >> 2; i++) {
    const at = VECTOR_BYTES * i
    multiplyAll(a + at, a + at, b + at, 1)
    takeFrom(a + at, a + at, c + at)
    multiplyConstant4(a + at, a + at, UNIT)
    for (let lane: usize = 0; lane < 4; lane++) {
      getLane<u32>(TERM, a + at, lane)
      reduceElement(TERM, SINGLE)
      writeScalar(scalars + SCALAR_BYTES * (4 * i + lane), TERM)
    }
  }
}
