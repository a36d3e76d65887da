/**
 * HMAC-SHA256 as RFC 2104 section 2 writes it down.
 * @module
 */
import { compress, finish, INITIAL_STATE, sha256, stateBytes } from './sha256.ts'

const paddedKey = (key: Uint8Array, pad: number): Uint8Array => {
  const block = new Uint8Array(64).fill(pad)
  const short = key.length > 64 ? sha256(key) : key
  short.forEach((byte, i) => {
    block[i] = byte ^ pad
  })
  return block
}

/** Both states after the key block, 64 bytes. */
export const midstate = (key: Uint8Array): Uint8Array => {
  const inner = stateBytes(compress(INITIAL_STATE, paddedKey(key, 0x36)))
  const outer = stateBytes(compress(INITIAL_STATE, paddedKey(key, 0x5c)))
  return Uint8Array.from([...inner, ...outer])
}

const words = (bytes: Uint8Array): number[] =>
  Array.from({ length: 8 }, (_, i) => new DataView(bytes.buffer, bytes.byteOffset).getUint32(4 * i))

export const hmac = (mid: Uint8Array, message: Uint8Array): Uint8Array =>
  finish(words(mid.subarray(32)), finish(words(mid.subarray(0, 32)), message, 64), 64)
