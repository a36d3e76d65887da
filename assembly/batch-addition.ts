/**
 * Sums of many pairs of affine points with one inversion for all of them (Montgomery's trick), four pairs at once.
 *
 * A point is x, then y, elements of the field or its extension; all limbs zero are the point at infinity. A pair is two
 * addresses of points, whose lowest bit asks for the negative: y is at most 2p there. Sums of equal points, of opposite
 * ones and with the point at infinity are right: lanes that need it are settled one by one.
 * @module
 */
import { add, elementBytes, equals, invertPart, isZero, subtract } from './base-field'
import { multiply, multiply4, RADIX } from './base-kernels'
import {
  addLazily,
  gather,
  getLane,
  inverseByNorm4,
  mayCoincide,
  norm4,
  product4,
  putLane,
  scatter,
  sign4,
  squared4,
  subtract4,
  subtractBoth,
  subtractOne,
  vectorBytes,
} from './base-vectors'

/** Most pairs of one batch. */
export const BATCH_PAIRS: i32 = 1024
const GROUPS: usize = <usize>BATCH_PAIRS / 4

/** Addresses of the two points of each pair, and of their sum. */
export const LEFT: usize = memory.data(4 * 1024, 16)
export const RIGHT: usize = memory.data(4 * 1024, 16)
export const TARGET: usize = memory.data(4 * 1024, 16)

/** For each group of four pairs: their x, the differences of their x, and the product of the norms before. */
const LEFT_X: usize = memory.data(288 * 256, 16)
const RIGHT_X: usize = memory.data(288 * 256, 16)
const DIFFERENCES: usize = memory.data(288 * 256, 16)
const NORMS: usize = memory.data(144 * 256, 16)
const PREFIXES: usize = memory.data(144 * 256, 16)

/** Groups with lanes that need more than the formula: the group's number and the cases of its four lanes. */
const SETTLED: usize = memory.data(8 * 256, 16)

/** How the sum of a pair comes about. */
const BY_FORMULA: u8 = 0
const BY_DOUBLING: u8 = 1
const IS_LEFT: u8 = 2
const IS_RIGHT: u8 = 3
const IS_INFINITY: u8 = 4

const ACCUMULATED: usize = memory.data(144, 16)
const INVERSE_NORM: usize = memory.data(144, 16)
const INVERSE: usize = memory.data(288, 16)
const LEFT_Y: usize = memory.data(288, 16)
const RIGHT_Y: usize = memory.data(288, 16)
const SLOPE: usize = memory.data(288, 16)
const SUM_X: usize = memory.data(288, 16)
const SUM_Y: usize = memory.data(288, 16)
const SCRATCH: usize = memory.data(288, 16)
const ELEMENT: usize = memory.data(80, 16)
const OTHER_ELEMENT: usize = memory.data(80, 16)
const LANES: usize = memory.data(4 * 48, 16)
const RUNNING: usize = memory.data(5 * 48, 16)

@inline
function pointOf(list: usize, pair: usize): usize {
  return <usize>(load<u32>(list + 4 * pair) & ~1)
}

@inline
function isNegative(list: usize, pair: usize): bool {
  return (load<u32>(list + 4 * pair) & 1) != 0
}

@inline
function signs(list: usize, pair: usize): v128 {
  return i32x4.neg(v128.and(v128.load(list + 4 * pair), i32x4.splat(1)))
}

@inline
function isInfinity<F>(point: usize): bool {
  return isZero<F>(point) && isZero<F>(point + elementBytes<F>())
}

/** z = y of a point, with its sign. */
function signedY<F>(z: usize, list: usize, pair: usize): void {
  const bytes = elementBytes<F>()
  const y = pointOf(list, pair) + bytes
  if (isNegative(list, pair)) {
    memory.fill(z, 0, bytes)
    subtract<F>(z, z, y)
  } else memory.copy(z, y, bytes)
}

/** The case of a pair; for a doubling ELEMENT gets 2y. */
function caseOf<F>(pair: usize): u8 {
  const left = pointOf(LEFT, pair)
  const right = pointOf(RIGHT, pair)
  if (isInfinity<F>(left)) return IS_RIGHT
  if (isInfinity<F>(right)) return IS_LEFT
  if (!equals<F>(left, right)) return BY_FORMULA
  signedY<F>(ELEMENT, LEFT, pair)
  signedY<F>(OTHER_ELEMENT, RIGHT, pair)
  if (!equals<F>(ELEMENT, OTHER_ELEMENT)) return IS_INFINITY
  add<F>(ELEMENT, ELEMENT, ELEMENT)
  return BY_DOUBLING
}

