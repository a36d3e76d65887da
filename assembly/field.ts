/**
 * Products in the BN254 scalar field: x · y · R, as Montgomery multiplication leaves it out, is made good by a second
 * product with R².
 * @module
 */
import { FIELD_BYTES, FIELD_INPUT, FIELD_OUTPUT, LANE, readElement, SINGLE, writeElement } from './field-elements'
import { ELEMENT_BYTES, multiply, multiply4, multiplyConstant4, SQUARED_RADIX, VECTOR_BYTES } from './field-kernels'

/** In INPUT the second factors begin behind room for so many first ones. */
export const FIELD_PRODUCTS: u32 = 64

/** Limbs of a call's factors: 64 of 36 bytes each, one by one or in fours. */
export const FIRST: usize = memory.data(2304, 64)
export const SECOND: usize = memory.data(2304, 64)

/** Montgomery products of `count` elements: z[i] = x[i] · y[i] / R, below 2r. */
export function multiplyMany(z: usize, x: usize, y: usize, count: i32): void {
  for (; count > 0; --count, z += ELEMENT_BYTES, x += ELEMENT_BYTES, y += ELEMENT_BYTES) multiply(z, x, y)
}

/** As multiplyMany, for `groups` groups of four. */
export function multiplyMany4(z: usize, x: usize, y: usize, groups: i32): void {
  for (; groups > 0; --groups, z += VECTOR_BYTES, x += VECTOR_BYTES, y += VECTOR_BYTES) multiply4(z, x, y)
}

function readFactors(to: usize, from: usize, count: i32): void {
  const whole = count & ~3
  for (let i = 0; i < whole; i++) {
    readElement(to + VECTOR_BYTES * (i >> 2) + 4 * (i & 3), from + FIELD_BYTES * i, LANE)
  }
  for (let i = whole; i < count; i++) readElement(to + ELEMENT_BYTES * i, from + FIELD_BYTES * i, SINGLE)
}

/** OUTPUT[i] = INPUT[i] · INPUT[FIELD_PRODUCTS + i] for `count` ≤ FIELD_PRODUCTS canonical elements. */
export function fieldMultiply(count: i32): void {
  const whole = count & ~3
  const rest = ELEMENT_BYTES * whole
  readFactors(FIRST, FIELD_INPUT, count)
  readFactors(SECOND, FIELD_INPUT + FIELD_BYTES * FIELD_PRODUCTS, count)
  multiplyMany4(FIRST, FIRST, SECOND, count >> 2)
  multiplyMany(FIRST + rest, FIRST + rest, SECOND + rest, count & 3)
  for (let i = 0; i < whole; i += 4) {
    const group = FIRST + ELEMENT_BYTES * i
    multiplyConstant4(group, group, SQUARED_RADIX)
    for (let lane = 0; lane < 4; lane++) {
      writeElement(FIELD_OUTPUT + FIELD_BYTES * (i + lane), group + 4 * lane, LANE)
    }
  }
  for (let i = whole; i < count; i++) {
    const product = FIRST + ELEMENT_BYTES * i
    multiply(product, product, SQUARED_RADIX)
    writeElement(FIELD_OUTPUT + FIELD_BYTES * i, product, SINGLE)
  }
}
