/**
 * The prepared template of an embedded database: a fresh cluster as an archive, made at build time because making one
 * (initdb) takes seconds and several hundred megabytes.
 * @module
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { MemoryFS, PGlite } from '@electric-sql/pglite'

const require = createRequire(import.meta.url)

/** Version of the installed PGlite: a template belongs to the one that made it. */
const pgliteVersion = (): string => {
  const manifest = new URL('../package.json', `file://${require.resolve('@electric-sql/pglite')}`)
  const value: unknown = JSON.parse(readFileSync(manifest, 'utf8'))
  return typeof value === 'object' && value !== null && 'version' in value ? String(value.version) : 'unknown'
}

/** File name of the template, below `build/`. */
export const templateName = (): string => `pglite-${pgliteVersion()}.tar.gz`

/** The archive of the built template, or undefined when nothing was built: then initdb does its work. */
const readArchive = (): Uint8Array<ArrayBuffer> | undefined => {
  const name = templateName()
  // Beside the bundle, or in build/ when run from the sources.
  const file = [new URL(name, import.meta.url), new URL(`../../../build/${name}`, import.meta.url)].find(
    (url) => existsSync(fileURLToPath(url)),
  )
  // PGlite would unpack it too, in several times the time.
  return file && new Uint8Array(gunzipSync(readFileSync(file)))
}

/** Of the archive (POSIX.1-1988 ustar): where a header has what, in bytes. */
const BLOCK_BYTES = 512
const NAME = [0, 100] as const
const SIZE = [124, 136] as const
const TYPE_AT = 156
const FILES: readonly string[] = ['0', '\0']
const DIRECTORY = '5'
const PREFIX = [345, 500] as const

/** Only the owner's, as PostgreSQL wants it. */
const DIRECTORY_MODE = 0o700
const FILE_MODE = 0o600

const textIn = (archive: Uint8Array, at: number, [from, to]: readonly [number, number]): string =>
  Buffer.from(archive.subarray(at + from, at + to))
    .toString('latin1')
    .replace(/\0.*$/s, '')

/** One of the template's entries; `contents` of a file only. */
interface Entry {
  readonly name: string
  readonly contents?: Uint8Array
}

/** @throws Error at an entry that is neither a file nor a directory, or has a name of more than 100 bytes */
function* entriesOf(archive: Uint8Array): Generator<Entry> {
  for (let at = 0; at + BLOCK_BYTES <= archive.length && archive[at] !== 0; ) {
    const name = textIn(archive, at, NAME)
    const size = Number.parseInt(textIn(archive, at, SIZE), 8)
    const contents = at + BLOCK_BYTES
    const type = String.fromCharCode(archive[at + TYPE_AT] ?? 0)
    if (type === DIRECTORY) yield { name }
    else if (FILES.includes(type) && textIn(archive, at, PREFIX) === '')
      yield { name, contents: archive.subarray(contents, contents + size) }
    else throw new Error(`${templateName()} has an entry that no template has: ${name}`)
    at = contents + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
  }
}

/**
 * Writes the files of the template, which PGlite would do through its own file system in twice the time. Nothing is synced to disk.
 * @param cluster a directory that is not there yet
 * @returns whether there is a template
 * @throws Error as {@link entriesOf}
 */
export const unpackTemplate = (cluster: string): boolean => {
  const archive = readArchive()
  if (archive === undefined) return false
  mkdirSync(cluster, { mode: DIRECTORY_MODE })
  for (const { name, contents } of entriesOf(archive)) {
    const path = join(cluster, name)
    if (contents === undefined) mkdirSync(path, { mode: DIRECTORY_MODE, recursive: true })
    else writeFileSync(path, contents, { mode: FILE_MODE })
  }
  return true
}

let unpacked: Uint8Array<ArrayBuffer> | undefined

/** Files in memory that begin with those of the template. The archive is kept: what opens one such database opens others, as tests do. */
export class TemplateMemoryFS extends MemoryFS {
  override async initialSyncFs(): Promise<void> {
    unpacked ??= readArchive()
    const filesystem = this.pg?.Module.FS
    if (unpacked === undefined || filesystem === undefined) return
    // One copy of all, of which the files then are parts: each would be copied alone otherwise.
    for (const { name, contents } of entriesOf(unpacked.slice())) {
      const path = `${PGlite.paths.PGDATA}/${name}`
      if (contents === undefined) filesystem.mkdirTree(path, DIRECTORY_MODE)
      else filesystem.writeFile(path, contents, { canOwn: true })
    }
  }
}
