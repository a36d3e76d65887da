/**
 * Snapshots of a nullifier set: its shards as they lie in memory, behind a header that tells damage.
 *
 * Integers are little-endian. Header, 64 bytes: "nullset\0" (8) ‖ version (u32) ‖ shards (u32) ‖ entries (u64) ‖ bytes
 * of the whole snapshot (u64) ‖ hash coefficients (32). Then 80 bytes a shard: first directory entry, depth, buckets,
 * entries (u32 each) ‖ check of the shard (64). Then SHA-256 of all this, then the shards.
 * @module
 */
import type { CoreInstance } from './instance.ts'
import { createSha256 } from './sha256.ts'

const MAGIC = 'nullset\0'
const VERSION = 1
const HEADER_BYTES = 64
const SHARD_RECORD_BYTES = 80
const DIGEST_BYTES = 32
const CHECK_AT = 16
const CHECK_BYTES = 64
/** Copied and checked while it is in the processor's cache. A multiple of 64. */
const PIECE_BYTES = 65_536
const COEFFICIENTS_AT = 32
const COEFFICIENTS_BYTES = 32

/** Why a snapshot can't be used. */
export class NullifierSnapshotError extends Error {
  constructor(reason: string) {
    super(`The nullifier snapshot can't be used: ${reason}.`)
    this.name = 'NullifierSnapshotError'
  }
}

/** Where a shard belongs and how large it is. */
export interface ShardPlace {
  /** Its first directory entry. */
  first: number
  /** Bits of the hash that lead to it. */
  depth: number
  buckets: number
}

interface StoredShard extends ShardPlace {
  address: number
  count: number
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const shardBytes = ({ layout }: CoreInstance, buckets: number): number =>
  layout.SET_HEADER_BYTES + buckets * layout.SET_BUCKET_BYTES

/** Calls `copy` for piece after piece of a shard, and returns the 64-byte check over them all. */
const checkPieces = (
  { call, layout, memory }: CoreInstance,
  address: number,
  bytes: number,
  copy: (piece: Uint8Array, from: number) => void,
): Uint8Array => {
  const check = new Uint8Array(memory.buffer, layout.OUTPUT, CHECK_BYTES).fill(0)
  for (let from = 0; from < bytes; from += PIECE_BYTES) {
    const length = Math.min(PIECE_BYTES, bytes - from)
    copy(new Uint8Array(memory.buffer, address + from, length), from)
    call.setCheck(address + from, length)
  }
  return check
}

const equal = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i])

/** Copies the set into one array. */
export const writeSnapshot = (instance: CoreInstance, shards: readonly StoredShard[]): Uint8Array => {
  const { layout, memory } = instance
  const tableEnd = HEADER_BYTES + shards.length * SHARD_RECORD_BYTES
  const total = shards.reduce(
    (bytes, shard) => bytes + shardBytes(instance, shard.buckets),
    tableEnd + DIGEST_BYTES,
  )
  const snapshot = new Uint8Array(total)
  const view = viewOf(snapshot)
  for (let i = 0; i < MAGIC.length; i++) snapshot[i] = MAGIC.charCodeAt(i)
  view.setUint32(8, VERSION, true)
  view.setUint32(12, shards.length, true)
  view.setBigUint64(16, BigInt(shards.reduce((sum, shard) => sum + shard.count, 0)), true)
  view.setBigUint64(24, BigInt(total), true)
  snapshot.set(new Uint8Array(memory.buffer, layout.SET_COEFFICIENTS, COEFFICIENTS_BYTES), COEFFICIENTS_AT)
  let record = HEADER_BYTES
  let body = tableEnd + DIGEST_BYTES
  for (const { first, depth, buckets, count, address } of shards) {
    view.setUint32(record, first, true)
    view.setUint32(record + 4, depth, true)
    view.setUint32(record + 8, buckets, true)
    view.setUint32(record + 12, count, true)
    const bytes = shardBytes(instance, buckets)
    const start = body
    const check = checkPieces(instance, address, bytes, (piece, from) => snapshot.set(piece, start + from))
    snapshot.set(check, record + CHECK_AT)
    record += SHARD_RECORD_BYTES
    body += bytes
  }
  snapshot.set(createSha256(instance).sha256(snapshot.subarray(0, tableEnd)), tableEnd)
  return snapshot
}

