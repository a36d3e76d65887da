/**
 * Miller loops of the optimal ate pairing on BN254, many at once: f = Π f(6x+2, B)(A) · lines, in one chain of squarings.
 * Points of the twist are homogeneous projective; steps and lines as in Costello, Lange, Naehrig, "Faster pairing computations on
 * curves with high-degree twists" (2010), and Aranha, Barreto, Longa, Ricardini, "The realm of the pairings" (2013). Lines
 * are known up to factors in Fp2, which the final exponentiation makes 1.
 *
 * The loop also tells which points lie in the subgroup of order r: it comes to T = [6x + 2]B + ψB − ψ²B, and B is in the subgroup
 * if and only if that is −ψ³B. docs/pairing.md says why.
 * @module
 */
import { equals, Extension, invert } from './base-field'
import { RADIX, TRIPLED_TWIST_B } from './base-kernels'
import { combine1, combine2, combine3 } from './linear-combination'
import { FROBENIUS, LOOP_DIGITS, LOOP_DIGITS_COUNT } from './pairing-constants'
import { add, conjugate, copyFp, copyFp2, FP, FP2, negate, product, scale, square, subtract, subtractBoth } from './quadratic-field'
import { multiplyByLine, multiplyByMonicLine, setOne12, square12 } from './tower'

/** Bytes of a prepared line, and how many a point has: 65 doublings, 21 additions in the loop, two behind it. */
export const LINE_BYTES: usize = 144
export const LINES_BYTES: usize = LINE_BYTES * 88

/** A pair in the loop: A and B, affine; −B, ψB and −ψ²B, affine; T, projective. */
const AT_B: usize = 72
const AT_NEGATIVE: usize = 216
const AT_PSI: usize = 360
const AT_PSI_SQUARED: usize = 504
const AT_T: usize = 648
export const PAIR_BYTES: usize = 864

/** ψ(x, y) = (x̄ ξ^((p − 1) / 3), ȳ ξ^((p − 1) / 2)) */
const PSI_X: usize = FROBENIUS + FP2
const PSI_Y: usize = FROBENIUS + 2 * FP2

const D0: usize = memory.data(80, 16)
const D1: usize = memory.data(80, 16)
const D2: usize = memory.data(80, 16)
const D3: usize = memory.data(80, 16)
const D4: usize = memory.data(80, 16)
const D5: usize = memory.data(80, 16)
const D6: usize = memory.data(80, 16)
const D7: usize = memory.data(80, 16)
const ZERO: usize = memory.data(80, 16)
/** The coefficients of the line last computed: of y of A, of x of A, and the constant one. */
const LINE: usize = memory.data(224, 16)

/** z = k · x + l · y */
@inline
function combine(z: usize, x: usize, k: i64, y: usize, l: i64): void {
  combine2(z, x, k, y, l)
  combine2(z + FP, x + FP, k, y + FP, l)
}

/** T = 2T, and the tangent at T. */
function doubleStep(t: usize): void {
  const y = t + FP2
  const z = t + 2 * FP2
  product(D0, t, y)
  square(D1, y)
  square(D2, z)
  product(D3, D2, TRIPLED_TWIST_B)
  // h = 2yz
  add(D4, y, z)
  square(D4, D4)
  subtractBoth(D4, D4, D1, D2)
  square(D5, t)
  negate(LINE, D4)
  combine1(LINE + FP2, D5, 3)
  combine1(LINE + FP2 + FP, D5 + FP, 3)
  subtract(LINE + 2 * FP2, D3, D1)
  // x = 2xy (y² − 9b'z²), y = (y² + 9b'z²)² − 12 (3b'z²)², z = 4y²h
  combine(D6, D1, 2, D3, -6)
  product(t, D0, D6)
  combine(D6, D1, 1, D3, 3)
  square(D6, D6)
  square(D7, D3)
  combine1(D2, D1, 4)
  combine1(D2 + FP, D1 + FP, 4)
  product(z, D2, D4)
  combine(y, D6, 1, D7, -12)
}

/** T = T + Q for an affine Q, and the line through both. With T = ±Q or T infinity Z becomes 0 and stays so. */
function addStep(t: usize, q: usize): void {
  const y = t + FP2
  const z = t + 2 * FP2
  // θ = y − y_Q z, λ = x − x_Q z
  product(D0, q + FP2, z)
  subtract(D0, y, D0)
  product(D1, q, z)
  subtract(D1, t, D1)
  square(D2, D0)
  square(D3, D1)
  product(D4, D1, D3)
  product(D5, z, D2)
  product(D6, t, D3)
  combine3(D7, D4, 1, D5, 1, D6, -2)
  combine3(D7 + FP, D4 + FP, 1, D5 + FP, 1, D6 + FP, -2)
  product(t, D1, D7)
  subtract(D6, D6, D7)
  product(D6, D0, D6)
  product(D5, D4, y)
  subtract(y, D6, D5)
  product(z, z, D4)
  copyFp2(LINE, D1)
  negate(LINE + FP2, D0)
  product(D2, D0, q)
  product(D3, D1, q + FP2)
  subtract(LINE + 2 * FP2, D2, D3)
}

/** ψ of an affine point of the twist; z may be q. */
function psi(z: usize, q: usize): void {
  conjugate(z, q)
  product(z, z, PSI_X)
  conjugate(z + FP2, q + FP2)
  product(z + FP2, z + FP2, PSI_Y)
}

