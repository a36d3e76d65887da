/**
 * The Merkle tree over the entries: SHA-256 with domain-separating prefixes, RFC 6962 §2.1 (RFC 9162 §2.1). Only its
 * right edge is kept: the roots of the perfect subtrees that the leaves so far fall into, from the left.
 * @module
 */
import { hash } from 'node:crypto'
import { createCore } from '../../core/index.ts'
import { foldInclusion as foldInclusionWith } from '../../protocol/merkle-proofs.ts'

export const HASH_BYTES = 32
/** Hashes in a full tile; C2SP tlog-tiles. */
export const TILE_HASHES = 256
/** Levels of the tree that one level of tiles spans: 2^8 = 256. */
export const TILE_HEIGHT = 8

/** RFC 6962 §2.1: MTH({}) = SHA-256(). */
const EMPTY_ROOT = hash('sha256', '', 'buffer')

/** SHA-256(0x00 ‖ entry). @param text canonical JSON, hashed as UTF-8 */
export const leafHash = (text: string): Buffer => hash('sha256', `\0${text}`, 'buffer')

const core = createCore()
const pair = new Uint8Array(1 + 2 * HASH_BYTES)
pair[0] = 1

/** SHA-256(0x01 ‖ left ‖ right). */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array => {
  pair.set(left, 1)
  pair.set(right, 1 + HASH_BYTES)
  return core.sha256(pair)
}

/** A node that tiles keep: `level` n holds the roots of full tiles of level n - 1. */
export interface TileNode {
  readonly level: number
  readonly index: number
  readonly hash: Uint8Array
}

export interface Growth {
  readonly size: number
  readonly root: Uint8Array
  readonly edge: readonly Uint8Array[]
  /** Roots of the tiles that became full, in the order in which they did. */
  readonly nodes: readonly TileNode[]
}

/** The root over a right edge: RFC 6962 splits at the greatest power of two, so the edge folds from the right. */
export const rootOf = (edge: readonly Uint8Array[]): Uint8Array =>
  edge.length === 0 ? EMPTY_ROOT : edge.reduceRight((right, left) => nodeHash(left, right))

/**
 * Appends leaves in O(1) hashes each.
 * @param size leaves so far @param edge right edge of the tree of that size
 * @throws RangeError when edge and size don't belong together
 */
export const grow = (size: number, edge: readonly Uint8Array[], leaves: readonly Uint8Array[]): Growth => {
  if (edge.length !== countOnes(size))
    throw new RangeError(`A tree of ${size} leaves has another right edge.`)
  const stack = [...edge]
  const nodes: TileNode[] = []
  let count = size
  for (const leaf of leaves) {
    count++
    let node = leaf
    let height = 0
    // Each trailing zero bit of the new size is a subtree that just became perfect.
    for (let rest = count; rest % 2 === 0; rest /= 2) {
      const left = stack.pop()
      if (left === undefined) throw new RangeError('The right edge is too short.')
      node = nodeHash(left, node)
      height++
      if (height % TILE_HEIGHT === 0) {
        nodes.push({ level: height / TILE_HEIGHT, index: rest / 2 - 1, hash: node })
      }
    }
    stack.push(node)
  }
  return { size: count, root: rootOf(stack), edge: stack, nodes }
}

/** One bits of a size up to 2^53: as many perfect subtrees make up the tree. */
const countOnes = (size: number): number => {
  let ones = 0
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) ones += rest % 2
  return ones
}

/** Splits concatenated hashes. */
export const splitHashes = (bytes: Uint8Array): Uint8Array[] =>
  Array.from({ length: bytes.length / HASH_BYTES }, (_, index) =>
    bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  )

/** The root that a leaf and its audit path lead to; see {@link foldInclusionWith}. */
export const foldInclusion = (
  leaf: Uint8Array,
  index: number,
  size: number,
  hashes: readonly Uint8Array[],
): Uint8Array | undefined => foldInclusionWith(leaf, index, size, hashes, nodeHash)
