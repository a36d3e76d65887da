/**
 * The database: PostgreSQL when there is a URL, else an embedded one (PGlite) in the data directory. Everything
 * above sees the same value and the same SQL.
 * @module
 */
import type { Knex } from 'knex'
import { type MigrationStep, migrate, missingMigrations, outdated } from './migrate.ts'
import { openPostgres } from './postgres.ts'
import type { QueryResult, Session, WriteRefusal } from './session.ts'

export type { Session } from './session.ts'

/** The little of a logger that the store needs; pino fits. */
export interface StoreLogger {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

export interface Database {
  /** For reads, and for whatever needs no session of its own. */
  readonly knex: Knex
  /**
   * One query, for reads that are asked often: on PostgreSQL it costs half of what knex does.
   * @param name prepares the query under this name; one name stands for one text for ever, which names the columns that it returns
   * @throws the driver's error
   */
  query<R extends object>(text: string, values: readonly unknown[], name?: string): Promise<QueryResult<R>>
  /**
   * One query that ends after a time, on one of a few connections kept for such. Absent where the database knows no time-outs, as PGlite.
   * @throws ConnectionLost, or the driver's error; SQLSTATE 57014 where the time was up
   */
  readonly queryWithin?: <R extends object>(
    timeoutMs: number,
    text: string,
    values: readonly unknown[],
    name?: string,
  ) => Promise<QueryResult<R>>
  readonly kind: 'pglite' | 'postgres'
  /** Whether a pooler, such as PgBouncer, hands out the sessions of PostgreSQL. */
  readonly isPooled?: boolean
  /**
   * Calls the listener whenever the server refused a query since its disk is full, or since it takes no writes. Absent where
   * the database has no server of its own, as PGlite.
   */
  readonly onWriteRefused?: (listener: (why: WriteRefusal) => void) => void
  /**
   * Makes every later transaction read only, or ends that: what it would write is refused with SQLSTATE 25006. Absent where
   * the database has a server of its own, which knows its disk.
   * @throws the driver's error
   */
  readonly setReadOnly?: (isReadOnly: boolean) => Promise<void>
  /** Has the upkeep of an embedded database rest, at once, or go on. Absent where the database has a server of its own. */
  readonly rest?: (isResting: boolean) => void
  /**
   * Calls the listener, which must not throw, before each message to the database. Absent where the database has threads of its own: an
   * embedded one works on this one, for up to 5 ms in a turn of the event loop and as long as a message takes.
   */
  readonly onMessage?: (listener: () => void) => void
  /** Directory with the files of an embedded database, which rest while its session is held; absent where there are none. */
  readonly clusterDirectory?: string
  /**
   * Where the data lives: a text that is another one for whatever was made from a copy of it, a dump or a backup. Undefined
   * where none was given yet.
   */
  place(): Promise<string | undefined>
  /** Gives the data a place, or makes what remembers it tell where the data is now. @returns the place */
  makePlace(): Promise<string>
  /** Resolves when the database answers. @throws the driver's error when it doesn't */
  ping(): Promise<void>
  /**
   * A connection to oneself; give it back with `release`. On PostgreSQL it comes from a small pool beside knex's.
   * On PGlite it is the only connection there is: nothing else runs until it is released, so never use `knex`
   * while holding one.
   * @throws ConnectionLost when none can be had
   */
  session(): Promise<Session>
  /** Has a session for each of so many logs, which are written to in transactions of their own. Before it is called: for one. */
  makeRoom(logs: number): void
  /** Ends all connections, and the embedded database. Sessions must have been released. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** PostgreSQL 14 or later; absent: embedded. */
  readonly databaseUrl?: string
  /** Where the embedded database lives, or `memory`. */
  readonly dataDir: string
  /** False: a schema that is older than the program is refused; `any`: it is left as it is. Default: it is brought up to date. */
  readonly migrate?: boolean | 'any'
  /** Called before each migration. */
  readonly onMigration?: (step: MigrationStep) => void
}

/** @throws SchemaMismatch */
const expectSchema = async (database: Database, { migrate: mode = true, onMigration }: DatabaseOptions) => {
  if (mode === true) return migrate(database, onMigration)
  const missing = await missingMigrations(database)
  if (mode === false && missing.length > 0) throw outdated(missing)
  return []
}

/** Loaded where it is used alone. */
const openEmbedded = async (dataDir: string, logger?: StoreLogger): Promise<Database> => {
  const { openPglite } = await import('./embedded/pglite.ts')
  return openPglite(dataDir, logger)
}

/**
 * Opens the database and brings its schema up to date; several servers may do so at once.
 * @throws DirectoryLocked when another process uses the data directory, SchemaMismatch
 */
export const openDatabase = async (options: DatabaseOptions, logger?: StoreLogger): Promise<Database> => {
  const database =
    options.databaseUrl === undefined
      ? await openEmbedded(options.dataDir, logger)
      : await openPostgres(options.databaseUrl, logger)
  try {
    await expectSchema(database, options)
  } catch (error) {
    await database.close()
    throw error
  }
  return database
}
