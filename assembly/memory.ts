/**
 * Fixed buffers in linear memory: every address that the host reads or writes is declared here and exported as a
 * constant global, so no address is written twice. Nothing is allocated after start.
 *
 * Invariant: INPUT is zero between calls. Every function wipes what it was given there, so that card tokens and keys
 * do not linger, and so that padding can rely on zeros. Batches are not for secrets: the last four messages of one can be
 * recovered from the words that were hashed.
 * @module
 */

/** Message bytes from the host. A multiple of the 64-byte block; longer messages are streamed in pieces. */
export const INPUT_BYTES: usize = 4096
/** INPUT has room for two more blocks, because padding is written in place. */
export const INPUT: usize = memory.data(4224, 64)

/** Results for the host. 4096 characters of base64url come from 3072 bytes. */
export const OUTPUT_BYTES: usize = 4096
export const OUTPUT: usize = memory.data(4160, 64)

/** One merchant id in UTF-8, zero-padded to its limit. */
export const MERCHANT_BYTES: usize = 64
export const MERCHANT: usize = memory.data(64, 64)

/** HMAC key slots: inner and outer state after the key block, 32 + 32 bytes each. */
export const KEY_SLOTS: u32 = 64
export const KEY_SLOT_BYTES: usize = 64
export const KEYS: usize = memory.data(4096, 64)

/** Proofs to verify in one call: records and texts as payment-proof.ts says, and the distinct merchant ids. */
export const BATCH_PROOFS: u32 = 64
export const BATCH: usize = memory.data(2048, 64)
export const BATCH_TEXTS: usize = memory.data(4288, 64)
export const BATCH_MERCHANTS: usize = memory.data(4096, 64)
/** One byte a proof: 0 mismatch, 1 match, 2 malformed. */
export const BATCH_VERDICTS: usize = memory.data(64, 64)

/** Clears `length` bytes, rounded up to 64. */
@inline
export function wipe(address: usize, length: usize): void {
  const zero = i64x2.splat(0)
  for (let end = address + length; address < end; address += 64) {
    v128.store(address, zero)
    v128.store(address, zero, 16)
    v128.store(address, zero, 32)
    v128.store(address, zero, 48)
  }
}
