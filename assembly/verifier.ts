/**
 * Groth16 on BN254 (Groth, "On the size of pairing-based non-interactive arguments", 2016, section 3.2): whether
 * e(A, B) = e(α, β) · e(IC₀ + Σ sᵢ · ICᵢ, γ) · e(C, δ), for one proof, or for many under one key at once by a random combination
 * of their equations. The host lays out keys from HEAP on.
 * @module
 */
import { Base, equals, Extension, invertPart, reduce } from './base-field'
import { multiply, RADIX, SQUARED_RADIX, TRIPLED_TWIST_B } from './base-kernels'
import { finalExponentiation } from './final-exponentiation'
import { addMultiples, prepareTable, TABLE_BYTES } from './fixed-base'
import { addImage, addPoints, doublePoint, G1_AFFINE, G1_PROJECTIVE, lift, setInfinity, toAffine } from './g1'
import { combine1, combine2 } from './linear-combination'
import { LINES_BYTES, millerLoop, PAIR_BYTES, prepareLines } from './miller-loop'
import { FP, FP2, product, square } from './quadratic-field'
import { FP12, setOne12 } from './tower'

/** Where memory of the host's begins. */
export const HEAP: usize = (__heap_base + 63) & ~63
/** Most proofs of one combination. */
export const MOST_PROOFS: usize = 64
/** Points as the host hands them over: coordinates of 32 bytes below p, least first, x before y, the factor of u behind. */
const COORDINATE_BYTES: usize = 32

/** A key: lines of γ, δ and β; e(α, β); IC₀; a table for each of IC₁ … ICₙ, then IC₀ and α. */
const AT_TARGET: usize = LINES_BYTES * 3
const AT_CONSTANT: usize = AT_TARGET + FP12
const AT_TABLES: usize = AT_CONSTANT + 80
/** Bytes of a key with `inputs` public signals. */
export function keyBytes(inputs: usize): usize {
  return AT_TABLES + TABLE_BYTES * (inputs + 2)
}

/** Proofs read: A, B and C, affine. */
const PROOF_BYTES: usize = 288
const PROOFS: usize = memory.data(288 * 64, 16)
const AT_C: usize = G1_AFFINE + 2 * FP2

const PAIRS: usize = memory.data(864 * 64, 16)
/** One byte for each pair of the last check: 1 where B is outside of the subgroup. */
export const OUTSIDE: usize = memory.data(64, 16)
const PRODUCT: usize = memory.data(432, 16)
const ONE: usize = memory.data(432, 16)
const FIXED_POINTS: usize = memory.data(72 * 3 + 8, 16)
const INPUTS: usize = memory.data(112, 16)
const SUM_C: usize = memory.data(112, 16)
const SUM_ALPHA: usize = memory.data(112, 16)
const POINT: usize = memory.data(288, 16)
const LEFT: usize = memory.data(80, 16)
const RIGHT: usize = memory.data(80, 16)
const INVERSE: usize = memory.data(48, 16)

/** Reads coordinates into Montgomery form. */
function readCoordinates(target: usize, source: usize, count: i32): void {
  for (; count > 0; count--, target += FP, source += COORDINATE_BYTES) {
    for (let i: usize = 0; i < 9; i++) {
      const bit: usize = i * 29
      // The highest limb starts in the last word.
      const byte = min<usize>(bit >> 3, 24)
      store<u32>(target + 4 * i, <u32>(load<u64>(source + byte) >> (bit - 8 * byte)) & 0x1fffffff)
    }
    multiply(target, target, SQUARED_RADIX)
  }
}

/** Reads a point. @returns whether it lies on the curve, which infinity, read as zeros, does not */
function readG1(target: usize, source: usize): bool {
  readCoordinates(target, source, 2)
  multiply(LEFT, target + FP, target + FP)
  multiply(RIGHT, target, target)
  multiply(RIGHT, RIGHT, target)
  combine2(RIGHT, RIGHT, 1, RADIX, 3)
  return equals<Base>(LEFT, RIGHT)
}

