/**
 * Sums of small multiples of elements of BN254's base field, reduced at once. Elements are below 2.1p with normal limbs;
 * sums may be negative, below 190p in size. Results are below p and a little, 2^-17 of it, and may stand in place of operands.
 * @module
 */
import { P0, P1, P2, P3, P4, P5, P6, P7, P8, RECIPROCAL } from './pairing-constants'

const MASK: i64 = 0x1fffffff
/** Units of 2^232, so that the quotient is never too large: what lower limbs and the rounding of the reciprocal can take. */
const MARGIN: i64 = 8

@inline
function limb(x: usize, i: usize): i64 {
  return <i64>load<u32>(x + 4 * i)
}

/** Stores what signed limbs stand for, less the multiple of p that their highest 61 bits tell. */
@inline
function settle(z: usize, s0: i64, s1: i64, s2: i64, s3: i64, s4: i64, s5: i64, s6: i64, s7: i64, s8: i64): void {
  const q = ((s8 + (s7 >> 29) - MARGIN) * RECIPROCAL) >> 50
  let a = s0 - q * P0
  const r0 = a & MASK
  a = (a >> 29) + s1 - q * P1
  store<u64>(z, r0 | ((a & MASK) << 32))
  a = (a >> 29) + s2 - q * P2
  const r2 = a & MASK
  a = (a >> 29) + s3 - q * P3
  store<u64>(z, r2 | ((a & MASK) << 32), 8)
  a = (a >> 29) + s4 - q * P4
  const r4 = a & MASK
  a = (a >> 29) + s5 - q * P5
  store<u64>(z, r4 | ((a & MASK) << 32), 16)
  a = (a >> 29) + s6 - q * P6
  const r6 = a & MASK
  a = (a >> 29) + s7 - q * P7
  store<u64>(z, r6 | ((a & MASK) << 32), 24)
  a = (a >> 29) + s8 - q * P8
  store<u32>(z, <u32>a, 32)
}

@inline
function sum2(i: usize, a: usize, ka: i64, b: usize, kb: i64): i64 {
  return ka * limb(a, i) + kb * limb(b, i)
}

@inline
function sum4(i: usize, a: usize, ka: i64, b: usize, kb: i64, c: usize, kc: i64, d: usize, kd: i64): i64 {
  return sum2(i, a, ka, b, kb) + sum2(i, c, kc, d, kd)
}

/** z = k · a */
@inline
export function combine1(z: usize, a: usize, k: i64): void {
  settle(
    z, k * limb(a, 0), k * limb(a, 1), k * limb(a, 2), k * limb(a, 3), k * limb(a, 4),
    k * limb(a, 5), k * limb(a, 6), k * limb(a, 7), k * limb(a, 8),
  )
}

/** z = ka · a + kb · b */
@inline
export function combine2(z: usize, a: usize, ka: i64, b: usize, kb: i64): void {
  settle(
    z, sum2(0, a, ka, b, kb), sum2(1, a, ka, b, kb), sum2(2, a, ka, b, kb),
    sum2(3, a, ka, b, kb), sum2(4, a, ka, b, kb), sum2(5, a, ka, b, kb),
    sum2(6, a, ka, b, kb), sum2(7, a, ka, b, kb), sum2(8, a, ka, b, kb),
  )
}

/** z = ka · a + kb · b + kc · c */
@inline
export function combine3(z: usize, a: usize, ka: i64, b: usize, kb: i64, c: usize, kc: i64): void {
  settle(
    z, sum2(0, a, ka, b, kb) + kc * limb(c, 0), sum2(1, a, ka, b, kb) + kc * limb(c, 1),
    sum2(2, a, ka, b, kb) + kc * limb(c, 2), sum2(3, a, ka, b, kb) + kc * limb(c, 3),
    sum2(4, a, ka, b, kb) + kc * limb(c, 4), sum2(5, a, ka, b, kb) + kc * limb(c, 5),
    sum2(6, a, ka, b, kb) + kc * limb(c, 6), sum2(7, a, ka, b, kb) + kc * limb(c, 7),
    sum2(8, a, ka, b, kb) + kc * limb(c, 8),
  )
}

/** z = ka · a + kb · b + kc · c + kd · d */
@inline
export function combine4(
  z: usize, a: usize, ka: i64, b: usize, kb: i64, c: usize, kc: i64, d: usize, kd: i64,
): void {
  settle(
    z, sum4(0, a, ka, b, kb, c, kc, d, kd), sum4(1, a, ka, b, kb, c, kc, d, kd),
    sum4(2, a, ka, b, kb, c, kc, d, kd), sum4(3, a, ka, b, kb, c, kc, d, kd),
    sum4(4, a, ka, b, kb, c, kc, d, kd), sum4(5, a, ka, b, kb, c, kc, d, kd),
    sum4(6, a, ka, b, kb, c, kc, d, kd), sum4(7, a, ka, b, kb, c, kc, d, kd),
    sum4(8, a, ka, b, kb, c, kc, d, kd),
  )
}

@inline
function sum7(
  i: usize, a: usize, ka: i64, b: usize, kb: i64, c: usize, kc: i64, d: usize, kd: i64,
  e: usize, ke: i64, f: usize, kf: i64, g: usize, kg: i64,
): i64 {
  return sum4(i, a, ka, b, kb, c, kc, d, kd) + sum2(i, e, ke, f, kf) + kg * limb(g, i)
}

/** The same of seven. */
@inline
export function combine7(
  z: usize, a: usize, ka: i64, b: usize, kb: i64, c: usize, kc: i64, d: usize, kd: i64,
  e: usize, ke: i64, f: usize, kf: i64, g: usize, kg: i64,
): void {
  settle(
    z, sum7(0, a, ka, b, kb, c, kc, d, kd, e, ke, f, kf, g, kg), sum7(1, a, ka, b, kb, c, kc, d, kd, e, ke, f, kf, g, kg),
    sum7(2, a, ka, b, kb, c, kc, d, kd, e, ke, f, kf, g, kg), sum7(3, a, ka, b, kb, c, kc, d, kd, e, ke, f, kf, g, kg),
    sum7(4, a, ka, b, kb, c, kc, d, kd, e, ke, f, kf, g, kg), sum7(5, a, ka, b, kb, c, kc, d, kd, e, ke, f, kf, g, kg),
    sum7(6, a, ka, b, kb, c, kc, d, kd, e, ke, f, kf, g, kg), sum7(7, a, ka, b, kb, c, kc, d, kd, e, ke, f, kf, g, kg),
    sum7(8, a, ka, b, kb, c, kc, d, kd, e, ke, f, kf, g, kg),
  )
}
