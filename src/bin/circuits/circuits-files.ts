/** Where the files of the circuits are, and what the record of their setup says. @module */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  ARTIFACT_ENDINGS,
  ARTIFACTS_FILE,
  type ArtifactKind,
  type ArtifactsRecord,
  sha256Hex,
} from '../../circuits/artifacts/setup-record.ts'
import { DirectoryLocked, lockDirectory } from '../../store/directory-lock.ts'

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
export const BUILD = join(ROOT, 'build/circuits')
/** Where proving keys and the record of their setup are: CIRCUITS_DIR, or those that are shipped. */
export const KEYS = process.env.CIRCUITS_DIR || join(ROOT, 'circuits/keys')
export const RECORD = join(KEYS, ARTIFACTS_FILE)

const LOCK = join(KEYS, 'keys.lock')
const DRAFTS = 'draft-'
/** As mkdtemp names them. */
const DRAFTS_LEFT = /^draft-[A-Za-z0-9]{6}$/

const BUILT: ReadonlySet<ArtifactKind> = new Set(['wasm', 'r1cs', 'sym'])

export const artifactFile = (id: string, kind: ArtifactKind): string =>
  join(BUILT.has(kind) ? BUILD : KEYS, `${id}${ARTIFACT_ENDINGS[kind]}`)

export const hashFile = async (file: string): Promise<string> => sha256Hex(await readFile(file))

/** @returns the record, or an empty one before the first setup */
export const readRecord = (): ArtifactsRecord =>
  existsSync(RECORD)
    ? JSON.parse(readFileSync(RECORD, 'utf8'))
    : { powers: { file: '', sha256: '', setup: 'single-party', contributions: [] }, circuits: {} }

export const writeRecord = async (record: ArtifactsRecord): Promise<void> => {
  const circuits = Object.fromEntries(Object.entries(record.circuits).sort(([a], [b]) => (a < b ? -1 : 1)))
  await withDrafts(KEYS, async (drafts) => {
    const draft = join(drafts, ARTIFACTS_FILE)
    await writeFile(draft, `${JSON.stringify({ ...record, circuits }, undefined, 2)}\n`)
    await place(draft, RECORD)
  })
}

/**
 * Keeps other programs of the setup off the keys until this one ends: each writes the keys and the record that it makes of those it has read.
 * Removes the drafts that were left by programs which were killed. Ends this program with status 1 where another one is at work.
 */
export const lockKeys = (): void => {
  try {
    process.once('exit', lockDirectory(LOCK))
  } catch (error) {
    if (!(error instanceof DirectoryLocked)) throw error
    console.error(
      `${KEYS} is in use by process ${error.pid}. Start again when that has ended; if it was on a machine that no longer runs, delete ${LOCK}.`,
    )
    process.exit(1)
  }
  for (const entry of readdirSync(KEYS, { withFileTypes: true }))
    if (entry.isDirectory() && DRAFTS_LEFT.test(entry.name))
      rmSync(join(KEYS, entry.name), { recursive: true })
}

/** Runs `make` with a directory of its own beside the results, so that these only have to be renamed. */
export const withDrafts = async <T>(directory: string, make: (drafts: string) => Promise<T>): Promise<T> => {
  const drafts = await mkdtemp(join(directory, DRAFTS))
  try {
    return await make(drafts)
  } finally {
    await rm(drafts, { recursive: true })
  }
}

/** Puts a file in its place by one step, whoever else builds at the same time. */
export const place = (draft: string, file: string): Promise<void> => rename(draft, file)
