/**
 * The payment proof: made in one call, verified four at a time.
 *
 * nullifier = SHA-256(card token); body = HMAC-SHA256(key, message). The message is
 *
 *   0  "offline-proof/1"            15 bytes
 *  15  nullifier                    32
 *  47  amount in minor units         8, big-endian
 *  55  currency                      3, ASCII
 *  58  nonce                         2, big-endian
 *  60  Unix milliseconds             8, big-endian
 *  68  merchant id                   0 to 64, UTF-8
 *
 * The compact form is nullifier[0:12] ‖ body[0:15], the stored form nullifier ‖ body[0:15] ‖ nonce.
 * @module
 */
import { encode12, join12, toValues } from './base64url'
import { beginInner, keyAddress, outer } from './hmac'
import { BATCH, BATCH_MERCHANTS, BATCH_TEXTS, BATCH_VERDICTS, INPUT, MERCHANT, OUTPUT } from './memory'
import { finish, initialise, loadWords4, padWords4, STATE, storeDigest, storeWords4 } from './sha256'
import { compress, compress4, WORDS4 } from './sha256-rounds'

const NULLIFIER_AT: usize = 15
const AMOUNT_AT: usize = 47
const CURRENCY_AT: usize = 55
const NONCE_AT: usize = 58
const TIME_AT: usize = 60
const MERCHANT_AT: usize = 68

/** "offline-proof/1" and one byte that the nullifier overwrites. */
const PREFIX: usize = memory.data<u8>([
  0x6f, 0x66, 0x66, 0x6c, 0x69, 0x6e, 0x65, 0x2d, 0x70, 0x72, 0x6f, 0x6f, 0x66, 0x2f, 0x31, 0,
], 16)

/** A merchant id of up to 51 bytes ends, with its padding, in the second block. */
const TWO_BLOCK_MERCHANT: usize = 51

/** Padded messages of up to three blocks, one a lane. The odd stride keeps lanes out of the same cache set. */
const MESSAGE_STRIDE: usize = 208
const MESSAGES: usize = memory.data(832, 64)

/** Bytes of the proofs being made or checked, one a lane: 49 and what vector stores write behind them. */
const PROOF_STRIDE: usize = 64
const PROOFS: usize = memory.data(320, 64)
const NULLIFIER_BYTES: usize = 32
const BODY_AT: usize = 32
const PROOF_NONCE_AT: usize = 47
const PROOF_BYTES: usize = 49

const STATE4: usize = memory.data(128, 64)
const SAVED4: usize = memory.data(128, 64)

/** Where `prove` leaves its results in OUTPUT: 36 and 66 characters, 32 bytes. */
export const COMPACT_AT: usize = 0
export const STORED_AT: usize = 64
export const NULLIFIER_OUT_AT: usize = 192

/** The stored form as text. The texts of a batch stand one after another at BATCH_TEXTS. */
export const STORED_CHARACTERS: usize = 66

/**
 * What a text is checked against: a record of BATCH, little-endian u32 each, in this order: amount (high, low), time
 * (high, low), currency, number of the merchant in BATCH_MERCHANTS, length of the merchant id.
 */
export const RECORD_BYTES: usize = 32
const AMOUNT_HIGH: usize = 0
const AMOUNT_LOW: usize = 4
const TIME_HIGH: usize = 8
const TIME_LOW: usize = 12
const CURRENCY: usize = 16
const MERCHANT_INDEX: usize = 20
const MERCHANT_LENGTH: usize = 24

const MISMATCH: u8 = 0
const MATCH: u8 = 1
const MALFORMED: u8 = 2

@inline
function copy32(to: usize, from: usize): void {
  v128.store(to, v128.load(from))
  v128.store(to, v128.load(from, 16), 16)
}

@inline
function bigEndian64(high: u32, low: u32): u64 {
  return (<u64>bswap<u32>(low) << 32) | <u64>bswap<u32>(high)
}

/** Prefix and nullifier of the message at `to`. */
@inline
function writeNullifier(to: usize, nullifier: usize): void {
  v128.store(to, v128.load(PREFIX))
  copy32(to + NULLIFIER_AT, nullifier)
}

