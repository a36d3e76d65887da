/**
 * A database session: one connection that a caller has to itself until it lets go of it, so that it may open a
 * transaction on it. Queries can carry a name and are then prepared once per connection.
 * @module
 */
import type { Knex } from 'knex'

export interface QueryResult<R> {
  readonly rows: R[]
  /** Rows that the query returned or changed. */
  readonly rowCount: number
}

export interface Session {
  /**
   * Runs one query. Without values `text` may hold several; the last one's result is returned. Queries may be
   * sent without waiting for the ones before: they run in order, and on PostgreSQL they share a round trip.
   * @param name prepares the query under this name; one name stands for one text for ever, which names the columns that it returns
   * @throws ConnectionLost when the connection broke, so that the outcome is unknown, or is of no use any more
   */
  query<R extends object>(text: string, values?: readonly unknown[], name?: string): Promise<QueryResult<R>>
  /**
   * Opens a transaction on this session and runs `fn` with knex bound to it; commits when `fn` returns.
   * @throws ConnectionLost when the connection broke, else what `fn` or the database threw
   */
  transaction<R>(fn: (trx: Knex.Transaction) => Promise<R>): Promise<R>
  /** Gives the connection back. @param destroy closes it instead: its state is unknown */
  release(destroy?: boolean): void
}

/** The connection broke, or none could be had. Whatever was being done may or may not have happened. */
export class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('The connection to the database was lost.', { cause })
    this.name = 'ConnectionLost'
  }
}

/** SQLSTATE of an error that the database itself reported, else undefined. PostgreSQL, appendix A. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof Error && 'severity' in error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined

/** Why a database takes no writes for now: no room, or it is a standby or set to be read only. */
export type WriteRefusal = 'disk_full' | 'read_only'

/** disk_full and read_only_sql_transaction. PostgreSQL, appendix A */
const WRITE_REFUSALS: Readonly<Record<string, WriteRefusal>> = { '53100': 'disk_full', '25006': 'read_only' }

/** @returns undefined for all other errors */
export const writeRefusalOf = (error: unknown): WriteRefusal | undefined =>
  WRITE_REFUSALS[sqlState(error) ?? '']

/** Whether the database took no write, or something was given up since it took none. */
export const isWriteRefused = (error: unknown): boolean =>
  [error, error instanceof Error && error.cause].some((failure) => writeRefusalOf(failure) !== undefined)

/**
 * Errors after which the server has closed the connection or never let us in: class 08, shutdowns (57P01–57P05),
 * the idle-in-transaction and transaction time-outs (25P03, 25P04) and too many connections (53300).
 */
const CONNECTION_STATES = /^(08...|57P0[1-5]|25P0[34]|53300)$/

/** The database refused for now and changed nothing: time-outs, deadlocks, exhausted resources, no writes at the moment. */
const TRANSIENT_STATES = /^(25006|55P03|57014|40...|53...)$/

/** Whether the database said that trying again later may succeed. */
export const isTransient = (error: unknown): boolean => TRANSIENT_STATES.test(sqlState(error) ?? '')

const NETWORK_ERRORS: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
/** What node-postgres says without a code; knex puts the query before it. */
const DRIVER_MESSAGES =
  /(Connection terminated( unexpectedly| due to connection timeout)?|timeout expired|Query read timeout)$/

/** Whether it came from the connection, not from the server: an error of the network or of the driver. */
export const isConnectionError = (error: unknown): boolean => {
  if (!(error instanceof Error) || sqlState(error) !== undefined) return false
  if ('code' in error && typeof error.code === 'string') return NETWORK_ERRORS.has(error.code)
  return DRIVER_MESSAGES.test(error.message)
}

/** Whether the database can't be reached, is overloaded or restarting, so that the same may succeed later. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof ConnectionLost ||
  isTransient(error) ||
  endsConnection(error) ||
  isConnectionError(error) ||
  (error instanceof Error && error.name === 'KnexTimeoutError')

/**
 * Whether a statement was prepared by name before a migration changed the columns that it returns. The connection refuses it from then
 * on, whatever is done on it: 0A000, `cached plan must not change result type`, in whichever language.
 */
export const isOutdated = (error: unknown): boolean =>
  sqlState(error) === '0A000' &&
  error instanceof Error &&
  'routine' in error &&
  error.routine === 'RevalidateCachedQuery'

/** Whether the server said that it has closed the connection, or would not have it. */
export const endsConnection = (error: unknown): boolean => CONNECTION_STATES.test(sqlState(error) ?? '')
