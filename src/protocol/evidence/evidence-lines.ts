/** The lines of evidence out of its text forms; never more than one line in memory. @module */

/** No line of evidence comes near it. */
const LINE_MAX_BYTES = 8 * 1024 * 1024
const NEWLINE = 0x0a

/** The file can't be read, so that nothing can be said of it. */
export class EvidenceFileError extends Error {
  override readonly name = 'EvidenceFileError'
}

const decode = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new EvidenceFileError('The file is not text in UTF-8.')
  }
}

/** Lines without their newlines; the last one may lack it. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let kept: Uint8Array[] = []
  let keptBytes = 0
  const join = (end: Uint8Array): string => {
    const whole = new Uint8Array(keptBytes + end.length)
    let at = 0
    for (const part of [...kept, end]) {
      whole.set(part, at)
      at += part.length
    }
    ;[kept, keptBytes] = [[], 0]
    return decode(whole)
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield join(chunk.subarray(start, end))
      start = end + 1
    }
    if (start === chunk.length) continue
    kept.push(Uint8Array.from(chunk.subarray(start)))
    keptBytes += chunk.length - start
    if (keptBytes > LINE_MAX_BYTES)
      throw new EvidenceFileError('The file is no evidence: a line has more than 8 MiB.')
  }
  if (keptBytes > 0) yield join(new Uint8Array())
}

const HEADER = /^\{"header":(.*),"rows":\[$/s
const MANIFEST = /^\],"manifest":(.*)\}$/s

/** The form `json` has each row on a line of its own; without what surrounds them its lines are those of `ndjson`. */
async function* unwrap(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let waiting: string | undefined
  let isDocument: boolean | undefined
  for await (const line of lines) {
    const header = isDocument === undefined ? HEADER.exec(line)?.[1] : undefined
    isDocument ??= header !== undefined
    if (!isDocument) yield line
    else if (header !== undefined) yield header
    else {
      // Only the last row has no comma behind it.
      const manifest = MANIFEST.exec(line)?.[1]
      if (waiting !== undefined) yield manifest === undefined ? waiting.replace(/,$/, '') : waiting
      if (manifest !== undefined) yield manifest
      waiting = manifest === undefined ? line : undefined
    }
  }
  if (waiting !== undefined) yield waiting
}

/**
 * Lines of evidence as its form `ndjson` has them, out of that form or `json`.
 * @throws EvidenceFileError for what is no text of such lines
 */
export const evidenceLines = (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> =>
  unwrap(splitLines(chunks))
