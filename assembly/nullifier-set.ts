/**
 * A set of 12-byte nullifier fragments: open addressing in buckets of one cache line, five entries each, so that a
 * look-up waits for memory once. Entries can't be removed.
 *
 * A bucket is sixteen words (u32): the first words of entries 0–3, their second words, their third words, then the
 * three words of entry 4, then its state: how many entries it holds, plus PASSED once an entry that belongs here had to
 * go on to the next bucket. One vector comparison each thus tests a word of four entries. Zeroed memory is an empty
 * bucket. A shard is a header of 64 bytes, then its buckets. The host places, enlarges and splits shards; the
 * directory leads from the top twelve bits of a hash to a shard.
 *
 * The hash is multilinear over the three words of an entry with secret 64-bit coefficients. Its upper 33 bits are
 * pairwise independent (Lemire and Kaser, "Strongly universal string hashing is fast", section 3), so nobody who
 * does not know the coefficients can grind entries that fall together.
 * @module
 */
import { INPUT, OUTPUT } from './memory'

export const SET_ENTRY_BYTES: usize = 12
export const SET_BUCKET_BYTES: usize = 64
export const SET_HEADER_BYTES: usize = 64
/** A shard is full at 35/8 entries a bucket on average: a load of 0.875, 14.6 bytes an entry. */
export const SET_BUCKET_LIMIT_EIGHTHS: u32 = 35

export const SET_DIRECTORY_BITS: u32 = 12
/** Addresses of shards (u32), one for each value of the top twelve bits of a hash. */
export const SET_DIRECTORY: usize = memory.data(16384, 64)
/** Four u64: what is added, and what the three words are multiplied by. */
export const SET_COEFFICIENTS: usize = memory.data(32, 64)

/** How many entries the host hands over at once: as many as INPUT holds. */
export const SET_PIECE_ENTRIES: u32 = 336

/** Look-ups that are still open: address of a bucket (u32) and number of the entry (u32) each. */
const OPEN: usize = memory.data(2688, 64)
/** Keeps the fetches of buckets from being optimised away. */
const SINK: usize = memory.data(16, 16)

/** The first address free for shards. */
export const SET_BASE: usize = 65536

const BUCKETS: usize = 0
const COUNT: usize = 4

const STATE: usize = 60
const PLACES: u32 = 5
const COUNT_MASK: u32 = 7
const PASSED: u32 = 8

const PRESENT: i32 = 0
const ADDED: i32 = 1
const FULL: i32 = 2

@inline
function hash(k0: u32, k1: u32, k2: u32): u64 {
  return load<u64>(SET_COEFFICIENTS)
    + load<u64>(SET_COEFFICIENTS, 8) * k0
    + load<u64>(SET_COEFFICIENTS, 16) * k1
    + load<u64>(SET_COEFFICIENTS, 24) * k2
}

@inline
function shardOf(h: u64): usize {
  return load<u32>(SET_DIRECTORY + (<usize>(h >> (64 - SET_DIRECTORY_BITS)) << 2))
}

/** Address of the bucket of a shard that a hash belongs to. */
@inline
function bucketOf(shard: usize, h: u64): usize {
  const bucket = (((h << SET_DIRECTORY_BITS) >> 32) * load<u32>(shard, BUCKETS)) >> 32
  return shard + SET_HEADER_BYTES + (<usize>bucket << 6)
}

/** The bucket behind one, round the end of the shard. */
@inline
function nextOf(shard: usize, bucket: usize): usize {
  const next = bucket + SET_BUCKET_BYTES
  const end = shard + SET_HEADER_BYTES + (<usize>load<u32>(shard, BUCKETS) << 6)
  return next == end ? shard + SET_HEADER_BYTES : next
}

/** Whether a bucket holds an entry. Places that are free hold zeros and don't count. */
@inline
function holds(bucket: usize, count: u32, k0: u32, k1: u32, k2: u32): bool {
  const same = v128.and(
    v128.and(i32x4.eq(v128.load(bucket), i32x4.splat(k0)), i32x4.eq(v128.load(bucket, 16), i32x4.splat(k1))),
    v128.and(i32x4.eq(v128.load(bucket, 32), i32x4.splat(k2)), i32x4.gt_s(i32x4.splat(count), i32x4(0, 1, 2, 3))),
  )
  const last = (load<u32>(bucket, 48) ^ k0) | (load<u32>(bucket, 52) ^ k1) | (load<u32>(bucket, 56) ^ k2)
  return bool(u32(v128.any_true(same)) | (u32(last == 0) & u32(count == PLACES)))
}

/** Whether an entry is in a bucket, or in those behind it that took what it had no place for. */
@inline
function has(shard: usize, bucket: usize, k0: u32, k1: u32, k2: u32): bool {
  while (true) {
    const state = load<u32>(bucket, STATE)
    if (holds(bucket, state & COUNT_MASK, k0, k1, k2)) return true
    if (!(state & PASSED)) return false
    bucket = nextOf(shard, bucket)
  }
}

