/**
 * SHA-256 (FIPS 180-4).
 * @module
 */
import { type CoreInstance, utf8, writeText } from './instance.ts'

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32

export interface Sha256 {
  /**
   * SHA-256 of bytes, or of a text in UTF-8, of any length. Long messages are streamed through a fixed buffer.
   * @returns 32 new bytes
   */
  sha256(message: Uint8Array | string): Uint8Array
  /**
   * SHA-256 of many messages of 32 or 64 bytes that stand one after another, four at a time.
   * @param messages a multiple of `length` bytes
   * @param length bytes of one message
   * @returns 32 bytes a message, in the same order
   * @throws RangeError when `messages` is no multiple of `length`
   */
  sha256Batch(messages: Uint8Array, length: 32 | 64): Uint8Array
}

/**
 * Feeds a message through INPUT, whole blocks first.
 * @returns how many bytes of the message are left in INPUT, fewer than fit in it, for the closing call
 */
export const streamBlocks = ({ call, layout, memory }: CoreInstance, message: Uint8Array): number => {
  const input = new Uint8Array(memory.buffer, layout.INPUT, layout.INPUT_BYTES)
  let from = 0
  for (; message.length - from > layout.INPUT_BYTES; from += layout.INPUT_BYTES) {
    input.set(message.subarray(from, from + layout.INPUT_BYTES))
    call.sha256Update(layout.INPUT_BYTES / BLOCK_BYTES)
  }
  input.set(message.subarray(from))
  return message.length - from
}

export const createSha256 = (instance: CoreInstance): Sha256 => {
  const { call, layout, memory } = instance
  const room = layout.INPUT_BYTES
  const input = new Uint8Array(memory.buffer, layout.INPUT, room)
  const digest = new Uint8Array(memory.buffer, layout.OUTPUT, DIGEST_BYTES)
  const output = new Uint8Array(memory.buffer, layout.OUTPUT, layout.OUTPUT_BYTES)

  const sha256Long = (message: Uint8Array): Uint8Array => {
    call.sha256Begin()
    const left = streamBlocks(instance, message)
    call.sha256End(left, message.length - left)
    return new Uint8Array(digest)
  }

  return {
    sha256(message) {
      if (typeof message === 'string') {
        const length = writeText(input, message)
        if (length < 0) return sha256Long(utf8(message))
        call.sha256(length)
        return new Uint8Array(digest)
      }
      if (message.length > room) return sha256Long(message)
      input.set(message)
      call.sha256(message.length)
      return new Uint8Array(digest)
    },

    sha256Batch(messages, length) {
      if (messages.length % length !== 0) {
        throw new RangeError(`sha256Batch: ${messages.length} bytes are no multiple of ${length}`)
      }
      const hash = length === 64 ? call.sha256Batch64 : call.sha256Batch32
      const digests = new Uint8Array((messages.length / length) * DIGEST_BYTES)
      let to = 0
      for (let from = 0; from < messages.length; from += room) {
        const piece = messages.length <= room ? messages : messages.subarray(from, from + room)
        const bytes = (piece.length / length) * DIGEST_BYTES
        input.set(piece)
        hash(piece.length / length)
        digests.set(bytes === output.length ? output : output.subarray(0, bytes), to)
        to += bytes
      }
      input.fill(0, 0, Math.min(messages.length, room))
      return digests
    },
  }
}
