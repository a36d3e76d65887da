/** What comes in pieces, kept in one piece. @module */

/** Of the first buffer that more than one piece is copied into. */
const LEAST_BYTES = 1024

export interface Gathered {
  /** @returns false for what would be more than the limit; nothing of it is kept */
  add(piece: Uint8Array): boolean
  /** All of it so far. It may be a piece that was given, not a copy. */
  whole(): Buffer
}

/**
 * Bytes from outside, of which no more than twice `maxBytes` are held at any time: whoever sends chooses how small the pieces are, and
 * each by itself would take some two hundred bytes of the heap.
 */
export const createGathered = (maxBytes: number): Gathered => {
  let held: Buffer = Buffer.alloc(0)
  let bytes = 0
  return {
    add(piece) {
      const needed = bytes + piece.length
      if (needed > maxBytes) return false
      if (bytes === 0) held = Buffer.from(piece.buffer, piece.byteOffset, piece.length)
      else {
        if (needed > held.length) {
          const larger = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(LEAST_BYTES, 2 * needed)))
          held.copy(larger, 0, 0, bytes)
          held = larger
        }
        held.set(piece, bytes)
      }
      bytes = needed
      return true
    },
    whole: () => held.subarray(0, bytes),
  }
}