/** Checks header and table. @returns the number of shards */
const readHeader = (instance: CoreInstance, snapshot: Uint8Array): number => {
  if (snapshot.length < HEADER_BYTES + DIGEST_BYTES) throw new NullifierSnapshotError('it is too short')
  const view = viewOf(snapshot)
  const magic = String.fromCharCode(...snapshot.subarray(0, MAGIC.length))
  if (magic !== MAGIC) throw new NullifierSnapshotError('it does not begin like one')
  const version = view.getUint32(8, true)
  if (version !== VERSION) throw new NullifierSnapshotError(`its version is ${version}, known is ${VERSION}`)
  const total = view.getBigUint64(24, true)
  if (total !== BigInt(snapshot.length)) {
    throw new NullifierSnapshotError(`it has ${snapshot.length} bytes and should have ${total}`)
  }
  const shards = view.getUint32(12, true)
  const tableEnd = HEADER_BYTES + shards * SHARD_RECORD_BYTES
  if (tableEnd + DIGEST_BYTES > snapshot.length) throw new NullifierSnapshotError('its table is cut short')
  const digest = createSha256(instance).sha256(snapshot.subarray(0, tableEnd))
  if (!equal(digest, snapshot.subarray(tableEnd, tableEnd + DIGEST_BYTES))) {
    throw new NullifierSnapshotError('its header is damaged')
  }
  return shards
}

/**
 * Copies a snapshot into memory.
 * @param place makes an empty shard and returns its address
 * @throws NullifierSnapshotError naming what is wrong
 */
export const readSnapshot = (
  instance: CoreInstance,
  snapshot: Uint8Array,
  place: (shard: ShardPlace) => number,
): void => {
  const { layout, memory } = instance
  const shards = readHeader(instance, snapshot)
  const view = viewOf(snapshot)
  const directoryEntries = 2 ** layout.SET_DIRECTORY_BITS
  new Uint8Array(memory.buffer).set(
    snapshot.subarray(COEFFICIENTS_AT, COEFFICIENTS_AT + COEFFICIENTS_BYTES),
    layout.SET_COEFFICIENTS,
  )
  let body = HEADER_BYTES + shards * SHARD_RECORD_BYTES + DIGEST_BYTES
  let entries = 0n
  let next = 0
  for (let i = 0; i < shards; i++) {
    const record = HEADER_BYTES + i * SHARD_RECORD_BYTES
    const [first, depth, buckets] = [0, 4, 8].map((at) => view.getUint32(record + at, true)) as [
      number,
      number,
      number,
    ]
    // One behind the other they lead from every hash to a shard.
    if (first !== next || depth > layout.SET_DIRECTORY_BITS || buckets === 0)
      throw new NullifierSnapshotError(`shard ${i} has no place`)
    next += directoryEntries >> depth
    const count = view.getUint32(record + 12, true)
    const bytes = shardBytes(instance, buckets)
    if (body + bytes > snapshot.length) throw new NullifierSnapshotError(`shard ${i} is cut short`)
    const address = place({ first, depth, buckets })
    const start = body
    const check = checkPieces(instance, address, bytes, (piece, from) =>
      piece.set(snapshot.subarray(start + from, start + from + piece.length)),
    )
    const [storedBuckets, storedCount] = new Uint32Array(memory.buffer, address, 2)
    const expected = snapshot.subarray(record + CHECK_AT, record + CHECK_AT + CHECK_BYTES)
    if (storedBuckets !== buckets || storedCount !== count || !equal(check, expected)) {
      throw new NullifierSnapshotError(`shard ${i} is damaged`)
    }
    entries += BigInt(count)
    body += bytes
  }
  if (next !== directoryEntries) throw new NullifierSnapshotError('shards are missing')
  if (entries !== view.getBigUint64(16, true)) throw new NullifierSnapshotError('its entries do not add up')
}