/** The rest of the message and its padding after the key block; later fields overwrite what wider stores spill. */
@inline
function writeFields(
  to: usize, amount: u64, currency: u32, nonce: u16, time: u64, merchant: usize, merchantBytes: usize,
): void {
  store<u64>(to + AMOUNT_AT, amount)
  store<u32>(to + CURRENCY_AT, currency)
  store<u16>(to + NONCE_AT, nonce)
  store<u64>(to + TIME_AT, time)
  const m = to + MERCHANT_AT
  v128.store(m, v128.load(merchant))
  v128.store(m, v128.load(merchant, 16), 16)
  v128.store(m, v128.load(merchant, 32), 32)
  v128.store(m, v128.load(merchant, 48), 48)
  const zero = i64x2.splat(0)
  v128.store(to, zero, 132)
  v128.store(to, zero, 148)
  v128.store(to, zero, 164)
  v128.store(to, zero, 176)
  store<u8>(m + merchantBytes, 0x80)
  const bits = <u64>(64 + MERCHANT_AT + merchantBytes) << 3
  store<u64>(to + (merchantBytes > TWO_BLOCK_MERCHANT ? 184 : 120), bswap<u64>(bits))
}

/**
 * Makes a proof: card token of `tokenBytes` at INPUT (wiped), merchant id at MERCHANT.
 * @param currency three ASCII letters, the first in the lowest byte
 */
export function prove(
  slot: u32, tokenBytes: usize, amountHigh: u32, amountLow: u32, currency: u32, nonce: u32,
  timeHigh: u32, timeLow: u32, merchantBytes: usize,
): void {
  const key = keyAddress(slot)
  const nonceBytes = bswap<u16>(<u16>nonce)
  initialise(STATE)
  finish(STATE, INPUT, tokenBytes, 0)
  storeDigest(PROOFS, STATE)
  writeNullifier(MESSAGES, PROOFS)
  writeFields(
    MESSAGES, bigEndian64(amountHigh, amountLow), currency, nonceBytes, bigEndian64(timeHigh, timeLow),
    MERCHANT, merchantBytes,
  )
  beginInner(key)
  compress(STATE, MESSAGES, merchantBytes > TWO_BLOCK_MERCHANT ? 3 : 2)
  outer(key)
  copy32(OUTPUT + NULLIFIER_OUT_AT, PROOFS)
  storeDigest(PROOFS + BODY_AT, STATE)
  encode12(OUTPUT + COMPACT_AT, PROOFS)
  encode12(OUTPUT + COMPACT_AT + 16, PROOFS + BODY_AT)
  encode12(OUTPUT + COMPACT_AT + 32, PROOFS + BODY_AT + 12)
  // The nonce takes the place of body[15:17]; zeros behind it make the spare bits zero.
  store<u16>(PROOFS + PROOF_NONCE_AT, nonceBytes)
  v128.store(PROOFS + PROOF_BYTES, i64x2.splat(0))
  for (let i: usize = 0; i < 5; ++i) encode12(OUTPUT + STORED_AT + (i << 4), PROOFS + i * 12)
}

