/** `assay backup`: asks the running server for a backup of its embedded database, checks it and keeps it. @module */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { loadConfig } from '../../config/config.ts'
import { readSecret } from '../../config/secrets.ts'
import { readBackup } from './archive.ts'

const TELL_MS = 1000
const MIB = 2 ** 20

interface Flags {
  readonly url?: string
}

const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`

/** PostgreSQL's own tools know best; the variable is not written out, since it may hold a password. */
const HOW_ON_POSTGRES = `This service keeps its data in PostgreSQL, which has its own tools:

  pg_dump --format=custom --file=FILE "$DATABASE_URL"
  curl -fs BASE_URL/checkpoint > checkpoint.txt

Other users of the machine see what a program is called with: leave the password out of that URL, and
keep it in ~/.pgpass (or PGPASSFILE). docs/operations.md tells of WAL archiving, of restoring, and what the checkpoint is for.`

/** Why fetch failed: it says so in the cause alone, and of a name with several addresses for each of them. */
const unreachedBecause = (error: unknown): string => {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (cause instanceof AggregateError) return [...new Set(cause.errors.map(unreachedBecause))].join(', ')
  return cause instanceof Error ? cause.message : String(cause)
}

/** Says how far it is, a second apart. */
const createTeller = (word: string) => {
  let told = performance.now()
  return (bytes: number, of: number): void => {
    if (performance.now() - told < TELL_MS) return
    told = performance.now()
    console.error(`${word}: ${mib(bytes)} of ${mib(of)}`)
  }
}

const ask = async (url: string, key: string): Promise<Response> => {
  const response = await fetch(new URL('/v1/backup', url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}` },
  }).catch((error: unknown) => {
    throw new Error(
      `The server at ${url} can't be asked (${unreachedBecause(error)}). A backup is made by the server that runs: start it, or name its address with --url.`,
    )
  })
  if (response.ok) return response
  const { message = response.statusText }: { message?: string } = await response.json().catch(() => ({}))
  throw new Error(`The server at ${url} answered ${response.status}: ${message}`)
}

/** @returns SHA-256 in hex */
const keep = async (response: Response, file: FileHandle, bytes: number): Promise<string> => {
  const hash = createHash('sha256')
  const tell = createTeller('received, compressed')
  let received = 0
  for await (const chunk of response.body ?? []) {
    hash.update(chunk)
    await file.write(chunk)
    received += chunk.length
    tell(received, bytes)
  }
  await file.sync()
  return hash.digest('hex')
}

/** @throws Error that says what to do where there is one */
const openDraft = async (partial: string): Promise<FileHandle> => {
  try {
    return await open(partial, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Error(
      `${partial} exists: another backup is being made, or one was broken off. Remove it if none is.`,
    )
  }
}

export const backUp = async (target: string, { url }: Flags): Promise<void> => {
  const { databaseUrl, baseUrl, adminApiKey, dataDir, host, port } = loadConfig(process.env, {
    makesKey: false,
  })
  if (databaseUrl !== undefined) throw new Error(HOW_ON_POSTGRES)
  if (existsSync(target)) throw new Error(`${target} exists.`)
  const key = adminApiKey ?? readSecret(dataDir, 'admin.key')
  if (key === undefined) throw new Error('Set ADMIN_API_KEY: DATA_DIR holds no admin.key.')
  const own = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const partial = `${target}.partial`
  // Before anybody has to wait for a copy, and so that only what was made here is removed.
  const file = await openDraft(partial)
  try {
    const response = await ask(url ?? own, key)
    const about: { pauseMs: number; bytes: number } = JSON.parse(response.headers.get('assay-backup') ?? '{}')
    const sha256 = await keep(response, file, about.bytes)
    await file.close()
    const manifest = await readBackup(partial, { onBytes: createTeller('checked') })
    await rename(partial, target)
    console.log(
      `${target}: ${mib(manifest.bytes)} of files, ${manifest.log.treeSize} log entries, schema ${manifest.schema}`,
    )
    console.log(`sha256 ${sha256}`)
    console.log(
      `Nobody could read or write for ${manifest.pauseMs} ms. The backup holds no key: keep master.key elsewhere.`,
    )
    console.log(
      `Newest checkpoints are at ${new URL('/checkpoint', baseUrl)}; a restored copy wants to see one.`,
    )
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(partial, { force: true })
    throw error
  }
}
