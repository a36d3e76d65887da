/**
 * Verifiers as RFC 9162 §2.1.3.2 and §2.1.4.2 write them down, step by step: a way of their own to the answer, with
 * nothing in common with how the proofs are made.
 */
import { createHash } from 'node:crypto'

const node = (left: Uint8Array, right: Uint8Array): Buffer =>
  createHash('sha256').update(Buffer.of(1)).update(left).update(right).digest()

const isOdd = (n: bigint): boolean => (n & 1n) === 1n

/** RFC 9162 §2.1.3.2. */
export const verifyInclusion = (
  index: number,
  size: number,
  leafHash: Uint8Array,
  path: readonly Uint8Array[],
  root: Uint8Array,
): boolean => {
  if (index >= size) return false
  let fn = BigInt(index)
  let sn = BigInt(size - 1)
  let r: Buffer = Buffer.from(leafHash)
  for (const p of path) {
    if (sn === 0n) return false
    if (isOdd(fn) || fn === sn) {
      r = node(p, r)
      if (!isOdd(fn)) {
        while (!isOdd(fn) && fn !== 0n) {
          fn >>= 1n
          sn >>= 1n
        }
      }
    } else {
      r = node(r, p)
    }
    fn >>= 1n
    sn >>= 1n
  }
  return sn === 0n && r.equals(root)
}

/** RFC 9162 §2.1.4.2, for 0 < first ≤ second. */
export const verifyConsistency = (
  first: number,
  second: number,
  firstHash: Uint8Array,
  secondHash: Uint8Array,
  path: readonly Uint8Array[],
): boolean => {
  if (first === second) return path.length === 0 && Buffer.from(firstHash).equals(secondHash)
  if (path.length === 0) return false
  const isPower = (BigInt(first) & BigInt(first - 1)) === 0n
  const [start, ...rest] = isPower ? [firstHash, ...path] : path
  let fn = BigInt(first - 1)
  let sn = BigInt(second - 1)
  while (isOdd(fn)) {
    fn >>= 1n
    sn >>= 1n
  }
  let fr: Buffer = Buffer.from(start as Uint8Array)
  let sr: Buffer = Buffer.from(start as Uint8Array)
  for (const c of rest) {
    if (sn === 0n) return false
    if (isOdd(fn) || fn === sn) {
      fr = node(c, fr)
      sr = node(c, sr)
      while (!isOdd(fn) && fn !== 0n) {
        fn >>= 1n
        sn >>= 1n
      }
    } else {
      sr = node(sr, c)
    }
    fn >>= 1n
    sn >>= 1n
  }
  return fr.equals(firstHash) && sr.equals(secondHash) && sn === 0n
}
