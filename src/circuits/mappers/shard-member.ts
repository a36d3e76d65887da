/** The native twin of circuits/lib/merkle.circom: an entry of the ledger as a leaf, and the root above it. @module */
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import { poseidon } from '../field.ts'

/** Levels of a shard: 4,096 leaves. */
export const SHARD_DEPTH = 12

/** Where an entry stands in its shard of tree 2. */
export interface ShardPlace {
  /** The first 31 bytes of the entry's leaf hash in tree 1, big-endian. */
  readonly leafHash: bigint
  /** 0 ≤ position < 4,096. */
  readonly position: number
  /** 12 siblings, from the bottom. */
  readonly path: readonly bigint[]
}

/** Leaf of an entry. @param entryType its number @param commitment of the entry, or 0 */
export const shardLeaf = (entryType: bigint, leafHash: bigint, commitment: bigint): bigint =>
  poseidon(POSEIDON_TAGS.LEAF, [entryType, leafHash, commitment])

/** The root that a leaf and its siblings lead to. @throws RangeError for a place that no shard has */
export const shardRoot = (leaf: bigint, { position, path }: Omit<ShardPlace, 'leafHash'>): bigint => {
  if (!Number.isInteger(position) || position < 0 || position >= 2 ** SHARD_DEPTH)
    throw new RangeError(`position must be within ${SHARD_DEPTH} bits`)
  if (path.length !== SHARD_DEPTH) throw new RangeError(`path must have ${SHARD_DEPTH} elements`)
  return path.reduce((node, sibling, height) => {
    const isRight = Math.floor(position / 2 ** height) % 2 === 1
    return poseidon(POSEIDON_TAGS.NODE, isRight ? [sibling, node] : [node, sibling])
  }, leaf)
}
