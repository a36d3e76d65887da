/**
 * The embedded database: PGlite (PostgreSQL compiled to WebAssembly) behind knex's own `pg` client. It is one session
 * on the main thread, so the pool holds one connection. On disk it is made durable, locked, and started from a template.
 * @module
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { createPgConfig } from '@electric-sql/pglite/node-postgres'
import createKnex, { type Knex } from 'knex'
import type { ClientBase } from 'pg'
import type { Database, Session, StoreLogger } from '../database.ts'
import { lockDirectory } from '../directory-lock.ts'
import { createQuery, createSession, knexLog, typeParsers } from '../driver.ts'
import { freeBytesAt } from '../watch/disk.ts'
import { DurableNodeFS } from './durable-node-fs.ts'
import { TemplateMemoryFS, unpackTemplate } from './pglite-template.ts'
import { startUpkeep } from './upkeep.ts'

/** The data directory that keeps nothing. */
const MEMORY = 'memory'
/** Inside the cluster, written once all of it is on disk: without it, a first start was cut short. */
const READY_FILE = 'assay-ready'
/** In the data directory, of the process that uses the cluster. */
export const LOCK_FILE = 'database.lock'
/** Beside the cluster, so that copies of the cluster are without it. */
export const PLACE_FILE = 'database.place'
/** How long the database works in a turn of the event loop before others have theirs. */
const TURN_MS = 5
/** Files synced to disk at once. */
const SYNC_PARALLEL_FILES = 32

const settings = (...all: readonly string[]): string[] => all.flatMap((setting) => ['-c', setting])
/**
 * Of buffers a quarter of what the template says, which would stay resident: the system's cache holds the files anyway. Of the write-ahead
 * log no more is kept for later than the upkeep needs.
 */
const START = [
  ...PGlite.defaultStartParams,
  ...settings('shared_buffers=32MB', 'min_wal_size=32MB', 'max_wal_size=64MB'),
]
/** `-F` would turn fsync off. */
const DURABLE_START = [
  ...START.filter((param) => param !== '-F'),
  ...settings('fsync=on', 'wal_sync_method=fsync', 'full_page_writes=on', 'synchronous_commit=on'),
]

const syncFile = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Syncs a directory with everything in it. */
export const syncTree = async (root: string): Promise<void> => {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const paths = entries.map((entry) => join(entry.parentPath, entry.name))
  for (let start = 0; start < paths.length; start += SYNC_PARALLEL_FILES) {
    await Promise.all(paths.slice(start, start + SYNC_PARALLEL_FILES).map(syncFile))
  }
  await syncFile(root)
}

/** Puts what a cut-short first start left out of the way. Nothing was ever acknowledged from it. */
const setAside = async (cluster: string, logger?: StoreLogger): Promise<void> => {
  for (let number = 1; ; number++) {
    const aside = `${cluster}.incomplete-${number}`
    if (existsSync(aside)) continue
    await rename(cluster, aside)
    logger?.warn({ aside }, 'an incomplete database was set aside')
    return
  }
}

/** Whether a first start, or the copying of files, came to its end: what is not complete, a start puts out of the way. */
export const isComplete = (cluster: string): boolean => existsSync(join(cluster, READY_FILE))

/** Starts PGlite on disk; the directory is locked by the caller. */
const startOnDisk = async (cluster: string, onSync?: () => void, logger?: StoreLogger): Promise<PGlite> => {
  const ready = join(cluster, READY_FILE)
  const fresh = !isComplete(cluster)
  if (fresh && existsSync(cluster)) await setAside(cluster, logger)
  if (fresh) unpackTemplate(cluster)
  const filesystem = new DurableNodeFS(cluster, !fresh, onSync)
  const pglite = await PGlite.create({ fs: filesystem, startParams: DURABLE_START })
  if (fresh) {
    filesystem.durable = true
    await syncTree(cluster)
    await writeFile(ready, 'The files of this database are complete. Keep this file with them.\n')
    await syncFile(ready)
    await syncFile(cluster)
    await syncFile(join(cluster, '..'))
  }
  return pglite
}

/** Which file it is, and where: a copy is another file at another path, one that was renamed or restored in place is not both. */
const identityOf = async (file: string): Promise<{ readonly inode: string; readonly path: string }> => ({
  inode: String((await stat(file, { bigint: true })).ino),
  path: await realpath(file),
})

interface KnownPlace {
  readonly place: string
  /** Whether the file tells both inode and path as they are. */
  readonly isCurrent: boolean
}

