/** The lines of evidence, in whichever of its three forms a file holds it; never more than one line in memory. @module */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { type Entry, open as openArchive, type ZipFile } from 'yauzl'
import { EVIDENCE_ENTRY, INSTRUCTIONS_ENTRY } from '../../domain/exports/zip.ts'

/** No line of evidence comes near it. */
const LINE_MAX_BYTES = 8 * 1024 * 1024
const NEWLINE = 0x0a
const ZIP_MAGIC = Buffer.from('PK\u0003\u0004')

/** The file can't be read, so that nothing can be said of it. */
export class EvidenceFileError extends Error {
  override readonly name = 'EvidenceFileError'
}

type Chunks = AsyncIterable<Uint8Array>

const decode = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new EvidenceFileError('The file is not text in UTF-8.')
  }
}

/** Lines without their newlines; the last one may lack it. */
async function* splitLines(chunks: Chunks): AsyncGenerator<string> {
  let kept: Uint8Array[] = []
  let keptBytes = 0
  const join = (end: Uint8Array): string => {
    const line = decode(kept.length === 0 ? end : Buffer.concat([...kept, end]))
    ;[kept, keptBytes] = [[], 0]
    return line
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

const failed = (file: string, error: unknown): EvidenceFileError =>
  new EvidenceFileError(`${file} can't be read: ${error instanceof Error ? error.message : String(error)}`)

const openZip = (file: string): Promise<ZipFile> =>
  new Promise((resolve, reject) =>
    openArchive(file, { lazyEntries: true, autoClose: false }, (error, zip) =>
      error ? reject(error) : resolve(zip),
    ),
  )

/**
 * The one file of an archive that counts. The archive holds what the service put there and nothing else: of two files
 * of that name, whoever unpacks it might get the one that was not checked.
 */
const findEntry = (zip: ZipFile): Promise<Entry> =>
  new Promise((resolve, reject) => {
    const found = new Map<string, Entry>()
    zip.on('error', reject)
    zip.on('end', () => {
      const entry = found.get(EVIDENCE_ENTRY)
      if (entry === undefined) reject(new Error(`the archive holds no ${EVIDENCE_ENTRY}`))
      else resolve(entry)
    })
    zip.on('entry', (entry: Entry) => {
      const { fileName } = entry
      const isOurs = fileName === EVIDENCE_ENTRY || fileName === INSTRUCTIONS_ENTRY
      if (!isOurs || found.has(fileName))
        return reject(
          new Error(`the archive holds more than one ${EVIDENCE_ENTRY} and one ${INSTRUCTIONS_ENTRY}`),
        )
      found.set(fileName, entry)
      zip.readEntry()
    })
    zip.readEntry()
  })

async function* readArchive(file: string): AsyncGenerator<Uint8Array> {
  const zip = await openZip(file)
  try {
    const entry = await findEntry(zip)
    yield* await new Promise<Chunks>((resolve, reject) =>
      zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream))),
    )
  } finally {
    zip.close()
  }
}

async function* readChunks(file: string): AsyncGenerator<Uint8Array> {
  if (file === '-') return yield* process.stdin
  try {
    const handle = await open(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(ZIP_MAGIC.length), 0, ZIP_MAGIC.length, 0)
    await handle.close()
    if (bytesRead < ZIP_MAGIC.length || !buffer.equals(ZIP_MAGIC)) return yield* createReadStream(file)
    yield* readArchive(file)
  } catch (error) {
    throw failed(file, error)
  }
}

/**
 * Lines of evidence as its form `ndjson` has them.
 * @param file a path, or `-` for standard input, which may hold any form but an archive
 * @throws EvidenceFileError for what can't be read
 */
export const readEvidenceLines = (file: string): AsyncGenerator<string> =>
  unwrap(splitLines(readChunks(file)))