/** Looks at the lanes of a group one by one. @returns whether one of them needs more than the formula */
function settle<F>(group: usize, entry: usize): bool {
  const differences = DIFFERENCES + vectorBytes<F>() * group
  let isNeeded = false
  store<u32>(entry, <u32>group)
  for (let lane: usize = 0; lane < 4; lane++) {
    const kind = caseOf<F>(4 * group + lane)
    store<u8>(entry + lane, kind, 4)
    if (kind == BY_FORMULA) continue
    isNeeded = true
    if (kind != BY_DOUBLING) {
      // Anything that has an inverse.
      memory.fill(ELEMENT, 0, elementBytes<F>())
      memory.copy(ELEMENT, RADIX, 36)
    }
    putLane<F>(differences, lane, ELEMENT)
  }
  return isNeeded
}

/** The slope of a doubling is 3x² over what stands for the difference. */
function putTripledSquares<F>(slope: usize, group: usize, entry: usize): void {
  squared4<F>(SCRATCH, LEFT_X + vectorBytes<F>() * group)
  for (let lane: usize = 0; lane < 4; lane++) {
    if (load<u8>(entry + lane, 4) != BY_DOUBLING) continue
    getLane<F>(ELEMENT, SCRATCH, lane)
    add<F>(OTHER_ELEMENT, ELEMENT, ELEMENT)
    add<F>(ELEMENT, OTHER_ELEMENT, ELEMENT)
    putLane<F>(slope, lane, ELEMENT)
  }
}

/** Copies a point to its target, with its sign. */
export function copyPoint<F>(target: usize, list: usize, pair: usize): void {
  const bytes = elementBytes<F>()
  signedY<F>(ELEMENT, list, pair)
  memory.copy(target, pointOf(list, pair), bytes)
  memory.copy(target + bytes, ELEMENT, bytes)
}

/** Writes the sums that are no sums by the formula. */
function putOthers<F>(group: usize, entry: usize): void {
  for (let lane: usize = 0; lane < 4; lane++) {
    const kind = load<u8>(entry + lane, 4)
    const pair = 4 * group + lane
    const target = <usize>load<u32>(TARGET + 4 * pair)
    if (kind == IS_INFINITY) memory.fill(target, 0, 2 * elementBytes<F>())
    else if (kind == IS_LEFT) copyPoint<F>(target, LEFT, pair)
    else if (kind == IS_RIGHT) copyPoint<F>(target, RIGHT, pair)
  }
}

/** x = 1 / x in each lane, by one inversion. */
function invertLanes(x: usize): void {
  memory.copy(RUNNING, RADIX, 36)
  for (let lane: usize = 0; lane < 4; lane++) {
    getLane<u32>(LANES + 48 * lane, x, lane)
    multiply(RUNNING + 48 * (lane + 1), RUNNING + 48 * lane, LANES + 48 * lane)
  }
  invertPart(ELEMENT, RUNNING + 48 * 4)
  for (let lane: isize = 3; lane >= 0; lane--) {
    multiply(OTHER_ELEMENT, ELEMENT, RUNNING + 48 * lane)
    multiply(ELEMENT, ELEMENT, LANES + 48 * lane)
    putLane<u32>(x, lane, OTHER_ELEMENT)
  }
}

function accumulate<F>(group: usize): void {
  const norms = NORMS + 144 * group
  norm4<F>(norms, DIFFERENCES + vectorBytes<F>() * group)
  memory.copy(PREFIXES + 144 * group, ACCUMULATED, 144)
  multiply4(ACCUMULATED, ACCUMULATED, norms)
}

/** INVERSE = the inverse of a group's differences, from the last group to the first. */
function takeInverse<F>(group: usize): void {
  multiply4(INVERSE_NORM, ACCUMULATED, PREFIXES + 144 * group)
  multiply4(ACCUMULATED, ACCUMULATED, NORMS + 144 * group)
  inverseByNorm4<F>(INVERSE, DIFFERENCES + vectorBytes<F>() * group, INVERSE_NORM)
}

function startAccumulating(): void {
  for (let lane: usize = 0; lane < 4; lane++) putLane<u32>(ACCUMULATED, lane, RADIX)
}