/** Likewise on the twist. */
function readG2(target: usize, source: usize): bool {
  readCoordinates(target, source, 4)
  // 3y² = 3x³ + 3b'
  square(LEFT, target + FP2)
  combine1(LEFT, LEFT, 3)
  combine1(LEFT + FP, LEFT + FP, 3)
  square(RIGHT, target)
  product(RIGHT, RIGHT, target)
  combine2(RIGHT, RIGHT, 3, TRIPLED_TWIST_B, 1)
  combine2(RIGHT + FP, RIGHT + FP, 3, TRIPLED_TWIST_B + FP, 1)
  return equals<Extension>(LEFT, RIGHT)
}

function reduceProduct(): void {
  for (let at: usize = 0; at < FP12; at += FP) reduce<Base>(PRODUCT + at)
}

/**
 * Prepares a key of `inputs` public signals in the keyBytes of `key`.
 * @param source α, β, γ, δ, IC₀ … ICₙ
 * @returns whether every point lies on its curve and in its subgroup
 */
export function prepareKey(key: usize, source: usize, inputs: usize): bool {
  const g1: usize = COORDINATE_BYTES * 2
  const g2: usize = COORDINATE_BYTES * 4
  const constants = source + g1 + 3 * g2
  let isSound = readG1(PAIRS, source) && readG2(PAIRS + G1_AFFINE, source + g1)
  isSound = isSound && prepareLines(key + 2 * LINES_BYTES, PAIRS + G1_AFFINE)
  for (let i: usize = 0; isSound && i < 2; i++) {
    isSound = readG2(POINT, source + g1 + g2 * (i + 1)) && prepareLines(key + LINES_BYTES * i, POINT)
  }
  if (!isSound) return false
  prepareTable(key + AT_TABLES + TABLE_BYTES * (inputs + 1), PAIRS)
  millerLoop(PRODUCT, PAIRS, 1, 0, 0, 0, OUTSIDE)
  finalExponentiation(PRODUCT)
  reduceProduct()
  memory.copy(key + AT_TARGET, PRODUCT, FP12)
  for (let i: usize = 0; i <= inputs; i++) {
    if (!readG1(POINT, constants + g1 * i)) return false
    if (i == 0) memory.copy(key + AT_CONSTANT, POINT, G1_AFFINE)
    prepareTable(key + AT_TABLES + TABLE_BYTES * (i == 0 ? inputs : i - 1), POINT)
  }
  return true
}

/** Reads A, B and C at `source` as proof number `index`. @returns whether they lie on their curves */
export function readProof(index: usize, source: usize): bool {
  const proof = PROOFS + PROOF_BYTES * index
  const b = source + 2 * COORDINATE_BYTES
  return (
    readG1(proof, source) && readG2(proof + G1_AFFINE, b) && readG1(proof + AT_C, b + 4 * COORDINATE_BYTES)
  )
}

/** Writes x/y and 1/y of −p as the point of fixed pair `index`; infinity gives zeros, which make its lines 1. */
function fixPoint(index: usize, p: usize): void {
  const target = FIXED_POINTS + G1_AFFINE * index
  // No point of G1 has the order two, so y is not 0.
  invertPart(INVERSE, p + FP)
  combine1(INVERSE, INVERSE, -1)
  multiply(target, p, INVERSE)
  multiply(target + FP, p + 2 * FP, INVERSE)
}

/**
 * Whether proof `index` holds.
 * @param scalars its public signals, 32 bytes each, below r
 * @returns 1 or 0; −1 where its B is outside of the subgroup
 */
export function checkProof(index: usize, key: usize, scalars: usize, inputs: usize): i32 {
  const proof = PROOFS + PROOF_BYTES * index
  lift(INPUTS, key + AT_CONSTANT)
  addMultiples(INPUTS, key + AT_TABLES, scalars, inputs)
  lift(SUM_C, proof + AT_C)
  fixPoint(0, INPUTS)
  fixPoint(1, SUM_C)
  memory.copy(PAIRS, proof, AT_C)
  if (millerLoop(PRODUCT, PAIRS, 1, key, 2, FIXED_POINTS, OUTSIDE) != 0) return -1
  finalExponentiation(PRODUCT)
  reduceProduct()
  return memory.compare(PRODUCT, key + AT_TARGET, FP12) == 0 ? 1 : 0
}

