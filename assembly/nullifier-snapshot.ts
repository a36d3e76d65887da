/**
 * The check that tells whether a part of a nullifier snapshot is damaged.
 * @module
 */
import { OUTPUT } from './memory'

/** FNV's prime: odd, so that no change of a single word can cancel out. */
const CHECK_FACTOR: i32 = 0x01000193

/**
 * Carries the check at OUTPUT (64 bytes, zero at first) over `bytes` more, a multiple of 16: in each of sixteen
 * lanes, sum ← sum × factor + word. It finds damage, not forgery.
 */
export function setCheck(address: usize, bytes: usize): void {
  const factor = i32x4.splat(CHECK_FACTOR)
  let s0 = v128.load(OUTPUT)
  let s1 = v128.load(OUTPUT, 16)
  let s2 = v128.load(OUTPUT, 32)
  let s3 = v128.load(OUTPUT, 48)
  const end = address + bytes
  for (; address + 64 <= end; address += 64) {
    s0 = i32x4.add(i32x4.mul(s0, factor), v128.load(address))
    s1 = i32x4.add(i32x4.mul(s1, factor), v128.load(address, 16))
    s2 = i32x4.add(i32x4.mul(s2, factor), v128.load(address, 32))
    s3 = i32x4.add(i32x4.mul(s3, factor), v128.load(address, 48))
  }
  for (; address < end; address += 16) s0 = i32x4.add(i32x4.mul(s0, factor), v128.load(address))
  v128.store(OUTPUT, s0)
  v128.store(OUTPUT, s1, 16)
  v128.store(OUTPUT, s2, 32)
  v128.store(OUTPUT, s3, 48)
}