/** @returns undefined where there is no such file, or one that was copied from elsewhere */
const findPlace = async (file: string): Promise<KnownPlace | undefined> => {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const [place = '', inode = '', path = ''] = text.trim().split('\n')
  if (place === '') return undefined
  const here = await identityOf(file)
  const same = [here.inode === inode, here.path === path]
  // Made before such files told where they are.
  const isOld = inode === ''
  return isOld || same.includes(true) ? { place, isCurrent: !same.includes(false) } : undefined
}

const readPlace = async (file: string): Promise<string | undefined> => (await findPlace(file))?.place

/**
 * Makes the file tell where it is now, after a renaming as well: it survives a power cut.
 * @returns the place that it holds, which is random where it was missing or a copy
 */
const makePlace = async (file: string): Promise<string> => {
  const known = await findPlace(file)
  if (known?.isCurrent) return known.place
  const place = known?.place ?? `embedded/${randomUUID()}`
  const draft = `${file}.new`
  await writeFile(draft, '', { mode: 0o600 })
  // The name changes with the next step, the file does not.
  const { inode } = await identityOf(draft)
  const path = join(await realpath(dirname(file)), basename(file))
  await writeFile(draft, `${place}\n${inode}\n${path}\n`)
  await syncFile(draft)
  await rename(draft, file)
  await syncFile(dirname(file))
  return place
}

/**
 * Lets others have their turns between messages: all that is sent to the database is worked on in one turn of the event loop otherwise.
 * @returns what has a listener called before each message
 */
const shareLoop = (pglite: PGlite): ((listener: () => void) => void) => {
  const listeners: (() => void)[] = []
  let turnBegan: number | undefined
  const turnMs = (): number => {
    if (turnBegan !== undefined) return performance.now() - turnBegan
    turnBegan = performance.now()
    setImmediate(() => {
      turnBegan = undefined
    })
    return 0
  }
  const send = pglite.execProtocolStream.bind(pglite)
  pglite.execProtocolStream = async (...message) => {
    for (const listener of listeners) listener()
    if (turnMs() >= TURN_MS) await nextTurn()
    return send(...message)
  }
  return (listener) => listeners.push(listener)
}

/** knex over an open PGlite. */
export const connect = (pglite: PGlite, logger?: StoreLogger): Knex =>
  createKnex({
    client: 'pg',
    // Messages of errors get into the log, and values may be secrets.
    compileSqlOnError: false,
    // A function, because knex copies a plain object deeply, and this one holds the connection itself.
    connection: () => ({ ...createPgConfig(pglite), types: typeParsers }),
    pool: { min: 1, max: 1 },
    log: knexLog((message) => logger?.warn({}, message)),
  })

/**
 * @param dataDir holds the cluster in `database/` and the lock `database.lock`; or `memory`
 * @param onSync called after each fsync(2); for tests
 * @throws DirectoryLocked when another process uses the directory
 */
export const openPglite = async (
  dataDir: string,
  logger?: StoreLogger,
  onSync?: () => void,
): Promise<Database> => {
  const inMemory = dataDir === MEMORY
  if (!inMemory) await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const unlock = inMemory ? () => {} : lockDirectory(join(dataDir, LOCK_FILE))
  let pglite: PGlite
  try {
    pglite = inMemory
      ? await PGlite.create({ startParams: START, fs: new TemplateMemoryFS() })
      : await startOnDisk(join(dataDir, 'database'), onSync, logger)
  } catch (error) {
    unlock()
    throw error
  }
  const onMessage = shareLoop(pglite)
  const knex = connect(pglite, logger)
  const session = async (): Promise<Session> => {
    const client: ClientBase = await knex.client.acquireConnection()
    return createSession(knex, client, false, () => knex.client.releaseConnection(client))
  }
  const freeBytes = async () => (inMemory ? undefined : freeBytesAt(dataDir))
  const upkeep = startUpkeep({ session, freeBytes }, logger)
  const placeFile = join(dataDir, PLACE_FILE)
  return {
    knex,
    query: createQuery(knex),
    kind: 'pglite',
    onMessage,
    rest: upkeep.rest,
    async setReadOnly(isReadOnly) {
      await knex.raw(`SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`)
    },
    ...(!inMemory && { clusterDirectory: join(dataDir, 'database') }),
    place: () => (inMemory ? Promise.resolve(MEMORY) : readPlace(placeFile)),
    makePlace: () => (inMemory ? Promise.resolve(MEMORY) : makePlace(placeFile)),
    async ping() {
      await knex.raw('SELECT 1')
    },
    makeRoom: () => undefined,
    session,
    async close() {
      await upkeep.close()
      await knex.destroy()
      await pglite.close()
      unlock()
    },
  }
}