/** Lets a pair, of which A and B are there, begin the loop. */
function beginPair(pair: usize): void {
  const b = pair + AT_B
  copyFp2(pair + AT_NEGATIVE, b)
  negate(pair + AT_NEGATIVE + FP2, b + FP2)
  psi(pair + AT_PSI, b)
  psi(pair + AT_PSI_SQUARED, pair + AT_PSI)
  negate(pair + AT_PSI_SQUARED + FP2, pair + AT_PSI_SQUARED + FP2)
  memory.copy(pair + AT_T, b, 2 * FP2)
  memory.fill(pair + AT_T + 2 * FP2, 0, FP2)
  copyFp(pair + AT_T + 2 * FP2, RADIX)
}

/** Whether B is in the subgroup of order r, after the loop. */
function isInSubgroup(pair: usize): bool {
  const t = pair + AT_T
  const z = t + 2 * FP2
  if (equals<Extension>(z, ZERO)) return false
  // ψ(−ψ²B)
  psi(pair + AT_PSI, pair + AT_PSI_SQUARED)
  product(D0, pair + AT_PSI, z)
  product(D1, pair + AT_PSI + FP2, z)
  return equals<Extension>(D0, t) && equals<Extension>(D1, t + FP2)
}

/** What is added to T: a digit of the loop for 1 and −1, ψB and −ψ²B behind it. */
@inline
function addend(pair: usize, step: i32, digit: i32): usize {
  if (step < LOOP_DIGITS_COUNT) return pair + (digit > 0 ? AT_B : AT_NEGATIVE)
  return pair + (step == LOOP_DIGITS_COUNT ? AT_PSI : AT_PSI_SQUARED)
}

@inline
function digitOf(step: i32): i32 {
  return step < LOOP_DIGITS_COUNT ? <i32>load<i8>(LOOP_DIGITS + step) : 1
}

@inline
function keepLine(line: usize): usize {
  invert<Extension>(D0, LINE)
  product(line, LINE + FP2, D0)
  product(line + FP2, LINE + 2 * FP2, D0)
  return line + LINE_BYTES
}

const PREPARED: usize = memory.data(864, 16)

/** Writes the lines of a fixed point of the twist, divided by their first coefficient. @returns whether it is in the subgroup */
export function prepareLines(lines: usize, q: usize): bool {
  memory.copy(PREPARED + AT_B, q, 2 * FP2)
  beginPair(PREPARED)
  for (let step = 0; step < LOOP_DIGITS_COUNT + 2; step++) {
    const digit = digitOf(step)
    if (step < LOOP_DIGITS_COUNT) {
      doubleStep(PREPARED + AT_T)
      lines = keepLine(lines)
    }
    if (digit != 0) {
      addStep(PREPARED + AT_T, addend(PREPARED, step, digit))
      lines = keepLine(lines)
    }
  }
  return isInSubgroup(PREPARED)
}

@inline
function takeLine(f: usize, a: usize): void {
  scale(LINE, LINE, a + FP)
  scale(LINE + FP2, LINE + FP2, a)
  multiplyByLine(f, LINE)
}

/** Takes the line of each fixed point: x/y and 1/y of its point of G1 are at `points`, 72 bytes each. */
function takeFixedLines(f: usize, line: usize, count: usize, points: usize): void {
  for (let i: usize = 0; i < count; i++, line += LINES_BYTES, points += 2 * FP) {
    scale(LINE, line, points)
    scale(LINE + FP2, line + FP2, points + FP)
    multiplyByMonicLine(f, LINE)
  }
}

/**
 * f = the product of the Miller loops of `count` pairs (A and B written, A not infinity) and of `fixedCount` prepared points.
 * @param lines prepared lines, those of the next point LINES_BYTES behind
 * @param outside one byte a pair: 1 where B is not in the subgroup, else 0
 * @returns how many are not; f means nothing unless that is 0
 */
export function millerLoop(
  f: usize,
  pairs: usize,
  count: usize,
  lines: usize,
  fixedCount: usize,
  points: usize,
  outside: usize,
): i32 {
  for (let i: usize = 0; i < count; i++) beginPair(pairs + PAIR_BYTES * i)
  setOne12(f)
  for (let step = 0; step < LOOP_DIGITS_COUNT + 2; step++) {
    const digit = digitOf(step)
    if (step < LOOP_DIGITS_COUNT) {
      if (step > 0) square12(f, f)
      for (let i: usize = 0; i < count; i++) {
        const pair = pairs + PAIR_BYTES * i
        doubleStep(pair + AT_T)
        takeLine(f, pair)
      }
      takeFixedLines(f, lines, fixedCount, points)
      lines += LINE_BYTES
    }
    if (digit == 0) continue
    for (let i: usize = 0; i < count; i++) {
      const pair = pairs + PAIR_BYTES * i
      addStep(pair + AT_T, addend(pair, step, digit))
      takeLine(f, pair)
    }
    takeFixedLines(f, lines, fixedCount, points)
    lines += LINE_BYTES
  }
  let others = 0
  for (let i: usize = 0; i < count; i++) {
    const isOutside: i32 = isInSubgroup(pairs + PAIR_BYTES * i) ? 0 : 1
    store<u8>(outside + i, isOutside)
    others += isOutside
  }
  return others
}
