/**
 * The witness programs of the repository's circuits, compiled once and kept beside their sources in one compressed
 * file, so that a server starts without compiling. They belong to exact sources: a circuit that was changed is compiled.
 * @module
 */
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { sha256Hex } from '../../circuits/artifacts/setup-record.ts'
import { artifactFile, place, ROOT, withDrafts } from './circuits-files.ts'
import { ids, sourceHash } from './circuits-sources.ts'

const DIRECTORY = join(ROOT, 'circuits')
const NAME = 'witness-programs.br'
const FILE = join(DIRECTORY, NAME)
/** The programs share most of their bytes, and together have 23 million; the window holds 16. */
const COMPRESSION = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_LGWIN]: 24 }
const LINE_END = 0x0a

/** The file begins with a line of JSON that has one for each id, in the order of the programs that follow. */
interface Kept {
  /** {@link sourceHash} of what it was compiled from. */
  readonly source: string
  /** Of the program. */
  readonly sha256: string
  /** Bytes of the program. */
  readonly length: number
}
type Index = Readonly<Record<string, Kept>>

/** @returns nothing of a file that is missing or damaged: what is not kept is compiled */
const unpack = (): { index: Index; programs: Buffer } => {
  try {
    const bytes = brotliDecompressSync(readFileSync(FILE))
    const end = bytes.indexOf(LINE_END)
    return { index: JSON.parse(bytes.toString('utf8', 0, end)), programs: bytes.subarray(end + 1) }
  } catch {
    return { index: {}, programs: Buffer.alloc(0) }
  }
}

/**
 * @param sources by id, the {@link sourceHash} of what a program must have been compiled from
 * @returns by id, the programs that were
 */
export const keptPrograms = (sources: ReadonlyMap<string, string>): ReadonlyMap<string, Uint8Array> => {
  const { index, programs } = unpack()
  const found = new Map<string, Uint8Array>()
  let at = 0
  for (const [id, { source, sha256, length }] of Object.entries(index)) {
    const program = programs.subarray(at, at + length)
    at += length
    if (sources.get(id) === source && sha256Hex(program) === sha256) found.set(id, program)
  }
  return found
}

/** Keeps the programs in build/circuits/, which must be up to date. Writes nothing where it would change nothing. */
export const keepPrograms = async (): Promise<void> => {
  const programs = await Promise.all(ids.map((id) => readFile(artifactFile(id, 'wasm'))))
  const index = Object.fromEntries(
    programs.map((program, i): [string, Kept] => {
      const id = ids[i] as string
      return [id, { source: sourceHash(id), sha256: sha256Hex(program), length: program.length }]
    }),
  )
  if (isDeepStrictEqual(unpack().index, index)) return
  const bytes = Buffer.concat([Buffer.from(`${JSON.stringify(index)}\n`), ...programs])
  await withDrafts(DIRECTORY, async (drafts) => {
    const draft = join(drafts, NAME)
    await writeFile(draft, brotliCompressSync(bytes, { params: COMPRESSION }))
    await place(draft, FILE)
  })
}
