/** PostgreSQL: knex with a pool for reads, and a small pool beside it for sessions. @module */
import createKnex from 'knex'
import pg from 'pg'
import type { Database, StoreLogger } from './database.ts'
import { createQuery, createSession, createTimedQuery, knexLog, typeParsers } from './driver.ts'
import { ConnectionLost, saysDiskFull } from './session.ts'

const POOL_MAX_CONNECTIONS = 10
/** One for each lane, and one for each slow change that waits. */
const SESSIONS_MAX_CONNECTIONS = 4
const CONNECT_TIMEOUT_MS = 5_000
/** A lane never waits longer than this for the head row, nor may a stuck lane hold it longer. */
const LANE_LOCK_TIMEOUT_MS = 2_000
const LANE_IDLE_TIMEOUT_MS = 2_000
/** A connection that answers nothing for so long is given up: a network that drops packets sends no error. */
const LANE_QUERY_TIMEOUT_MS = 10_000
const MIN_SERVER_VERSION = 140_000

/** @throws Error when the server is too old or does not store UTF-8 */
const checkServer = async (pool: pg.Pool): Promise<void> => {
  const { rows } = await pool.query<{ version: number; encoding: string }>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding`,
  )
  const { version, encoding } = rows[0]!
  if (version < MIN_SERVER_VERSION) throw new Error(`PostgreSQL 14 or later is needed, not ${version}.`)
  if (encoding !== 'UTF8') throw new Error(`The database's encoding must be UTF8, not ${encoding}.`)
}

/**
 * @param url `postgres://user:password@host:port/database`
 * @throws the driver's error when the server can't be reached
 */
export const openPostgres = async (url: string, logger?: StoreLogger): Promise<Database> => {
  const connection = {
    connectionString: url,
    application_name: 'assay',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: typeParsers,
  }
  const sessions = new pg.Pool({
    ...connection,
    max: SESSIONS_MAX_CONNECTIONS,
    idleTimeoutMillis: 0,
    lock_timeout: LANE_LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: LANE_IDLE_TIMEOUT_MS,
    query_timeout: LANE_QUERY_TIMEOUT_MS,
    pipeline: true,
  })
  // The query that is running rejects by itself; without a listener the event would end the process.
  sessions.on('connect', (client) => client.on('error', () => {}))
  sessions.on('error', (error) => logger?.warn({ err: error }, 'a database session was lost'))

  const knex = createKnex({
    client: 'pg',
    // Messages of errors get into the log, and values may be secrets.
    compileSqlOnError: false,
    connection,
    pool: { min: 0, max: POOL_MAX_CONNECTIONS },
    acquireConnectionTimeout: CONNECT_TIMEOUT_MS,
    log: knexLog((message) => logger?.warn({}, message)),
  })

  let tellDiskFull: () => void = () => undefined
  const look = (error: unknown): void => {
    if (saysDiskFull(error)) tellDiskFull()
  }
  knex.on('query-error', look)

  const close = async (): Promise<void> => {
    await Promise.all([sessions.end(), knex.destroy()])
  }
  try {
    await checkServer(sessions)
  } catch (error) {
    await close()
    throw error
  }
  return {
    knex,
    query: createQuery(knex),
    queryWithin: createTimedQuery(knex),
    kind: 'postgres',
    onDiskFull(listener) {
      tellDiskFull = listener
    },
    async ping() {
      await knex.raw('SELECT 1')
    },
    async session() {
      const client = await sessions.connect().catch((error: unknown) => {
        throw new ConnectionLost(error)
      })
      return createSession(knex, client, true, (destroy) => client.release(destroy), look)
    },
    close,
  }
}
