/** PostgreSQL: knex with a pool for reads, and beside it small pools for sessions and for what may take long. @module */
import createKnex from 'knex'
import pg from 'pg'
import type { Database, StoreLogger } from './database.ts'
import {
  createQuery,
  createSession,
  createTimedQuery,
  knexLog,
  repeatAfterConflicts,
  socketOf,
  typeParsers,
  type Watch,
} from './driver.ts'
import { ConnectionLost, isOutdated, type WriteRefusal, writeRefusalOf } from './session.ts'

const POOL_MAX_CONNECTIONS = 10
/** One for each lane, and one for each slow change that waits; each further log has a lane of its own. */
const SESSIONS_MAX_CONNECTIONS = 4
/** Who searches waits for others who do, and for nobody else. */
const TIMED_MAX_CONNECTIONS = 2
const CONNECT_TIMEOUT_MS = 5_000
/** A read that takes longer is given up, so that a slow one can't keep connections from everybody. */
const READ_TIMEOUT_MS = 10_000
/** A lane never waits longer than this for the head row, nor may a stuck lane hold it longer. */
const LANE_LOCK_TIMEOUT_MS = 2_000
const LANE_IDLE_TIMEOUT_MS = 2_000
/** A connection that answers nothing for so long is given up: a network that drops packets sends no error. */
const LANE_QUERY_TIMEOUT_MS = 10_000
/** The same of a read, which the server itself ends before that where there is one. */
const READ_SILENCE_MS = READ_TIMEOUT_MS + 2_000
const SILENT = 'Query read timeout'
const MIN_SERVER_VERSION = 140_000

/** What a session of ours must be set to; each in ms. */
export const SESSION_TIMEOUTS_MS = {
  lock_timeout: LANE_LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: LANE_IDLE_TIMEOUT_MS,
  statement_timeout: READ_TIMEOUT_MS,
}

interface Server {
  readonly version: number
  readonly encoding: string
  readonly pid: number
  readonly role: string
  readonly database: string
  /** Values of {@link SESSION_TIMEOUTS_MS} in ms, 0 for none. */
  readonly settings: Readonly<Record<string, number>>
}

/**
 * A pooler, such as PgBouncer, hands out sessions of others: what is set, or prepared by name, in one may be wanted in the next. So
 * its sessions must come with our settings, and nothing is prepared by name.
 * @throws Error that says how the settings are made
 */
const checkPooler = ({ role, database, settings }: Server): void => {
  const wrong = Object.entries(SESSION_TIMEOUTS_MS).filter(
    ([name, most]) => !((settings[name] ?? 0) > 0 && (settings[name] ?? 0) <= most),
  )
  if (wrong.length === 0) return
  const commands = wrong.map(
    ([name, most]) => `ALTER ROLE "${role}" IN DATABASE "${database}" SET ${name} = '${most / 1000}s';`,
  )
  throw new Error(
    `DATABASE_URL leads to a connection pooler, whose sessions must come with time-outs of their own. Run, and have the pooler connect anew: ${commands.join(' ')}`,
  )
}

/**
 * @returns whether a pooler is between us and the server: the process it named when we connected isn't the one that answers
 * @throws Error when the server is too old, does not store UTF-8, or is behind a pooler that isn't set up for us; the driver's when it does
 *   not answer in {@link CONNECT_TIMEOUT_MS}
 */
const checkServer = async (connection: pg.ClientConfig): Promise<boolean> => {
  // A pooler lets in while there is no server behind it, and has what is asked wait.
  const client = new pg.Client({ ...connection, query_timeout: CONNECT_TIMEOUT_MS })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<Server>(
      `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
        pg_backend_pid() AS pid, current_user AS role, current_database() AS database,
        (SELECT json_object_agg(name, setting::int) FROM pg_settings WHERE name = ANY ($1)) AS settings`,
      [Object.keys(SESSION_TIMEOUTS_MS)],
    )
    const server = rows[0]!
    const { version, encoding, pid } = server
    if (version < MIN_SERVER_VERSION) throw new Error(`PostgreSQL 14 or later is needed, not ${version}.`)
    if (encoding !== 'UTF8') throw new Error(`The database's encoding must be UTF8, not ${encoding}.`)
    const isPooled = 'processID' in client && client.processID !== pid
    if (isPooled) checkPooler(server)
    return isPooled
  } finally {
    await client.end()
  }
}

/**
 * Which connections may be used. One that did not answer in time, as those to a machine that lost its power, casts doubt on all that were
 * made before: nobody waits once more to find out about each. So does one that refuses a statement since a migration changed its
 * columns: all that were made before may have prepared it, too.
 */
