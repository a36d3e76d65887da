/**
 * A directory as one small file: a line of JSON that lists what is in it, then the files one after another, compressed
 * with brotli, whose window is wide enough to find the copies that a database cluster is made of.
 * @module
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'

/** Directories have no size. */
interface Entry {
  readonly path: string
  readonly bytes?: number
}

const WINDOW_BITS = 30
const OWNER_ONLY = { mode: 0o700, recursive: true } as const

export const compress = (bytes: Uint8Array): Buffer =>
  brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LARGE_WINDOW]: 1,
      [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })

export const decompress = (bytes: Uint8Array): Buffer =>
  brotliDecompressSync(bytes, { params: { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: 1 } })

/** Everything below a directory. */
export const pack = (directory: string): Buffer => {
  const found = readdirSync(directory, { recursive: true, withFileTypes: true })
  const contents: Buffer[] = []
  const entries = found
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFile: entry.isFile() }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, isFile }): Entry => {
      const name = path.slice(directory.length + 1)
      if (!isFile) return { path: name }
      const content = readFileSync(path)
      contents.push(content)
      return { path: name, bytes: content.length }
    })
  return compress(Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...contents]))
}

/** Writes what was packed into a directory that is there. */
export const unpack = (archive: Uint8Array, directory: string): void => {
  const bytes = decompress(archive)
  const end = bytes.indexOf('\n')
  const entries: readonly Entry[] = JSON.parse(bytes.toString('utf8', 0, end))
  let offset = end + 1
  for (const { path, bytes: size } of entries) {
    if (size === undefined) {
      mkdirSync(join(directory, path), OWNER_ONLY)
      continue
    }
    writeFileSync(join(directory, path), bytes.subarray(offset, offset + size), { mode: 0o600 })
    offset += size
  }
}
