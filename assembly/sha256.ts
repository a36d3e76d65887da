/**
 * SHA-256 (FIPS 180-4) for the host: one message of any length, or many of 32 or 64 bytes four at a time.
 * @module
 */
import { INPUT, OUTPUT, wipe } from './memory'
import { compress, compress4, compressPadding, compressPadding4, SCHEDULE, WORDS4 } from './sha256-rounds'
import { bigEndian } from './sha256-steps'

/** Eight words of the message in progress. */
export const STATE: usize = memory.data(32, 64)
/** Eight vectors: word i of four messages. */
const STATE4: usize = memory.data(128, 64)

/** The initial hash value, section 5.3.3. */
@inline
export function initialise(state: usize): void {
  v128.store(state, i32x4(0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a))
  v128.store(state, i32x4(0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19), 16)
}

/** The initial hash value of four messages. */
@inline
export function initialise4(state: usize): void {
  v128.store(state, i32x4.splat(0x6a09e667))
  v128.store(state, i32x4.splat(0xbb67ae85), 16)
  v128.store(state, i32x4.splat(0x3c6ef372), 32)
  v128.store(state, i32x4.splat(0xa54ff53a), 48)
  v128.store(state, i32x4.splat(0x510e527f), 64)
  v128.store(state, i32x4.splat(0x9b05688c), 80)
  v128.store(state, i32x4.splat(0x1f83d9ab), 96)
  v128.store(state, i32x4.splat(0x5be0cd19), 112)
}

/** Writes the 32 bytes of the digest. */
@inline
export function storeDigest(to: usize, state: usize): void {
  v128.store(to, bigEndian(v128.load(state)))
  v128.store(to, bigEndian(v128.load(state, 16)), 16)
}

/**
 * Pads the message at `message` in place (section 5.1.1), hashes it into `state` and wipes it.
 * @param length bytes at `message`; what follows in its last block, and one block more, must be zero
 * @param before bytes hashed into `state` earlier, a multiple of 64
 */
@inline
export function finish(state: usize, message: usize, length: usize, before: usize): void {
  const blocks = (length + 72) >>> 6
  store<u8>(message + length, 0x80)
  store<u64>(message + (blocks << 6) - 8, bswap<u64>(<u64>(before + length) << 3))
  compress(state, message, <i32>blocks)
  wipe(message, blocks << 6)
}

/** SHA-256 of the `length` bytes at INPUT, at most INPUT_BYTES, to OUTPUT; wipes every trace of them. */
export function sha256(length: usize): void {
  initialise(STATE)
  if (length == 64) {
    compress(STATE, INPUT, 1)
    compressPadding(STATE)
    wipe(INPUT, 64)
  } else {
    finish(STATE, INPUT, length, 0)
  }
  wipe(SCHEDULE, 64)
  storeDigest(OUTPUT, STATE)
}

/** Begins a message that does not fit INPUT. */
export function sha256Begin(): void {
  initialise(STATE)
}

/** Continues with `blocks` whole blocks from INPUT; wipes them. */
export function sha256Update(blocks: i32): void {
  compress(STATE, INPUT, blocks)
  wipe(INPUT, <usize>blocks << 6)
}

/** Ends with the last `length` bytes at INPUT, after `before` bytes; digest to OUTPUT; wipes every trace of the message. */
export function sha256End(length: usize, before: usize): void {
  finish(STATE, INPUT, length, before)
  wipe(SCHEDULE, 64)
  storeDigest(OUTPUT, STATE)
}

/** Four rows of four words to four columns, stored `stride` bytes apart. */
@inline
function transpose(to: usize, stride: usize, r0: v128, r1: v128, r2: v128, r3: v128): void {
  const low01 = v128.shuffle<u32>(r0, r1, 0, 4, 1, 5)
  const low23 = v128.shuffle<u32>(r2, r3, 0, 4, 1, 5)
  const high01 = v128.shuffle<u32>(r0, r1, 2, 6, 3, 7)
  const high23 = v128.shuffle<u32>(r2, r3, 2, 6, 3, 7)
  v128.store(to, v128.shuffle<u64>(low01, low23, 0, 2))
  v128.store(to + stride, v128.shuffle<u64>(low01, low23, 1, 3))
  v128.store(to + (stride << 1), v128.shuffle<u64>(high01, high23, 0, 2))
  v128.store(to + stride * 3, v128.shuffle<u64>(high01, high23, 1, 3))
}

/** Words 4q to 4q+3 of four messages that stand `stride` bytes apart, to WORDS4. */
@inline
export function loadWords4(message: usize, stride: usize, q: usize): void {
  const from = message + (q << 4)
  transpose(
    WORDS4 + (q << 6),
    16,
    bigEndian(v128.load(from)),
    bigEndian(v128.load(from + stride)),
    bigEndian(v128.load(from + (stride << 1))),
    bigEndian(v128.load(from + stride * 3)),
  )
}

/** Words 8 to 15 of the only block after a 32-byte message: the padding bit, zeros and the length. */
@inline
export function padWords4(bits: i32): void {
  const zero = i32x4.splat(0)
  v128.store(WORDS4, i32x4.splat(0x80000000), 128)
  v128.store(WORDS4, zero, 144)
  v128.store(WORDS4, zero, 160)
  v128.store(WORDS4, zero, 176)
  v128.store(WORDS4, zero, 192)
  v128.store(WORDS4, zero, 208)
  v128.store(WORDS4, zero, 224)
  v128.store(WORDS4, i32x4.splat(bits), 240)
}

/** Words 4q to 4q+3 of four digests, from vectors to bytes `stride` apart. */
@inline
export function storeWords4(to: usize, stride: usize, state: usize, q: usize): void {
  const words = state + (q << 6)
  transpose(
    to + (q << 4),
    stride,
    bigEndian(v128.load(words)),
    bigEndian(v128.load(words, 16)),
    bigEndian(v128.load(words, 32)),
    bigEndian(v128.load(words, 48)),
  )
}

/** SHA-256 of `count` messages of 32 bytes at INPUT, to OUTPUT; a multiple of 4 is hashed, 4096 bytes at most. */
export function sha256Batch32(count: i32): void {
  for (let i = 0, from = INPUT, to = OUTPUT; i < count; i += 4, from += 128, to += 128) {
    initialise4(STATE4)
    loadWords4(from, 32, 0)
    loadWords4(from, 32, 1)
    padWords4(256)
    compress4(STATE4)
    storeWords4(to, 32, STATE4, 0)
    storeWords4(to, 32, STATE4, 1)
  }
}

/** SHA-256 of `count` messages of 64 bytes at INPUT, to OUTPUT; a multiple of 4 is hashed, 4096 bytes at most. */
export function sha256Batch64(count: i32): void {
  for (let i = 0, from = INPUT, to = OUTPUT; i < count; i += 4, from += 256, to += 128) {
    initialise4(STATE4)
    loadWords4(from, 64, 0)
    loadWords4(from, 64, 1)
    loadWords4(from, 64, 2)
    loadWords4(from, 64, 3)
    compress4(STATE4)
    compressPadding4(STATE4)
    storeWords4(to, 32, STATE4, 0)
    storeWords4(to, 32, STATE4, 1)
  }
}
