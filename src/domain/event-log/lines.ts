/** Reads lines of large files in pieces, holding no more than one piece. @module */
import type { FileHandle } from 'node:fs/promises'

const PIECE_BYTES = 32 * 1024
const NEWLINE = 0x0a

/**
 * Whole lines of the first `bytes` of a file, a piece at a time; what follows the last newline is left out.
 * @returns the lines without their newlines, in memory that the next piece overwrites
 */
export async function* readLines(handle: FileHandle, bytes: number): AsyncGenerator<readonly Buffer[]> {
  let buffer = Buffer.allocUnsafe(PIECE_BYTES)
  let kept = 0
  for (let position = 0; position < bytes; ) {
    if (kept === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
    const wanted = Math.min(buffer.length - kept, bytes - position)
    const { bytesRead } = await handle.read(buffer, kept, wanted, position)
    if (bytesRead === 0)
      throw new Error(`A segment of the event log ends at ${position} instead of ${bytes}.`)
    position += bytesRead
    const filled = buffer.subarray(0, kept + bytesRead)
    const lines: Buffer[] = []
    let start = 0
    for (let end = filled.indexOf(NEWLINE, kept); end >= 0; end = filled.indexOf(NEWLINE, start)) {
      lines.push(filled.subarray(start, end))
      start = end + 1
    }
    yield lines
    buffer.copyWithin(0, start, filled.length)
    kept = filled.length - start
  }
}
