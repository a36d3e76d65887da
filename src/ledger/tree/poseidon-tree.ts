/**
 * Tree 2 by itself: shards of 4,096 Poseidon leaves at a fixed depth, so that a circuit of one size proves membership
 * in a log of any size. A pure function of tree 1's entries, which auditors can recompute.
 * @module
 */
import type { Field } from '../../core/field.ts'
import { POSEIDON_TAGS } from '../../core/poseidon-tags.ts'
import type { EntryType } from '../decision.ts'
import type { LoggedEntry } from '../entries.ts'

export const SHARD_DEPTH = 12
export const SHARD_LEAVES = 2 ** SHARD_DEPTH
export const ELEMENT_BYTES = 32
/** Bytes of a SHA-256 that fit into an element whatever they are. */
const H248_BYTES = 31

/** Entry types as leaves name them. Numbers are never changed nor used again. 0: such entries are no leaves. */
const TYPE_NUMBERS: Readonly<Record<EntryType, number>> = {
  'ledger.poseidon_root': 0,
  'ledger.head': 0,
  verify: 1,
  prove: 2,
  spend: 3,
  'key.revoked': 4,
  gate: 5,
  attest: 6,
  payment: 7,
  revoke: 8,
  chat: 9,
  account: 10,
  hybrid_token: 11,
}

/** The number of an entry's type. @throws Error for a type that this version does not know */
export const typeNumber = (type: EntryType): number => {
  const number: number | undefined = TYPE_NUMBERS[type]
  if (number === undefined) throw new Error(`Entries of type ${type} are of a later version.`)
  return number
}

/** Whether an entry is a leaf of tree 2: all are, but what the log says of itself: roots of its shards, heads of other logs. */
export const isLeaf = ({ type }: Pick<LoggedEntry, 'type'>): boolean => typeNumber(type) !== 0

type Poseidon = Pick<Field, 'poseidon' | 'poseidonPairs'>

export const elementBytes = (element: bigint): Uint8Array =>
  Buffer.from(element.toString(16).padStart(ELEMENT_BYTES * 2, '0'), 'hex')

export const elementOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)

/** Elements that a leaf is the hash of. */
export const LEAF_ELEMENTS = 3

/** Type number, first 31 bytes of the leaf hash, commitment or 0: 32 bytes each, big-endian. */
export const leafElements = (entry: Pick<LoggedEntry, 'type' | 'leafHash' | 'text'>): Uint8Array => {
  const elements = new Uint8Array(LEAF_ELEMENTS * ELEMENT_BYTES)
  elements[ELEMENT_BYTES - 1] = typeNumber(entry.type)
  elements.set(entry.leafHash.subarray(0, H248_BYTES), 2 * ELEMENT_BYTES - H248_BYTES)
  // Few have one, and parsing takes longer than looking.
  if (!entry.text.includes('"commitment"')) return elements
  const { commitment }: { commitment?: string } = JSON.parse(entry.text)
  if (commitment !== undefined) elements.set(Buffer.from(commitment, 'hex'), 2 * ELEMENT_BYTES)
  return elements
}

/** Poseidon[LEAF] of what {@link leafElements} says: 32 bytes, big-endian. */
export const poseidonLeaf = (field: Poseidon, elements: Uint8Array): Uint8Array => {
  const at = (i: number): bigint => elementOf(elements.subarray(i * ELEMENT_BYTES, (i + 1) * ELEMENT_BYTES))
  return elementBytes(field.poseidon(POSEIDON_TAGS.LEAF, [at(0), at(1), at(2)]))
}

/** A shard that grows. Leaves that are not there yet are 0. */
export interface Shard {
  readonly size: number
  /** Adds leaves in O(leaves + depth) hashes. @throws RangeError beyond 4,096 */
  append(leaves: readonly Uint8Array[]): void
  root(): Uint8Array
  /** The 12 siblings of a leaf, from the bottom. @throws RangeError for a leaf that is not there */
  path(position: number): Uint8Array[]
}

/** Roots of empty subtrees of every height, the leaf's first. */
const emptyRoots = (field: Poseidon): Uint8Array[] => {
  const roots: Uint8Array[] = [new Uint8Array(ELEMENT_BYTES)]
  for (let height = 1; height <= SHARD_DEPTH; height++) {
    const below = roots[height - 1] as Uint8Array
    roots.push(field.poseidonPairs(POSEIDON_TAGS.NODE, Buffer.concat([below, below])))
  }
  return roots
}

/** @returns a function that makes empty shards */
export const createShards = (field: Poseidon): (() => Shard) => {
  const empty = emptyRoots(field)
  const layerOf = (height: number): Uint8Array => {
    const layer = Buffer.alloc((SHARD_LEAVES / 2 ** height) * ELEMENT_BYTES)
    return layer.fill(empty[height] as Uint8Array)
  }
  return () => {
    const layers = Array.from({ length: SHARD_DEPTH + 1 }, (_, height) => layerOf(height))
    let size = 0
    const hashAt = (height: number, index: number): Uint8Array =>
      (layers[height] as Uint8Array).slice(index * ELEMENT_BYTES, (index + 1) * ELEMENT_BYTES)

    return {
      get size() {
        return size
      },

      append(leaves) {
        if (leaves.length === 0) return
        if (size + leaves.length > SHARD_LEAVES) throw new RangeError('The shard is full.')
        layers[0]?.set(Buffer.concat(leaves), size * ELEMENT_BYTES)
        let first = size
        size += leaves.length
        let end = size
        for (let height = 1; height <= SHARD_DEPTH; height++) {
          first = Math.floor(first / 2)
          end = Math.ceil(end / 2)
          const pairs = layers[height - 1]?.subarray(first * 2 * ELEMENT_BYTES, end * 2 * ELEMENT_BYTES)
          const nodes = field.poseidonPairs(POSEIDON_TAGS.NODE, pairs as Uint8Array)
          layers[height]?.set(nodes, first * ELEMENT_BYTES)
        }
      },

      root: () => hashAt(SHARD_DEPTH, 0),

      path(position) {
        if (!(position >= 0 && position < size)) throw new RangeError(`The shard has no leaf ${position}.`)
        return Array.from({ length: SHARD_DEPTH }, (_, height) =>
          hashAt(height, Math.floor(position / 2 ** height) ^ 1),
        )
      },
    }
  }
}