/** Decodes 66 characters to 49 bytes. @returns false when they are not canonical base64url */
@inline
function decodeProof(to: usize, text: usize): bool {
  let foreign = i32x4.splat(0)
  for (let i: usize = 0; i < 4; ++i) {
    const values = toValues(v128.load(text + (i << 4)))
    foreign = v128.or(foreign, values)
    v128.store(to + i * 12, join12(values))
  }
  const onlyTwo = i8x16(-1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  const last = v128.and(toValues(v128.load(text, 64)), onlyTwo)
  foreign = v128.or(foreign, last)
  v128.store(to, join12(last), 48)
  return i8x16.bitmask(foreign) == 0 && load<u8>(to + PROOF_BYTES) == 0
}

/** Prepares one lane. @returns the verdict unless the MAC decides */
@inline
function prepareLane(lane: usize, record: usize, text: usize): u8 {
  const proof = PROOFS + lane * PROOF_STRIDE
  const message = MESSAGES + lane * MESSAGE_STRIDE
  const wellFormed = decodeProof(proof, text)
  writeNullifier(message, proof)
  writeFields(
    message,
    bigEndian64(load<u32>(record, AMOUNT_HIGH), load<u32>(record, AMOUNT_LOW)),
    load<u32>(record, CURRENCY),
    load<u16>(proof + PROOF_NONCE_AT),
    bigEndian64(load<u32>(record, TIME_HIGH), load<u32>(record, TIME_LOW)),
    BATCH_MERCHANTS + (<usize>load<u32>(record, MERCHANT_INDEX) << 6),
    load<u32>(record, MERCHANT_LENGTH),
  )
  return wellFormed ? MATCH : MALFORMED
}

/** STATE4 ← eight words of a midstate, the same in every lane. */
@inline
function splatState(words: usize): void {
  for (let i: usize = 0; i < 8; ++i) v128.store(STATE4 + (i << 4), v128.load_splat<u32>(words + (i << 2)))
}

@inline
function copyState4(to: usize, from: usize): void {
  for (let i: usize = 0; i < 128; i += 16) v128.store(to + i, v128.load(from + i))
}

@inline
function compressBlock(block: usize): void {
  const at = MESSAGES + (block << 6)
  for (let q: usize = 0; q < 4; ++q) loadWords4(at, MESSAGE_STRIDE, q)
  compress4(STATE4)
}

/** Lanes with a long merchant id have a third block; the others keep their state. */
@inline
function thirdBlock(record: usize): void {
  let long = i32x4.splat(0)
  long = i32x4.replace_lane(long, 0, load<u32>(record, MERCHANT_LENGTH))
  long = i32x4.replace_lane(long, 1, load<u32>(record + RECORD_BYTES, MERCHANT_LENGTH))
  long = i32x4.replace_lane(long, 2, load<u32>(record + 2 * RECORD_BYTES, MERCHANT_LENGTH))
  long = i32x4.replace_lane(long, 3, load<u32>(record + 3 * RECORD_BYTES, MERCHANT_LENGTH))
  long = i32x4.gt_u(long, i32x4.splat(<i32>TWO_BLOCK_MERCHANT))
  if (!v128.any_true(long)) return
  copyState4(SAVED4, STATE4)
  compressBlock(2)
  for (let i: usize = 0; i < 128; i += 16) {
    v128.store(STATE4 + i, v128.bitselect(v128.load(STATE4 + i), v128.load(SAVED4 + i), long))
  }
}

/** Whether body[0:15] of a lane is what MAC says, in constant time. */
@inline
function sameBody(lane: usize): bool {
  const expected = v128.load(PROOFS + lane * PROOF_STRIDE + BODY_AT)
  const computed = v128.load(SAVED4 + (lane << 4))
  const bodyOnly = i8x16(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0)
  return !v128.any_true(v128.and(v128.xor(expected, computed), bodyOnly))
}

/**
 * Verifies `count` records of BATCH, at most BATCH_PROOFS, under one key; one byte each to BATCH_VERDICTS. Works in
 * groups of four, so what stands in the records up to the next multiple of four is checked too, and ignored.
 */
export function verifyBatch(slot: u32, count: usize): void {
  const key = keyAddress(slot)
  for (let i: usize = 0; i < count; i += 4) {
    const record = BATCH + i * RECORD_BYTES
    for (let lane: usize = 0; lane < 4; ++lane) {
      const text = BATCH_TEXTS + (i + lane) * STORED_CHARACTERS
      store<u8>(BATCH_VERDICTS + i + lane, prepareLane(lane, record + lane * RECORD_BYTES, text))
    }
    splatState(key)
    compressBlock(0)
    compressBlock(1)
    thirdBlock(record)
    // The four inner digests are already words in lanes, as the outer hash wants them.
    copyState4(WORDS4, STATE4)
    padWords4(768)
    splatState(key + 32)
    compress4(STATE4)
    storeWords4(SAVED4, 16, STATE4, 0)
    for (let lane: usize = 0; lane < 4; ++lane) {
      const verdict = BATCH_VERDICTS + i + lane
      if (!sameBody(lane) && load<u8>(verdict) == MATCH) store<u8>(verdict, MISMATCH)
    }
  }
}
