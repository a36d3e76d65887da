/**
 * A set of nullifier fragments, 12 bytes each, in memory of its own. It grows shard by shard, so that no addition has
 * to move more than a few hundred thousand entries. The table itself is in assembly/nullifier-set.ts.
 * @module
 */
import { type CoreInstance, type InstanceOptions, instantiate } from './instance.ts'
import { createRegions } from './memory.ts'
import { readSnapshot, type ShardPlace, writeSnapshot } from './nullifier-snapshot.ts'
import { createSha256 } from './sha256.ts'

export const NULLIFIER_ENTRY_BYTES = 12
export const NULLIFIER_SEED_BYTES = 16

/** About so many entries a shard when the size is known beforehand; moving them takes a few milliseconds. */
const SHARD_TARGET_ENTRIES = 400_000
/** A full shard of so many buckets is split, a smaller one enlarged by a quarter. */
const SHARD_SPLIT_BUCKETS = 26_624
const SMALLEST_SHARD_BUCKETS = 26
/** Shards fill unevenly; so many standard deviations above the mean have room before the first one must grow. */
const SPARE_DEVIATIONS = 4
/** What `setAdd` answers when the shard must grow first. */
const SHARD_FULL = 2

export interface NullifierSetOptions extends Omit<InstanceOptions, 'memory'> {
  /** 16 random bytes. Whoever knows them can choose nullifiers that slow the set down. */
  seed: Uint8Array
  /** How many entries to make room for; the set grows beyond them. Default 0. */
  capacityHint?: number
}

export interface NullifierSet {
  /** Whether the set holds the 12-byte fragment. @throws RangeError at any other length */
  has(entry: Uint8Array): boolean
  /** Adds a fragment. @returns false when it was there. @throws RangeError at any other length, or out of memory */
  add(entry: Uint8Array): boolean
  /** Looks up many fragments that stand one after another. @returns one byte each, 1 when present */
  hasBatch(entries: Uint8Array): Uint8Array
  /**
   * Adds many fragments that stand one after another.
   * @returns one byte each, 1 when added, 0 when it was there
   * @throws RangeError as {@link add}; out of memory, those before the one that found no room are added
   */
  addBatch(entries: Uint8Array): Uint8Array
  /** Entries held. */
  readonly size: number
  /** All memory of the set, divided by the entries; Infinity for none. */
  readonly bytesPerEntry: number
  /** A copy that {@link restoreNullifierSet} takes. It holds the seed, so keep it as private as the set. */
  snapshot(): Uint8Array
}

/** A shard: `depth` bits of the hash lead to it, from directory entry `first` on. */
interface Shard extends ShardPlace {
  address: number
}

const limitOf = (what: string, bytes: number, unit: string): never => {
  throw new RangeError(`nullifier set: ${what} has ${bytes} bytes, not ${unit}`)
}

const word = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)

/** The table of shards: where they lie, and how they become larger and more. */
const createShards = (instance: CoreInstance) => {
  const { call, layout, memory } = instance
  const regions = createRegions(memory, layout.SET_BASE)
  const directoryEntries = 2 ** layout.SET_DIRECTORY_BITS
  const directory = new Array<Shard | undefined>(directoryEntries)

  const bytesOf = (buckets: number): number => layout.SET_HEADER_BYTES + buckets * layout.SET_BUCKET_BYTES
  const header = (address: number): Uint32Array => new Uint32Array(memory.buffer, address, 2)

  /** Places an empty shard and leads its part of the directory to it. */
  const place = ({ first, depth, buckets }: ShardPlace): Shard => {
    const shard = { first, depth, buckets, address: regions.take(bytesOf(buckets)) }
    header(shard.address)[0] = buckets
    const span = directoryEntries >> depth
    directory.fill(shard, first, first + span)
    new Uint32Array(memory.buffer, layout.SET_DIRECTORY, directoryEntries).fill(
      shard.address,
      first,
      first + span,
    )
    return shard
  }

  return {
    bytesOf,
    place,
    reserve: regions.reserve,
    /** Every shard once, in directory order. */
    list: (): Shard[] => directory.flatMap((shard, i) => (shard?.first === i ? [shard] : [])),
    countOf: (shard: Shard): number => header(shard.address)[1] ?? 0,
    /** Makes room where a directory entry leads: the shard becomes larger, or two. */
    grow(index: number): void {
      const shard = directory[index]
      if (shard === undefined) throw new RangeError(`nullifier set: there is no directory entry ${index}`)
      const buckets = shard.buckets + Math.ceil(shard.buckets / 4)
      const { first, depth, address } = shard
      if (buckets > SHARD_SPLIT_BUCKETS && depth < layout.SET_DIRECTORY_BITS) {
        const half = Math.ceil(buckets / 2)
        // Throws here or not at all: one empty half in the directory would hide what the old shard has of it.
        regions.reserve(2 * bytesOf(half))
        place({ first, depth: depth + 1, buckets: half })
        place({ first: first + (directoryEntries >> (depth + 1)), depth: depth + 1, buckets: half })
      } else {
        place({ first, depth, buckets })
      }
      call.setMove(address)
      regions.giveBack(address, bytesOf(shard.buckets))
    },
  }
}

type Shards = ReturnType<typeof createShards>

