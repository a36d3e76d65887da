/**
 * Databases for tests: embedded in memory, or, when DATABASE_URL is set, a fresh one on that server which is dropped
 * when it is closed.
 */
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { createMigratedDatabase, createScratchDatabase, type ScratchDatabase } from './scratch-database.ts'

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

/** A new, empty database on the server of DATABASE_URL. */
export const createPostgresDatabase = async (): Promise<ScratchDatabase> => {
  if (DATABASE_URL === undefined) throw new Error('DATABASE_URL is not set.')
  return createScratchDatabase(DATABASE_URL)
}

/** An open database with the current schema that nobody else uses; it is gone after `close`. */
export const openTestDatabase = async (): Promise<Database> => {
  if (DATABASE_URL === undefined) return openDatabase({ dataDir: 'memory' })
  const scratch = await createMigratedDatabase(DATABASE_URL)
  const database = await openDatabase({ databaseUrl: scratch.url, dataDir: 'memory' })
  return {
    ...database,
    async close() {
      await database.close()
      await scratch.drop()
    },
  }
}
