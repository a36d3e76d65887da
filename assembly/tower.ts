/**
 * Fp6 = Fp2[v] / (v³ − ξ) and Fp12 = Fp6[w] / (w² − v): three elements of Fp2, and two of Fp6, one after the other, from
 * the constant term on. Products by Karatsuba's method (Devegili, Ó hÉigeartaigh, Scott, Dahab, "Multiplication and squaring on
 * pairing-friendly fields", 2006). Results may stand in place of operands.
 * @module
 */
import { Extension, invert } from './base-field'
import { RADIX } from './base-kernels'
import { combine3, combine4, combine7 } from './linear-combination'
import { FROBENIUS } from './pairing-constants'
import {
  add, addXi, addXiTimes, conjugate, copyFp, copyFp2, FP, FP2, gather, negate, product, scale, square, subtract, subtractBoth,
} from './quadratic-field'

export const FP6: usize = 216
export const FP12: usize = 432

const GATHERED: usize = memory.data(80, 16)
const SUM: usize = memory.data(80, 16)
const V0: usize = memory.data(80, 16)
const V1: usize = memory.data(80, 16)
const V2: usize = memory.data(80, 16)
const T0: usize = memory.data(80, 16)
const T1: usize = memory.data(80, 16)
const T2: usize = memory.data(80, 16)

/** z = (a + b)(c + d) */
function productOfSums(z: usize, a: usize, b: usize, c: usize, d: usize): void {
  gather(GATHERED, a, b)
  add(SUM, c, d)
  product(z, GATHERED, SUM)
}

function multiply6(z: usize, a: usize, b: usize): void {
  product(V0, a, b)
  product(V1, a + FP2, b + FP2)
  product(V2, a + 2 * FP2, b + 2 * FP2)
  productOfSums(T0, a + FP2, a + 2 * FP2, b + FP2, b + 2 * FP2)
  productOfSums(T1, a, a + FP2, b, b + FP2)
  productOfSums(T2, a, a + 2 * FP2, b, b + 2 * FP2)
  // V0 + ξ (T0 − V1 − V2), T1 − V0 − V1 + ξ V2, T2 − V0 − V2 + V1
  combine7(z, V0, 1, T0, 9, V1, -9, V2, -9, T0 + FP, -1, V1 + FP, 1, V2 + FP, 1)
  combine7(z + FP, V0 + FP, 1, T0 + FP, 9, V1 + FP, -9, V2 + FP, -9, T0, 1, V1, -1, V2, -1)
  subtractBoth(T1, T1, V0, V1)
  addXi(z + FP2, T1, V2)
  combine4(z + 2 * FP2, T2, 1, V0, -1, V2, -1, V1, 1)
  combine4(z + 2 * FP2 + FP, T2 + FP, 1, V0 + FP, -1, V2 + FP, -1, V1 + FP, 1)
}

/** z = a · (b0 + b1 · v) */
function multiplySparse6(z: usize, a: usize, b0: usize, b1: usize): void {
  product(V0, a, b0)
  product(V1, a + FP2, b1)
  product(T0, a + 2 * FP2, b1)
  productOfSums(T1, a, a + FP2, b0, b1)
  product(T2, a + 2 * FP2, b0)
  addXi(z, V0, T0)
  subtractBoth(z + FP2, T1, V0, V1)
  add(z + 2 * FP2, T2, V1)
}

function add6(z: usize, a: usize, b: usize): void {
  add(z, a, b)
  add(z + FP2, a + FP2, b + FP2)
  add(z + 2 * FP2, a + 2 * FP2, b + 2 * FP2)
}

/** z = a − b − c */
function subtractBoth6(z: usize, a: usize, b: usize, c: usize): void {
  subtractBoth(z, a, b, c)
  subtractBoth(z + FP2, a + FP2, b + FP2, c + FP2)
  subtractBoth(z + 2 * FP2, a + 2 * FP2, b + 2 * FP2, c + 2 * FP2)
}

