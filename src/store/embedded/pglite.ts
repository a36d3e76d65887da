/**
 * The embedded database: PGlite (PostgreSQL compiled to WebAssembly) behind knex's own `pg` client. It is one session
 * on the main thread, so the pool holds one connection. On disk it is made durable, locked, and started from a template.
 * @module
 */
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { createPgConfig } from '@electric-sql/pglite/node-postgres'
import createKnex, { type Knex } from 'knex'
import type { ClientBase } from 'pg'
import type { Database, StoreLogger } from '../database.ts'
import { lockDirectory } from '../directory-lock.ts'
import { createQuery, createSession, knexLog, typeParsers } from '../driver.ts'
import { DurableNodeFS } from './durable-node-fs.ts'
import { readTemplate } from './pglite-template.ts'

/** The data directory that keeps nothing. */
const MEMORY = 'memory'
/** Inside the cluster, written once all of it is on disk: without it, a first start was cut short. */
const READY_FILE = 'assay-ready'
/** Files synced to disk at once. */
const SYNC_PARALLEL_FILES = 32

/** A quarter of what the template says, which would stay resident; the system's cache holds the files anyway. */
const START = [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB']
/** `-F` would turn fsync off. */
const DURABLE_START = [
  ...START.filter((param) => param !== '-F'),
  ...['fsync=on', 'wal_sync_method=fsync', 'full_page_writes=on', 'synchronous_commit=on'].flatMap(
    (setting) => ['-c', setting],
  ),
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
const syncTree = async (root: string): Promise<void> => {
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

/** Starts PGlite on disk; the directory is locked by the caller. */
const startOnDisk = async (cluster: string, onSync?: () => void, logger?: StoreLogger): Promise<PGlite> => {
  const ready = join(cluster, READY_FILE)
  const fresh = !existsSync(ready)
  if (fresh && existsSync(cluster)) await setAside(cluster, logger)
  const loadDataDir = fresh ? readTemplate() : undefined
  const filesystem = new DurableNodeFS(cluster, !fresh, onSync)
  const pglite = await PGlite.create({
    fs: filesystem,
    startParams: DURABLE_START,
    ...(loadDataDir && { loadDataDir }),
  })
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
  const unlock = inMemory ? () => {} : lockDirectory(join(dataDir, 'database.lock'))
  let pglite: PGlite
  try {
    pglite = inMemory
      ? await PGlite.create({ startParams: START, loadDataDir: readTemplate() })
      : await startOnDisk(join(dataDir, 'database'), onSync, logger)
  } catch (error) {
    unlock()
    throw error
  }
  const knex = connect(pglite, logger)
  return {
    knex,
    query: createQuery(knex),
    kind: 'pglite',
    async ping() {
      await knex.raw('SELECT 1')
    },
    async session() {
      const client: ClientBase = await knex.client.acquireConnection()
      return createSession(knex, client, false, () => knex.client.releaseConnection(client))
    },
    async close() {
      await knex.destroy()
      await pglite.close()
      unlock()
    },
  }
}
