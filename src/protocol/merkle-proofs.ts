/** Proofs of a Merkle tree, folded to the roots that they lead to (RFC 9162 §2.1.3 and §2.1.4). Runs in browsers too. @module */

import { concat } from './checkpoint/note.ts'

const HASH_BYTES = 32

/** SHA-256 of bytes, or of a text in UTF-8. */
export type Sha256 = (message: Uint8Array | string) => Uint8Array

/** SHA-256(0x01 ‖ left ‖ right), by whichever code has it. */
export type NodeHash = (left: Uint8Array, right: Uint8Array) => Uint8Array

/** How a log hashes (RFC 6962 §2.1). */
export interface TreeHashing {
  /** SHA-256(0x00 ‖ entry in UTF-8). */
  readonly leafHash: (entry: string) => Uint8Array
  readonly nodeHash: NodeHash
}

/** @param sha256 the fastest that there is where this runs */
export const treeHashing = (sha256: Sha256): TreeHashing => ({
  leafHash: (entry) => sha256(`\0${entry}`),
  nodeHash: (left, right) => sha256(concat(Uint8Array.of(1), left, right)),
})

/** Not by shifting, which knows 32 bits only. */
const half = (n: number): number => Math.floor(n / 2)
const isOdd = (n: number): boolean => n % 2 === 1

/**
 * The root that a leaf and its audit path lead to (RFC 9162 §2.1.3.2).
 * @param hashes from the leaf upwards
 * @returns undefined when there are too few or too many for this place of a tree of `size` leaves
 */
export const foldInclusion = (
  leaf: Uint8Array,
  index: number,
  size: number,
  hashes: readonly Uint8Array[],
  nodeHash: NodeHash,
): Uint8Array | undefined => {
  if (!(index >= 0 && index < size)) return undefined
  let [place, last] = [index, size - 1]
  let node = leaf
  for (const sibling of hashes) {
    if (last === 0) return undefined
    if (isOdd(place) || place === last) {
      node = nodeHash(sibling, node)
      for (; !isOdd(place) && place !== 0; last = half(last)) place = half(place)
    } else node = nodeHash(node, sibling)
    place = half(place)
    last = half(last)
  }
  return last === 0 ? node : undefined
}

/** Roots of a tree as it was and as it is, as a consistency proof tells them. */
export interface FoldedRoots {
  readonly earlier: Uint8Array
  readonly later: Uint8Array
}

/**
 * The two roots that a consistency proof leads to (RFC 9162 §2.1.4.2), for 0 < earlierSize < laterSize.
 * @param earlierRoot stands for the first hash of the proof where the earlier tree is perfect
 * @returns undefined when there are too few or too many hashes for these sizes
 */
export const foldConsistency = (
  earlierSize: number,
  laterSize: number,
  earlierRoot: Uint8Array,
  hashes: readonly Uint8Array[],
  nodeHash: NodeHash,
): FoldedRoots | undefined => {
  if (!(earlierSize > 0 && earlierSize < laterSize) || hashes.length === 0) return undefined
  const isPerfect = Number.isInteger(Math.log2(earlierSize))
  const [start, ...rest] = isPerfect ? [earlierRoot, ...hashes] : hashes
  if (start === undefined) return undefined
  let [place, last] = [earlierSize - 1, laterSize - 1]
  for (; isOdd(place); last = half(last)) place = half(place)
  let [earlier, later] = [start, start]
  for (const hash of rest) {
    if (last === 0) return undefined
    if (isOdd(place) || place === last) {
      earlier = nodeHash(hash, earlier)
      later = nodeHash(hash, later)
      for (; !isOdd(place) && place !== 0; last = half(last)) place = half(place)
    } else later = nodeHash(later, hash)
    place = half(place)
    last = half(last)
  }
  return last === 0 ? { earlier, later } : undefined
}

const isEqual = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, at) => byte === b[at])

const areHashes = (...all: readonly Uint8Array[]): boolean => all.every(({ length }) => length === HASH_BYTES)

/** Size and root of a tree. */
export interface TreeHead {
  readonly size: number
  readonly root: Uint8Array
}

/** Whether a leaf stands at this place of a tree (RFC 9162 §2.1.3.2). @param hashes its audit path */
export const verifyInclusion = (
  leaf: Uint8Array,
  index: number,
  { size, root }: TreeHead,
  hashes: readonly Uint8Array[],
  nodeHash: NodeHash,
): boolean => {
  if (!areHashes(leaf, ...hashes)) return false
  const reached = foldInclusion(leaf, index, size, hashes, nodeHash)
  return reached !== undefined && isEqual(reached, root)
}

/**
 * Whether a tree is the beginning of another one (RFC 9162 §2.1.4.2). Trees of one size are consistent if they are the same: the proof has no
 * hash (§2.1.4.1). That section defines no proof from the empty tree; it is the beginning of every tree if its root is that of §2.1.1, and no
 * hash may be given for it (C2SP tlog-witness says the same).
 * @param emptyRoot SHA-256 of nothing
 */
export const verifyConsistency = (
  earlier: TreeHead,
  later: TreeHead,
  hashes: readonly Uint8Array[],
  nodeHash: NodeHash,
  emptyRoot: Uint8Array,
): boolean => {
  if (!areHashes(earlier.root, later.root, ...hashes)) return false
  const isEmptyAsSaid = ({ size, root }: TreeHead): boolean => size !== 0 || isEqual(root, emptyRoot)
  if (!isEmptyAsSaid(earlier) || !isEmptyAsSaid(later)) return false
  if (earlier.size === later.size) return hashes.length === 0 && isEqual(earlier.root, later.root)
  if (earlier.size === 0) return hashes.length === 0
  const folded = foldConsistency(earlier.size, later.size, earlier.root, hashes, nodeHash)
  return folded !== undefined && isEqual(folded.earlier, earlier.root) && isEqual(folded.later, later.root)
}