/** z = a + v · b; z is not b. */
function addShifted6(z: usize, a: usize, b: usize): void {
  addXi(z, a, b + 2 * FP2)
  add(z + FP2, a + FP2, b)
  add(z + 2 * FP2, a + 2 * FP2, b + FP2)
}

function invert6(z: usize, a: usize): void {
  // c0 = a0² − ξ a1 a2, c1 = ξ a2² − a0 a1, c2 = a1² − a0 a2; 1 / a = (c0, c1, c2) / (a0 c0 + ξ (a2 c1 + a1 c2))
  square(V0, a)
  product(T0, a + FP2, a + 2 * FP2)
  addXiTimes(V0, V0, T0, -1)
  square(T0, a + 2 * FP2)
  product(T1, a, a + FP2)
  negate(T1, T1)
  addXi(V1, T1, T0)
  square(V2, a + FP2)
  product(T0, a, a + 2 * FP2)
  subtract(V2, V2, T0)
  product(T0, a + 2 * FP2, V1)
  product(T1, a + FP2, V2)
  add(T1, T0, T1)
  product(T2, a, V0)
  addXi(T2, T2, T1)
  invert<Extension>(T0, T2)
  product(z, V0, T0)
  product(z + FP2, V1, T0)
  product(z + 2 * FP2, V2, T0)
}

const M0: usize = memory.data(224, 16)
const M1: usize = memory.data(224, 16)
const M2: usize = memory.data(224, 16)
const M3: usize = memory.data(224, 16)
const M4: usize = memory.data(224, 16)

export function setOne12(z: usize): void {
  memory.fill(z, 0, FP12)
  copyFp(z, RADIX)
}

export function multiply12(z: usize, a: usize, b: usize): void {
  multiply6(M0, a, b)
  multiply6(M1, a + FP6, b + FP6)
  add6(M2, a, a + FP6)
  add6(M3, b, b + FP6)
  multiply6(M4, M2, M3)
  subtractBoth6(z + FP6, M4, M0, M1)
  addShifted6(z, M0, M1)
}

/** z = a²: (a0 + a1)(a0 + v a1) − (1 + v) a0 a1, and 2 a0 a1. */
export function square12(z: usize, a: usize): void {
  multiply6(M0, a, a + FP6)
  add6(M1, a, a + FP6)
  addShifted6(M2, a, a + FP6)
  multiply6(M3, M1, M2)
  combine4(z, M3, 1, M0, -1, M0 + 2 * FP2, -9, M0 + 2 * FP2 + FP, 1)
  combine4(z + FP, M3 + FP, 1, M0 + FP, -1, M0 + 2 * FP2 + FP, -9, M0 + 2 * FP2, -1)
  subtractBoth(z + FP2, M3 + FP2, M0 + FP2, M0)
  subtractBoth(z + 2 * FP2, M3 + 2 * FP2, M0 + 2 * FP2, M0 + FP2)
  add6(z + FP6, M0, M0)
}

/** f = f · (1 + (l0 + l1 · v) · w), l0 and l1 at `line`. */
export function multiplyByMonicLine(f: usize, line: usize): void {
  multiplySparse6(M0, f + FP6, line, line + FP2)
  multiplySparse6(M1, f, line, line + FP2)
  addShifted6(f, f, M0)
  add6(f + FP6, f + FP6, M1)
}

/** f = f · (l0 + (l1 + l2 · v) · w), the three at `line`. */
export function multiplyByLine(f: usize, line: usize): void {
  product(M0, f, line)
  product(M0 + FP2, f + FP2, line)
  product(M0 + 2 * FP2, f + 2 * FP2, line)
  multiplySparse6(M1, f + FP6, line + FP2, line + 2 * FP2)
  add6(M2, f, f + FP6)
  add(M3, line, line + FP2)
  multiplySparse6(M4, M2, M3, line + 2 * FP2)
  subtractBoth6(f + FP6, M4, M0, M1)
  addShifted6(f, M0, M1)
}

