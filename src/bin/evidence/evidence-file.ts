/** Evidence in a file, in whichever of its three forms. @module */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { type Entry, open as openArchive, type ZipFile } from 'yauzl'
import { EVIDENCE_ENTRY, INSTRUCTIONS_ENTRY } from '../../protocol/evidence/evidence-format.ts'
import { EvidenceFileError, evidenceLines } from '../../protocol/evidence/evidence-lines.ts'

const ZIP_MAGIC = Buffer.from('PK\u0003\u0004')

type Chunks = AsyncIterable<Uint8Array>

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
export const readEvidenceLines = (file: string): AsyncGenerator<string> => evidenceLines(readChunks(file))