/** The point on the line of SLOPE through two points with these x, of which LEFT_Y is the first y. */
function thirdPoint<F>(leftX: usize, rightX: usize, pair: usize): void {
  product4<F>(SLOPE, SLOPE, INVERSE)
  squared4<F>(SCRATCH, SLOPE)
  subtractBoth<F>(SUM_X, SCRATCH, leftX, rightX)
  subtract4<F>(SCRATCH, leftX, SUM_X)
  product4<F>(SCRATCH, SCRATCH, SLOPE)
  subtractOne<F>(SUM_Y, SCRATCH, LEFT_Y)
  const list = TARGET + 4 * pair
  const a = <usize>load<u32>(list)
  const b = <usize>load<u32>(list, 4)
  const c = <usize>load<u32>(list, 8)
  const d = <usize>load<u32>(list, 12)
  scatter<F>(SUM_X, a, b, c, d)
  const y = elementBytes<F>()
  scatter<F>(SUM_Y, a + y, b + y, c + y, d + y)
}

@inline
function gatherFrom<F>(z: usize, list: usize, pair: usize, offset: usize): void {
  gather<F>(
    z,
    pointOf(list, pair) + offset,
    pointOf(list, pair + 1) + offset,
    pointOf(list, pair + 2) + offset,
    pointOf(list, pair + 3) + offset,
  )
}

/**
 * The sums of `pairs` pairs, at most BATCH_PAIRS, a multiple of 4 (the last pair may be repeated): TARGET = LEFT + RIGHT.
 * No target may be a point of the batch.
 */
export function addPairs<F>(pairs: i32): void {
  const bytes = vectorBytes<F>()
  const groups = <usize>pairs >> 2
  let settled = SETTLED
  startAccumulating()
  for (let group: usize = 0; group < groups; group++) {
    const leftX = LEFT_X + bytes * group
    const rightX = RIGHT_X + bytes * group
    gatherFrom<F>(leftX, LEFT, 4 * group, 0)
    gatherFrom<F>(rightX, RIGHT, 4 * group, 0)
    subtract4<F>(DIFFERENCES + bytes * group, rightX, leftX)
    if (mayCoincide(leftX, rightX) && settle<F>(group, settled)) settled += 8
    accumulate<F>(group)
  }
  invertLanes(ACCUMULATED)
  for (let group = groups; group-- > 0; ) {
    const isSettled = settled > SETTLED && <usize>load<u32>(settled - 8) == group
    takeInverse<F>(group)
    gatherFrom<F>(LEFT_Y, LEFT, 4 * group, elementBytes<F>())
    gatherFrom<F>(RIGHT_Y, RIGHT, 4 * group, elementBytes<F>())
    sign4<F>(LEFT_Y, signs(LEFT, 4 * group))
    sign4<F>(RIGHT_Y, signs(RIGHT, 4 * group))
    subtract4<F>(SLOPE, RIGHT_Y, LEFT_Y)
    if (isSettled) putTripledSquares<F>(SLOPE, group, settled - 8)
    thirdPoint<F>(LEFT_X + bytes * group, RIGHT_X + bytes * group, 4 * group)
    if (isSettled) {
      putOthers<F>(group, settled - 8)
      settled -= 8
    }
  }
}

/** TARGET = 2 · LEFT for `pairs` points as in addPairs, none of them infinity or of order 2; a target may be its point. */
export function doublePoints<F>(pairs: i32): void {
  const bytes = vectorBytes<F>()
  const groups = <usize>pairs >> 2
  startAccumulating()
  for (let group: usize = 0; group < groups; group++) {
    gatherFrom<F>(LEFT_X + bytes * group, LEFT, 4 * group, 0)
    gatherFrom<F>(LEFT_Y, LEFT, 4 * group, elementBytes<F>())
    const twice = DIFFERENCES + bytes * group
    memory.fill(SCRATCH, 0, bytes)
    subtractOne<F>(twice, SCRATCH, LEFT_Y)
    subtract4<F>(twice, LEFT_Y, twice)
    accumulate<F>(group)
  }
  invertLanes(ACCUMULATED)
  for (let group = groups; group-- > 0; ) {
    takeInverse<F>(group)
    const leftX = LEFT_X + bytes * group
    gatherFrom<F>(LEFT_Y, LEFT, 4 * group, elementBytes<F>())
    squared4<F>(SCRATCH, leftX)
    tripled<F>(SLOPE, SCRATCH)
    thirdPoint<F>(leftX, leftX, 4 * group)
  }
}

/** z = 3x with normal limbs, below 6p. */
function tripled<F>(z: usize, x: usize): void {
  for (let part: usize = 0; part < vectorBytes<F>(); part += 144) {
    addLazily(z + part, x + part, x + part)
    addLazily(z + part, z + part, x + part)
    let carry = i32x4.splat(0)
    for (let i: usize = 0; i < 144; i += 16) {
      carry = i32x4.add(carry, v128.load(z + part + i))
      v128.store(z + part + i, i == 128 ? carry : v128.and(carry, i32x4.splat(0x1fffffff)))
      carry = i32x4.shr_u(carry, 29)
    }
  }
}