/** The shards that hold `entries` without growing, but for chance. */
const placeFor = (shards: Shards, entries: number, instance: CoreInstance): void => {
  const { SET_DIRECTORY_BITS, SET_BUCKET_LIMIT_EIGHTHS } = instance.layout
  const wanted = Math.ceil(Math.log2(Math.max(1, entries / SHARD_TARGET_ENTRIES)))
  const depth = Math.min(SET_DIRECTORY_BITS, wanted)
  const mean = entries / 2 ** depth
  const room = depth === 0 ? mean : mean + SPARE_DEVIATIONS * Math.sqrt(mean)
  const buckets = Math.max(SMALLEST_SHARD_BUCKETS, Math.ceil((room * 8) / SET_BUCKET_LIMIT_EIGHTHS))
  const span = 2 ** (SET_DIRECTORY_BITS - depth)
  shards.reserve(shards.bytesOf(buckets) * 2 ** depth)
  for (let first = 0; first < 2 ** SET_DIRECTORY_BITS; first += span) shards.place({ first, depth, buckets })
}

/** The set over shards that are in place. */
const createSet = (instance: CoreInstance, shards: Shards): NullifierSet => {
  const { call, layout, memory } = instance
  let size = shards.list().reduce((sum, shard) => sum + shards.countOf(shard), 0)

  const checkEntry = (entry: Uint8Array): void => {
    if (entry.length !== NULLIFIER_ENTRY_BYTES) limitOf('an entry', entry.length, '12')
  }

  const growFor = (k0: number, k1: number, k2: number): void =>
    shards.grow(call.setDirectoryIndex(k0, k1, k2))

  /** Hands entries over piece by piece; `run` leaves one byte for each in OUTPUT. */
  const inPieces = (entries: Uint8Array, run: (count: number) => void): Uint8Array => {
    if (entries.length % NULLIFIER_ENTRY_BYTES !== 0) limitOf('a batch', entries.length, 'a multiple of 12')
    const total = entries.length / NULLIFIER_ENTRY_BYTES
    const results = new Uint8Array(total)
    for (let from = 0; from < total; from += layout.SET_PIECE_ENTRIES) {
      const count = Math.min(layout.SET_PIECE_ENTRIES, total - from)
      const piece = entries.subarray(from * NULLIFIER_ENTRY_BYTES, (from + count) * NULLIFIER_ENTRY_BYTES)
      new Uint8Array(memory.buffer).set(piece, layout.INPUT)
      try {
        run(count)
        // The buffer is another one when the set has grown meanwhile.
        results.set(new Uint8Array(memory.buffer, layout.OUTPUT, count), from)
      } finally {
        new Uint8Array(memory.buffer, layout.INPUT, piece.length).fill(0)
      }
    }
    return results
  }

  const addPiece = (count: number): void => {
    let done = call.setAddBatch(0, count)
    try {
      for (; done < count; done = call.setAddBatch(done, count)) {
        const at = layout.INPUT + done * NULLIFIER_ENTRY_BYTES
        const [k0 = 0, k1 = 0, k2 = 0] = new Uint32Array(memory.buffer, at, 3)
        growFor(k0, k1, k2)
      }
    } finally {
      // What was added before memory ran out stays.
      for (const added of new Uint8Array(memory.buffer, layout.OUTPUT, done)) size += added
    }
  }

  return {
    has(entry) {
      checkEntry(entry)
      return call.setHas(word(entry, 0), word(entry, 4), word(entry, 8)) !== 0
    },

    add(entry) {
      checkEntry(entry)
      const k0 = word(entry, 0)
      const k1 = word(entry, 4)
      const k2 = word(entry, 8)
      let result = call.setAdd(k0, k1, k2)
      while (result === SHARD_FULL) {
        growFor(k0, k1, k2)
        result = call.setAdd(k0, k1, k2)
      }
      size += result
      return result === 1
    },

    hasBatch: (entries) => inPieces(entries, (count) => call.setHasBatch(count)),

    addBatch: (entries) => inPieces(entries, addPiece),

    get size() {
      return size
    },

    get bytesPerEntry() {
      return memory.buffer.byteLength / size
    },

    snapshot: () =>
      writeSnapshot(
        instance,
        shards.list().map((shard) => ({ ...shard, count: shards.countOf(shard) })),
      ),
  }
}

/**
 * An empty set.
 * @throws RangeError when the seed has not 16 bytes, or there is no memory for the capacity
 */
export const createNullifierSet = ({ seed, capacityHint = 0, module }: NullifierSetOptions): NullifierSet => {
  if (seed.length !== NULLIFIER_SEED_BYTES) limitOf('the seed', seed.length, '16')
  const instance = instantiate({ module })
  const coefficients = createSha256(instance).sha256(seed)
  new Uint8Array(instance.memory.buffer).set(coefficients, instance.layout.SET_COEFFICIENTS)
  const shards = createShards(instance)
  placeFor(shards, capacityHint, instance)
  return createSet(instance, shards)
}

/**
 * The set that a snapshot was taken of.
 * @throws NullifierSnapshotError when the snapshot is damaged, cut short, or of an unknown version
 */
export const restoreNullifierSet = (
  snapshot: Uint8Array,
  options: Omit<InstanceOptions, 'memory'> = {},
): NullifierSet => {
  const instance = instantiate(options)
  const shards = createShards(instance)
  shards.reserve(snapshot.length)
  readSnapshot(instance, snapshot, (shard) => shards.place(shard).address)
  return createSet(instance, shards)
}
