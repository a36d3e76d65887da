/** Archives of backups: read, checked against their manifest, and unpacked. @module */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type Entry, open as openZip, type ZipFile } from 'yauzl'
import {
  BACKUP_FORMAT,
  type BackupManifest,
  DATABASE_FOLDER,
  MANIFEST_ENTRY,
} from '../../domain/system/backup.ts'
import { isObject } from '../../protocol/json-object.ts'
import { syncTree } from '../../store/embedded/pglite.ts'

const openArchive = (file: string): Promise<ZipFile> =>
  new Promise((resolve, reject) =>
    openZip(file, { lazyEntries: true, autoClose: false }, (error, zip) =>
      error ? reject(new Error(`${file} is no backup: ${error.message}`)) : resolve(zip),
    ),
  )

const contentOf = (zip: ZipFile, entry: Entry): Promise<Readable> =>
  new Promise((resolve, reject) =>
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream))),
  )

/** Entries in the order of the archive. */
async function* entriesOf(zip: ZipFile): AsyncGenerator<Entry> {
  for (;;) {
    const entry = await new Promise<Entry | undefined>((resolve, reject) => {
      zip.once('entry', resolve)
      zip.once('end', () => resolve(undefined))
      zip.once('error', reject)
      zip.readEntry()
    })
    zip.removeAllListeners()
    if (entry === undefined) return
    yield entry
  }
}

const readManifest = async (
  zip: ZipFile,
  entry: Entry | undefined,
  file: string,
): Promise<BackupManifest> => {
  if (entry?.fileName !== MANIFEST_ENTRY) throw new Error(`${file} is no backup: it has no manifest.`)
  const manifest: BackupManifest = JSON.parse((await buffer(await contentOf(zip, entry))).toString())
  if (!isObject(manifest)) throw new Error(`${file} is no backup: its manifest is no object.`)
  if (manifest.format !== BACKUP_FORMAT)
    throw new Error(`${file} has the format ${manifest.format}; this program reads ${BACKUP_FORMAT}.`)
  if (!Array.isArray(manifest.files) || !Array.isArray(manifest.directories))
    throw new Error(`${file} is no backup: its manifest names no files.`)
  return manifest
}

/** Reads a file of the archive, and keeps it where a directory is given. @returns its SHA-256 in hex */
const passOn = async (content: Readable, target: string | undefined): Promise<string> => {
  const hash = createHash('sha256')
  async function* hashed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk)
      if (target !== undefined) yield chunk
    }
  }
  const kept = target === undefined ? new Writable() : createWriteStream(target, { mode: 0o600 })
  await pipeline(content, hashed, kept)
  return hash.digest('hex')
}

/**
 * Reads a backup to its end, and compares all of it with the manifest.
 * @param target directory, which doesn't exist, that the database is unpacked into; absent: it is only checked
 * @param onBytes told how much was read
 * @throws Error when the archive is cut short, altered, or holds something else
 */
export const readBackup = async (
  file: string,
  {
    target,
    onBytes,
  }: { readonly target?: string; readonly onBytes?: (bytes: number, of: number) => void } = {},
): Promise<BackupManifest> => {
  const zip = await openArchive(file)
  try {
    const entries = entriesOf(zip)
    const manifest = await readManifest(zip, (await entries.next()).value, file)
    const awaited = new Map(manifest.files.map((one) => [`${DATABASE_FOLDER}/${one.path}`, one]))
    const directories = new Set(manifest.directories.map((path) => `${DATABASE_FOLDER}/${path}/`))
    const within = (name: string) => join(target ?? '', name.slice(DATABASE_FOLDER.length + 1))
    if (target !== undefined) await mkdir(target, { mode: 0o700 })
    let read = 0
    for await (const entry of entries) {
      const { fileName } = entry
      const known = awaited.get(fileName)
      if (directories.delete(fileName)) {
        if (target !== undefined) await mkdir(within(fileName), { mode: 0o700, recursive: true })
        continue
      }
      // yauzl has refused absolute paths and those with "..".
      if (known === undefined || !awaited.delete(fileName))
        throw new Error(`${file} holds ${fileName}, which its manifest does not name.`)
      const sha256 = await passOn(await contentOf(zip, entry), target && within(fileName))
      if (sha256 !== known.sha256) throw new Error(`${file} was altered: ${fileName} has another SHA-256.`)
      read += known.bytes
      onBytes?.(read, manifest.bytes)
    }
    const [missing] = [...awaited.keys(), ...directories]
    if (missing !== undefined) throw new Error(`${file} lacks ${missing}.`)
    if (target !== undefined) await syncTree(target)
    return manifest
  } finally {
    zip.close()
  }
}
