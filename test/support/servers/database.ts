/**
 * Databases for tests: embedded in memory, or, when DATABASE_URL is set, a fresh one on that server which is dropped
 * when it is closed.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { type Database, openDatabase } from '../../../src/store/database.ts'

/** The PostgreSQL server to test against, if any: the suite is run once without and once with it. */
export const DATABASE_URL = process.env.DATABASE_URL || undefined

let warned = false
const orSkip = <T extends { skip: unknown }>(run: T): T | T['skip'] => {
  if (DATABASE_URL !== undefined) return run
  if (!warned)
    process.stdout.write('\n  !! DATABASE_URL is not set: tests that need PostgreSQL are SKIPPED.\n')
  warned = true
  return run.skip
}

/** `it` and `describe` for what only PostgreSQL can show. */
export const onPostgres = {
  get it() {
    return orSkip(it)
  },
  get describe() {
    return orSkip(describe)
  },
}

/** `it` and `describe` for what no database has a part in, or the embedded one alone: the run without DATABASE_URL does it. */
export const onEmbedded = {
  get it() {
    return DATABASE_URL === undefined ? it : it.skip
  },
  get describe() {
    return DATABASE_URL === undefined ? describe : describe.skip
  },
}

const CHECKPOINT_TRIES = 60
const CHECKPOINT_PAUSE_MS = 1000

/** Another file fills a disk of this PostgreSQL for some seconds, in which nobody gets the checkpoint that a DROP needs. */
const administer = async (sql: string): Promise<void> => {
  const client = new pg.Client({ connectionString: DATABASE_URL })
  await client.connect()
  try {
    for (let tries = 1; ; tries++) {
      try {
        return void (await client.query(sql))
      } catch (error) {
        const isNotYet = error instanceof Error && error.message === 'checkpoint request failed'
        if (!isNotYet || tries === CHECKPOINT_TRIES) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, CHECKPOINT_PAUSE_MS))
    }
  } finally {
    await client.end()
  }
}

export interface FreshDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** A new, empty database on the server of DATABASE_URL. */
export const createPostgresDatabase = async (): Promise<FreshDatabase> => {
  if (DATABASE_URL === undefined) throw new Error('DATABASE_URL is not set.')
  const name = `assay_test_${randomBytes(6).toString('hex')}`
  await administer(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`)
  const url = new URL(DATABASE_URL)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/** An open database with the current schema that nobody else uses; it is gone after `close`. */
export const openTestDatabase = async (): Promise<Database> => {
  if (DATABASE_URL === undefined) return openDatabase({ dataDir: 'memory' })
  const fresh = await createPostgresDatabase()
  const database = await openDatabase({ databaseUrl: fresh.url, dataDir: 'memory' })
  return {
    ...database,
    async close() {
      await database.close()
      await fresh.drop()
    },
  }
}
