/**
 * HMAC-SHA256 (RFC 2104, FIPS 198-1). A key is kept as its midstate: the inner and the outer SHA-256 state after the
 * padded key block, which saves two compressions a message and keeps the key itself out of memory.
 *
 * No branch and no address depends on key or message bytes.
 * @module
 */
import { INPUT, KEY_SLOT_BYTES, KEYS, OUTPUT, wipe } from './memory'
import { finish, initialise, STATE, storeDigest } from './sha256'
import { compress, SCHEDULE } from './sha256-rounds'

const INNER_PAD: i8 = 0x36
const OUTER_PAD: i8 = 0x5c

/** The only block of the outer hash: the inner digest, then the constant padding of 64 + 32 bytes (768 bits). */
const OUTER_BLOCK: usize = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0,
], 64)

@inline
export function keyAddress(slot: u32): usize {
  return KEYS + <usize>slot * KEY_SLOT_BYTES
}

@inline
function xor64(address: usize, pad: i8): void {
  const pads = i8x16.splat(pad)
  v128.store(address, v128.xor(v128.load(address), pads))
  v128.store(address, v128.xor(v128.load(address, 16), pads), 16)
  v128.store(address, v128.xor(v128.load(address, 32), pads), 32)
  v128.store(address, v128.xor(v128.load(address, 48), pads), 48)
}

/** Midstate of the key of `length` bytes at INPUT, at most INPUT_BYTES, to a slot; wipes every trace of the key. */
export function hmacKey(length: usize, slot: u32): void {
  if (length > 64) {
    initialise(STATE)
    finish(STATE, INPUT, length, 0)
    storeDigest(INPUT, STATE)
  }
  const key = keyAddress(slot)
  xor64(INPUT, INNER_PAD)
  initialise(key)
  compress(key, INPUT, 1)
  xor64(INPUT, INNER_PAD ^ OUTER_PAD)
  initialise(key + 32)
  compress(key + 32, INPUT, 1)
  wipe(INPUT, 64)
  wipe(SCHEDULE, 64)
  wipe(STATE, 64)
}

/** Midstate of a slot as 64 bytes (two digests, big-endian words) to OUTPUT; the host wipes it there. */
export function hmacExport(slot: u32): void {
  storeDigest(OUTPUT, keyAddress(slot))
  storeDigest(OUTPUT + 32, keyAddress(slot) + 32)
}

/** Fills a slot from the 64 bytes at INPUT; wipes INPUT. */
export function hmacImport(slot: u32): void {
  storeDigest(keyAddress(slot), INPUT)
  storeDigest(keyAddress(slot) + 32, INPUT + 32)
  wipe(INPUT, 64)
}

/** Empties a slot. */
export function hmacForget(slot: u32): void {
  wipe(keyAddress(slot), 64)
}

/** STATE ← the inner state of a key. */
@inline
export function beginInner(key: usize): void {
  v128.store(STATE, v128.load(key))
  v128.store(STATE, v128.load(key, 16), 16)
}

/** The inner digest in STATE becomes the MAC in STATE. */
@inline
export function outer(key: usize): void {
  storeDigest(OUTER_BLOCK, STATE)
  v128.store(STATE, v128.load(key, 32))
  v128.store(STATE, v128.load(key, 48), 16)
  compress(STATE, OUTER_BLOCK, 1)
}

/** Begins a message; whole blocks follow by sha256Update. */
export function hmacBegin(slot: u32): void {
  beginInner(keyAddress(slot))
}

/** Ends it with `length` bytes at INPUT, `before` bytes having gone before; the 32 bytes of the MAC to OUTPUT. */
export function hmacEnd(slot: u32, length: usize, before: usize): void {
  finish(STATE, INPUT, length, before + 64)
  outer(keyAddress(slot))
  storeDigest(OUTPUT, STATE)
}
