/**
 * Proves that many leaves stand in one tree, without a path for each: told in order, with the hashes of the perfect
 * subtrees that lie between them, the leaves make the root. Whoever checks needs O(log n) memory. The tree is that
 * of RFC 6962 §2.1.
 * @module
 */

import type { Sha256 } from '../merkle-proofs.ts'

const HASH_BYTES = 32

/** Leaves `from` up to, but not including, `to`. */
interface Range {
  readonly from: number
  readonly to: number
}

/**
 * The perfect subtrees that lie side by side from one leaf up to another: each as large as its place allows, so there
 * are at most two of a height.
 * @param to exclusive
 */
export const subtreesBetween = (from: number, to: number): Range[] => {
  const found: Range[] = []
  for (let start = from; start < to; ) {
    let length = 1
    while (start % (length * 2) === 0 && start + length * 2 <= to) length *= 2
    found.push({ from: start, to: start + length })
    start += length
  }
  return found
}

/** A tree that is being put together again, from the left. */
export interface Rebuilding {
  /** Leaves so far. */
  readonly size: number
  /** Adds one leaf. */
  add(leaf: Uint8Array): void
  /**
   * Adds what stands between here and a leaf that is told next, or the end.
   * @param hashes of {@link subtreesBetween} the size so far and `to`
   * @returns false when there are more or fewer hashes than that takes
   */
  skip(to: number, hashes: readonly Uint8Array[]): boolean
  root(): Uint8Array
}

/** @param sha256 the fastest that there is where this runs */
export const rebuildTree = (sha256: Sha256): Rebuilding => {
  const pair = new Uint8Array(1 + 2 * HASH_BYTES)
  pair[0] = 1
  const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array => {
    pair.set(left, 1)
    pair.set(right, 1 + HASH_BYTES)
    return sha256(pair)
  }
  /** Perfect subtrees of falling length. */
  const parts: { length: number; hash: Uint8Array }[] = []
  let size = 0
  const push = (length: number, hash: Uint8Array): void => {
    size += length
    let part = { length, hash }
    for (let left = parts.at(-1); left?.length === part.length; left = parts.at(-1)) {
      parts.pop()
      part = { length: part.length * 2, hash: nodeHash(left.hash, part.hash) }
    }
    parts.push(part)
  }
  return {
    get size() {
      return size
    },
    add: (leaf) => push(1, leaf),
    skip(to, hashes) {
      if (to < size) return false
      const between = subtreesBetween(size, to)
      if (between.length !== hashes.length) return false
      for (const [place, { from, to: end }] of between.entries())
        push(end - from, hashes[place] as Uint8Array)
      return true
    },
    root: () =>
      parts.length === 0
        ? sha256('')
        : parts.map(({ hash }) => hash).reduceRight((right, left) => nodeHash(left, right)),
  }
}