/** z = a^(p⁶); for elements of the cyclotomic subgroup the inverse. */
export function conjugate12(z: usize, a: usize): void {
  if (z != a) memory.copy(z, a, FP6)
  for (let at = FP6; at < FP12; at += FP2) negate(z + at, a + at)
}

const I0: usize = memory.data(224, 16)
const I1: usize = memory.data(224, 16)

/** z = 1 / a; 0 gives 0. */
export function invert12(z: usize, a: usize): void {
  multiply6(I0, a, a)
  multiply6(I1, a + FP6, a + FP6)
  // a0² − v a1²
  addXiTimes(I0, I0, I1 + 2 * FP2, -1)
  subtract(I0 + FP2, I0 + FP2, I1)
  subtract(I0 + 2 * FP2, I0 + 2 * FP2, I1 + FP2)
  invert6(I1, I0)
  multiply6(z, a, I1)
  multiply6(z + FP6, a + FP6, I1)
  for (let at = FP6; at < FP12; at += FP2) negate(z + at, z + at)
}

/** z = a^(p^n), n from 1 to 3; z may be a. */
export function frobenius12(z: usize, a: usize, n: usize): void {
  const factors = FROBENIUS + 5 * FP2 * (n - 1)
  for (let place: usize = 0; place < 6; place++) {
    // The powers of w in the order of the tower: 0 2 4 1 3 5.
    const power: usize = place < 3 ? 2 * place : 2 * (place - 3) + 1
    const target = z + FP2 * place
    if (n == 2) copyFp2(target, a + FP2 * place)
    else conjugate(target, a + FP2 * place)
    if (power == 0) continue
    const factor = factors + FP2 * (power - 1)
    // Those of the second power have no part of u.
    if (n == 2) scale(target, target, factor)
    else product(target, target, factor)
  }
}

/** The squares of a and b, and that of their sum. */
function squares(z: usize, a: usize, b: usize): void {
  square(z, a)
  square(z + FP2, b)
  add(z + 2 * FP2, a, b)
  square(z + 2 * FP2, z + 2 * FP2)
}

const Q: usize = memory.data(72 * 9 + 8, 16)

/** z = 3 (a² + ξ b²) − 2 z, of squares at q. */
@inline
function evenPart(z: usize, x: usize, q: usize): void {
  combine4(z, q, 3, q + FP2, 27, q + FP2 + FP, -3, x, -2)
  combine4(z + FP, q + FP, 3, q + FP2 + FP, 27, q + FP2, 3, x + FP, -2)
}

/** z = 6 a b + 2 z, of squares at q. */
@inline
function oddPart(z: usize, x: usize, q: usize): void {
  combine4(z, q + 2 * FP2, 3, q, -3, q + FP2, -3, x, 2)
  combine4(z + FP, q + 2 * FP2 + FP, 3, q + FP, -3, q + FP2 + FP, -3, x + FP, 2)
}

/**
 * z = x² for x in the cyclotomic subgroup (Granger, Scott, "Faster squaring in the cyclotomic subgroup of sixth degree
 * extensions", 2010, section 3.2).
 */
export function squareCyclotomic(z: usize, x: usize): void {
  squares(Q, x, x + 4 * FP2)
  squares(Q + 3 * FP2, x + 3 * FP2, x + 2 * FP2)
  squares(Q + 6 * FP2, x + FP2, x + 5 * FP2)
  evenPart(z, x, Q)
  oddPart(z + 4 * FP2, x + 4 * FP2, Q)
  evenPart(z + FP2, x + FP2, Q + 3 * FP2)
  oddPart(z + 5 * FP2, x + 5 * FP2, Q + 3 * FP2)
  evenPart(z + 2 * FP2, x + 2 * FP2, Q + 6 * FP2)
  // 6 ξ a b + 2 z
  subtractBoth(T0, Q + 8 * FP2, Q + 6 * FP2, Q + 7 * FP2)
  combine3(z + 3 * FP2, T0, 27, T0 + FP, -3, x + 3 * FP2, 2)
  combine3(z + 3 * FP2 + FP, T0 + FP, 27, T0, 3, x + 3 * FP2 + FP, 2)
}
