/**
 * The final exponentiation of the pairing on BN254: f^((p¹² − 1) / r), to a power prime to r that is the same for all f
 * (Fuentes-Castañeda, Knapp, Rodríguez-Henríquez, "Faster hashing to G2", 2011, section 5).
 * @module
 */
import { PARAMETER_DIGITS, PARAMETER_DIGITS_COUNT } from './pairing-constants'
import { conjugate12, FP12, frobenius12, invert12, multiply12, squareCyclotomic } from './tower'

const BASE: usize = memory.data(432, 16)
const INVERSE: usize = memory.data(432, 16)
const POWER: usize = memory.data(432, 16)

/** z = a^−x for the curve's parameter x and a in the cyclotomic subgroup. */
function powerMinusX(z: usize, a: usize): void {
  memory.copy(BASE, a, FP12)
  conjugate12(INVERSE, a)
  memory.copy(POWER, a, FP12)
  for (let i = 0; i < PARAMETER_DIGITS_COUNT; i++) {
    squareCyclotomic(POWER, POWER)
    const digit = load<i8>(PARAMETER_DIGITS + i)
    if (digit > 0) multiply12(POWER, POWER, BASE)
    else if (digit < 0) multiply12(POWER, POWER, INVERSE)
  }
  conjugate12(z, POWER)
}

const R: usize = memory.data(432, 16)
const Y0: usize = memory.data(432, 16)
const Y1: usize = memory.data(432, 16)
const Y3: usize = memory.data(432, 16)
const Y4: usize = memory.data(432, 16)
const Y6: usize = memory.data(432, 16)
const Y8: usize = memory.data(432, 16)
const Y9: usize = memory.data(432, 16)

/** Exponentiates f in its place. */
export function finalExponentiation(f: usize): void {
  // r = f^((p⁶ − 1)(p² + 1)), which lies in the cyclotomic subgroup.
  invert12(Y0, f)
  conjugate12(R, f)
  multiply12(R, R, Y0)
  frobenius12(Y0, R, 2)
  multiply12(R, R, Y0)
  // r^(−2x), r^(−6x), r^(6x²), r^(12x²), r^(−12x³)
  powerMinusX(Y0, R)
  squareCyclotomic(Y1, Y0)
  squareCyclotomic(Y3, Y1)
  multiply12(Y3, Y3, Y1)
  powerMinusX(Y4, Y3)
  squareCyclotomic(Y6, Y4)
  powerMinusX(Y6, Y6)
  // r^(12x³ + 6x² + 6x) and r^(12x³ + 6x² + 4x)
  conjugate12(Y3, Y3)
  conjugate12(Y6, Y6)
  multiply12(Y8, Y6, Y4)
  multiply12(Y8, Y8, Y3)
  multiply12(Y9, Y8, Y1)
  // r^(12x³ + 12x² + 6x + 1), and those above to p, p² and, less r, p³
  multiply12(f, Y8, Y4)
  multiply12(f, f, R)
  frobenius12(Y0, Y9, 1)
  multiply12(f, f, Y0)
  frobenius12(Y0, Y8, 2)
  multiply12(f, f, Y0)
  conjugate12(R, R)
  multiply12(R, R, Y9)
  frobenius12(Y0, R, 3)
  multiply12(f, f, Y0)
}
