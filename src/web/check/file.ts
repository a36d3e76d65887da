/** Reading files that somebody gave: piece by piece, and what it means that one can't be read. @module */
import { EvidenceFileError } from '../../protocol/evidence/evidence-lines.ts'
import { type Check, lack, refuse } from './report.ts'

/** The pieces of a stream, in every browser: not all of them can iterate over one. */
export async function* piecesOf(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const reader = stream.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      yield next.value as Uint8Array<ArrayBuffer>
  } finally {
    await reader.cancel()
  }
}

/**
 * The check that could not be made, since reading threw.
 * @param fault of a file that is damaged, or no such file
 * @throws whatever is not about the file
 */
export const unreadable = (title: string, fault: string, error: unknown): Check => {
  if (error instanceof EvidenceFileError) return refuse(title, fault, error.message)
  // What a browser throws where a file was moved or changed while it was being read.
  if (error instanceof DOMException) return lack(title, `The file can’t be read: ${error.message}`)
  throw error
}