const DIGITS: usize = 16
/** Multiples 1 … 15 of a point of each proof. */
const MULTIPLES: usize = memory.data(112 * 15 * 64, 16)
const SCALED: usize = memory.data(112 * 64, 16)

function prepareMultiples(multiples: usize, affine: usize): void {
  lift(multiples, affine)
  for (let i: usize = 1; i < 15; i++) {
    addPoints(multiples + G1_PROJECTIVE * i, multiples + G1_PROJECTIVE * (i - 1), multiples)
  }
}

/** sum = sum + the part of (a + bλ) · p that window `window` of a and b stands for. @param pair a and b, 8 bytes each */
@inline
function addWindow(sum: usize, multiples: usize, pair: usize, window: usize): void {
  const shift = <u8>(4 * (window & 1))
  const a = <usize>((load<u8>(pair + (window >> 1)) >> shift) & 15)
  const b = <usize>((load<u8>(pair + 8 + (window >> 1)) >> shift) & 15)
  if (a != 0) addPoints(sum, sum, multiples + G1_PROJECTIVE * (a - 1))
  if (b != 0) addImage(sum, multiples + G1_PROJECTIVE * (b - 1))
}

@inline
function doubleFourTimes(sum: usize): void {
  for (let i = 0; i < 4; i++) doublePoint(sum, sum)
}

/**
 * Whether all of these proofs hold: Π e(zA, B) · e(−Σ z · inputs, γ) · e(−Σ zC, δ) · e(−Σ zα, β) = 1.
 * @param numbers which proofs, one byte each
 * @param pairs for each proof the a and b of z = a + bλ, 8 bytes each, not both 0
 * @param scalars Σ z · sᵢ of each public signal, then Σ z, then Σ z again, 32 bytes each, below r
 * @returns 1 or 0; −1 where some B are outside of the subgroup: OUTSIDE says which, and nothing is known of the others
 */
export function checkCombination(
  numbers: usize,
  count: usize,
  key: usize,
  pairs: usize,
  scalars: usize,
  inputs: usize,
): i32 {
  for (let i: usize = 0; i < count; i++) {
    const proof = PROOFS + PROOF_BYTES * <usize>load<u8>(numbers + i)
    const scaled = SCALED + G1_PROJECTIVE * i
    memory.copy(PAIRS + PAIR_BYTES * i, proof, AT_C)
    prepareMultiples(MULTIPLES, proof)
    setInfinity(scaled)
    for (let window: isize = DIGITS - 1; window >= 0; window--) {
      doubleFourTimes(scaled)
      addWindow(scaled, MULTIPLES, pairs + 16 * i, window)
    }
  }
  toAffine(PAIRS, <usize>PAIR_BYTES, SCALED, <i32>count)
  for (let i: usize = 0; i < count; i++) {
    prepareMultiples(MULTIPLES + G1_PROJECTIVE * 15 * i, PROOFS + PROOF_BYTES * <usize>load<u8>(numbers + i) + AT_C)
  }
  setInfinity(SUM_C)
  for (let window: isize = DIGITS - 1; window >= 0; window--) {
    doubleFourTimes(SUM_C)
    for (let i: usize = 0; i < count; i++) {
      addWindow(SUM_C, MULTIPLES + G1_PROJECTIVE * 15 * i, pairs + 16 * i, window)
    }
  }
  setInfinity(INPUTS)
  addMultiples(INPUTS, key + AT_TABLES, scalars, inputs + 1)
  setInfinity(SUM_ALPHA)
  addMultiples(SUM_ALPHA, key + AT_TABLES + TABLE_BYTES * (inputs + 1), scalars + 32 * (inputs + 1), 1)
  fixPoint(0, INPUTS)
  fixPoint(1, SUM_C)
  fixPoint(2, SUM_ALPHA)
  if (millerLoop(PRODUCT, PAIRS, count, key, 3, FIXED_POINTS, OUTSIDE) != 0) return -1
  finalExponentiation(PRODUCT)
  reduceProduct()
  setOne12(ONE)
  reduce<Base>(ONE)
  return memory.compare(PRODUCT, ONE, FP12) == 0 ? 1 : 0
}
