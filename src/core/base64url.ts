/**
 * base64url without padding (RFC 4648 section 5), canonical forms only.
 * @module
 */
import { ascii, type CoreInstance, writeText } from './instance.ts'

/** Three bytes make four characters; both pieces fit the buffers and end on a group. */
const PIECE_BYTES = 3072
const PIECE_CHARACTERS = 4096

export interface Base64url {
  /** Encodes bytes of any length, without padding. */
  base64urlEncode(bytes: Uint8Array): string
  /**
   * Decodes a text of any length.
   * @returns undefined unless the text is the one that {@link base64urlEncode} makes of those bytes: no padding, no
   * foreign character, no white space, no spare bit set
   */
  base64urlDecode(text: string): Uint8Array | undefined
}

export const createBase64url = ({ call, layout, memory }: CoreInstance): Base64url => {
  const input = new Uint8Array(memory.buffer, layout.INPUT, PIECE_CHARACTERS)
  const output = new Uint8Array(memory.buffer, layout.OUTPUT, layout.OUTPUT_BYTES)

  return {
    base64urlEncode(bytes) {
      let text = ''
      for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
        const piece = bytes.subarray(from, from + PIECE_BYTES)
        input.set(piece)
        call.base64urlEncode(piece.length)
        text += ascii(output.subarray(0, Math.ceil((piece.length * 4) / 3)))
      }
      return text
    },

    base64urlDecode(text) {
      const bytes = new Uint8Array(Math.floor((text.length * 3) / 4))
      let to = 0
      for (let from = 0; from < text.length; from += PIECE_CHARACTERS) {
        const piece = text.slice(from, from + PIECE_CHARACTERS)
        const written = writeText(input, piece)
        // A foreign character of two or three bytes overflows the buffer, or is found by the core.
        const length = written < 0 ? -1 : call.base64urlDecode(written)
        if (length < 0) return undefined
        bytes.set(output.subarray(0, length), to)
        to += length
      }
      return bytes
    },
  }
}
