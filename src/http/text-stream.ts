/** Text as a stream of bytes that is made no faster than it is read. @module */
import { Readable } from 'node:stream'

/** A client that reads nothing for so long is let go: its export keeps others, and the disk, waiting. */
const STALL_MS = 60_000
/** What an export holds in memory before the client has read it. */
const BUFFER_BYTES = 64 * 1024

/** However steadily its client reads, no export takes longer: it holds segments of the log, and its organisation's turn. */
const MAX_EXPORT_MS = 6 * 3_600_000

export type Text = AsyncGenerator<string>

/**
 * Cuts text into what fits the buffers of streams, and gives up when nobody reads.
 * @param onBytes told of each piece when the next one is asked for
 */
export const streamOf = (text: Text, onBytes: (bytes: number) => void, stallMs = STALL_MS): Readable => {
  let stalled: NodeJS.Timeout | undefined
  async function* chunks(): AsyncGenerator<Buffer> {
    for await (const part of text) {
      const bytes = Buffer.from(part)
      for (let from = 0; from < bytes.length; from += BUFFER_BYTES) {
        const chunk = bytes.subarray(from, from + BUFFER_BYTES)
        stalled = setTimeout(() => stream.destroy(new Error('The client does not read.')), stallMs).unref()
        yield chunk
        clearTimeout(stalled)
        onBytes(chunk.length)
      }
    }
  }
  const stream: Readable = Readable.from(chunks(), { objectMode: false, highWaterMark: BUFFER_BYTES })
  return stream.once('close', () => clearTimeout(stalled))
}

/** Ends a stream that has not ended by itself in time, six hours unless it is told otherwise. @returns the stream */
export const endInTime = (stream: Readable, maxMs = MAX_EXPORT_MS): Readable => {
  const late = setTimeout(() => stream.destroy(new Error('The export takes too long.')), maxMs).unref()
  return stream.once('close', () => clearTimeout(late))
}