/** Adds to a shard that has room what it does not hold. */
@inline
function put(shard: usize, bucket: usize, k0: u32, k1: u32, k2: u32): void {
  let state = load<u32>(bucket, STATE)
  while ((state & COUNT_MASK) == PLACES) {
    store<u32>(bucket, state | PASSED, STATE)
    bucket = nextOf(shard, bucket)
    state = load<u32>(bucket, STATE)
  }
  const place = state & COUNT_MASK
  const isLast = place == PLACES - 1
  const at = isLast ? bucket + 48 : bucket + (place << 2)
  const stride: usize = isLast ? 4 : 16
  store<u32>(at, k0)
  store<u32>(at + stride, k1)
  store<u32>(at + 2 * stride, k2)
  store<u32>(bucket, state + 1, STATE)
  store<u32>(shard, load<u32>(shard, COUNT) + 1, COUNT)
}

/** Whether the set holds the entry with these three words (little-endian). */
export function setHas(k0: u32, k1: u32, k2: u32): bool {
  const h = hash(k0, k1, k2)
  const shard = shardOf(h)
  return has(shard, bucketOf(shard, h), k0, k1, k2)
}

/** Adds an entry. @returns 0 when it is there, 1 when added, 2 when its shard is full and must grow first */
export function setAdd(k0: u32, k1: u32, k2: u32): i32 {
  const h = hash(k0, k1, k2)
  const shard = shardOf(h)
  const bucket = bucketOf(shard, h)
  if (has(shard, bucket, k0, k1, k2)) return PRESENT
  if (load<u32>(shard, COUNT) * 8 >= load<u32>(shard, BUCKETS) * SET_BUCKET_LIMIT_EIGHTHS) return FULL
  put(shard, bucket, k0, k1, k2)
  return ADDED
}

/** The directory entry that these three words lead to. */
export function setDirectoryIndex(k0: u32, k1: u32, k2: u32): u32 {
  return <u32>(hash(k0, k1, k2) >> (64 - SET_DIRECTORY_BITS))
}

/** Fetches the buckets of all open look-ups. None waits for another, so the processor gets many lines at once. */
@inline
function fetch(end: usize): void {
  let fetched: u32 = 0
  for (let open = OPEN; open < end; open += 8) fetched |= load<u32>(load<u32>(open), STATE)
  store<u32>(SINK, fetched)
}

/**
 * Looks up `count` entries at INPUT, SET_PIECE_ENTRIES at most; one byte each (0 or 1) to OUTPUT.
 *
 * Goes in rounds: the buckets of all open look-ups are fetched, then looked into; what must go on to a next bucket
 * stays open for the next round.
 */
export function setHasBatch(count: usize): void {
  let end = OPEN
  for (let i: usize = 0, at = INPUT; i < count; ++i, at += SET_ENTRY_BYTES, end += 8) {
    const h = hash(load<u32>(at), load<u32>(at, 4), load<u32>(at, 8))
    store<u32>(end, <u32>bucketOf(shardOf(h), h))
    store<u32>(end, <u32>i, 4)
  }
  while (end > OPEN) {
    fetch(end)
    let goesOn = OPEN
    for (let open = OPEN; open < end; open += 8) {
      const bucket = <usize>load<u32>(open)
      const i = load<u32>(open, 4)
      const at = INPUT + i * SET_ENTRY_BYTES
      const k0 = load<u32>(at), k1 = load<u32>(at, 4), k2 = load<u32>(at, 8)
      const state = load<u32>(bucket, STATE)
      const found = holds(bucket, state & COUNT_MASK, k0, k1, k2)
      store<u8>(OUTPUT + i, u8(found))
      if (!found && (state & PASSED)) {
        store<u32>(goesOn, <u32>nextOf(shardOf(hash(k0, k1, k2)), bucket))
        store<u32>(goesOn, i, 4)
        goesOn += 8
      }
    }
    end = goesOn
  }
}

/**
 * Adds entries number `from` to `count` at INPUT, SET_PIECE_ENTRIES at most; one byte each (1 added, 0 present) to
 * OUTPUT.
 * @returns the number of the first entry whose shard was full, else `count`
 */
export function setAddBatch(from: usize, count: usize): usize {
  for (let i = from, at = INPUT + from * SET_ENTRY_BYTES; i < count; ++i, at += SET_ENTRY_BYTES) {
    const result = setAdd(load<u32>(at), load<u32>(at, 4), load<u32>(at, 8))
    if (result == FULL) return i
    store<u8>(OUTPUT + i, <u8>result)
  }
  return count
}

/** Puts an entry where the directory leads now. */
function replace(k0: u32, k1: u32, k2: u32): void {
  const h = hash(k0, k1, k2)
  const shard = shardOf(h)
  put(shard, bucketOf(shard, h), k0, k1, k2)
}

/** Puts every entry of a shard that left the directory into the shards that took its place. */
export function setMove(from: usize): void {
  const end = from + SET_HEADER_BYTES + (<usize>load<u32>(from, BUCKETS) << 6)
  for (let bucket = from + SET_HEADER_BYTES; bucket < end; bucket += SET_BUCKET_BYTES) {
    const count = load<u32>(bucket, STATE) & COUNT_MASK
    for (let i: u32 = 0; i < min<u32>(count, PLACES - 1); ++i) {
      const at = bucket + (i << 2)
      replace(load<u32>(at), load<u32>(at, 16), load<u32>(at, 32))
    }
    if (count == PLACES) replace(load<u32>(bucket, 48), load<u32>(bucket, 52), load<u32>(bucket, 56))
  }
}