const createFitness = () => {
  const madeAt = new WeakMap<object, number>()
  let lastAt = Number.NEGATIVE_INFINITY
  const doubt = (): void => {
    lastAt = performance.now()
  }
  const watch: Watch = async (client, work) => {
    const timer = setTimeout(() => {
      doubt()
      // What is asked on it rejects, as it does when a connection breaks.
      socketOf(client)?.destroy()
    }, READ_SILENCE_MS)
    try {
      return await work()
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    made: (client: object): void => void madeAt.set(client, performance.now()),
    /** To be told of errors of queries that have a time-out of their own; knex puts the query before the message. */
    look(error: unknown): void {
      if (isOutdated(error) || (error instanceof Error && error.message.endsWith(SILENT))) doubt()
    },
    /** Whether a connection may be used. Of one that is in doubt the socket is closed: nobody would answer to an orderly end. */
    isFit(client: object): boolean {
      const isFit = (madeAt.get(client) ?? 0) >= lastAt
      if (!isFit) socketOf(client)?.destroy()
      return isFit
    },
    watch,
  }
}

/** Of the cluster, the database in it, and the table: what a dump makes anew, wherever it is restored. */
const PLACE = `SELECT concat_ws('/', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()),
    'ledger_home'::regclass::oid) AS place FROM pg_control_system()`

/**
 * @param url `postgres://user:password@host:port/database`
 * @throws the driver's error when the server can't be reached, Error when it, or a pooler before it, isn't fit
 */
export const openPostgres = async (url: string, logger?: StoreLogger): Promise<Database> => {
  const connection = {
    connectionString: url,
    application_name: 'assay',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: typeParsers,
  }
  const isPooled = await checkServer(connection)
  // A pooler takes none of them at the beginning of a session.
  const {
    lock_timeout,
    idle_in_transaction_session_timeout,
    statement_timeout,
  }: Partial<typeof SESSION_TIMEOUTS_MS> = isPooled ? {} : SESSION_TIMEOUTS_MS
  const sessions = new pg.Pool({
    ...connection,
    max: SESSIONS_MAX_CONNECTIONS,
    idleTimeoutMillis: 0,
    lock_timeout,
    idle_in_transaction_session_timeout,
    query_timeout: LANE_QUERY_TIMEOUT_MS,
    pipeline: true,
  })
  const timed = new pg.Pool({
    ...connection,
    max: TIMED_MAX_CONNECTIONS,
    query_timeout: READ_SILENCE_MS,
    pipeline: true,
  })
  const fitness = createFitness()
  for (const pool of [sessions, timed]) {
    pool.on('connect', (client) => {
      fitness.made(client)
      // The query that is running rejects by itself; without a listener the event would end the process.
      client.on('error', () => {})
    })
    pool.on('error', (error) => logger?.warn({ err: error }, 'a database session was lost'))
  }

  const knex = createKnex({
    client: 'pg',
    // Messages of errors get into the log, and values may be secrets.
    compileSqlOnError: false,
    connection: { ...connection, statement_timeout },
    pool: {
      min: 0,
      max: POOL_MAX_CONNECTIONS,
      afterCreate(client: object, done: (error: null, client: object) => void) {
        fitness.made(client)
        done(null, client)
      },
    },
    acquireConnectionTimeout: CONNECT_TIMEOUT_MS,
    log: knexLog((message) => logger?.warn({}, message)),
  })

  let tellRefused: (why: WriteRefusal) => void = () => undefined
  const look = (error: unknown): void => {
    fitness.look(error)
    const why = writeRefusalOf(error)
    if (why !== undefined) tellRefused(why)
  }
  knex.on('query-error', look)
  repeatAfterConflicts(knex, fitness.watch)
  knex.client.validateConnection = fitness.isFit

  const query = createQuery(knex, fitness.watch, fitness.look)
  /** @throws ConnectionLost */
  const connect = async (pool: pg.Pool): Promise<pg.PoolClient> => {
    for (;;) {
      const client = await pool.connect().catch((error: unknown) => {
        throw new ConnectionLost(error)
      })
      if (fitness.isFit(client)) return client
      client.release(true)
    }
  }
  const queryWithin = createTimedQuery(() => connect(timed), fitness.look)
  const place = async (): Promise<string> => {
    const { rows } = await query<{ place: string }>(PLACE, [])
    return `postgres/${rows[0]?.place}`
  }
  return {
    knex,
    query: isPooled ? (text, values) => query(text, values) : query,
    queryWithin: isPooled ? (ms, text, values) => queryWithin(ms, text, values) : queryWithin,
    kind: 'postgres',
    isPooled,
    onWriteRefused(listener) {
      tellRefused = listener
    },
    place,
    makePlace: place,
    async ping() {
      await knex.raw('SELECT 1')
    },
    makeRoom(logs) {
      // The pool looks it up each time that a session is asked for.
      sessions.options.max = SESSIONS_MAX_CONNECTIONS + logs - 1
    },
    async session() {
      const client = await connect(sessions)
      const session = createSession(knex, client, true, (destroy) => client.release(destroy), look)
      return isPooled ? { ...session, query: (text, values) => session.query(text, values) } : session
    },
    async close() {
      await Promise.all([sessions.end(), timed.end(), knex.destroy()])
    },
  }
}
