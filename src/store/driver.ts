/** What both kinds of database share of node-postgres. @module */
import type { Knex } from 'knex'
import pg from 'pg'
import { despiteConflicts } from './conflicts.ts'
import {
  ConnectionLost,
  endsConnection,
  isConnectionError,
  isOutdated,
  type QueryResult,
  type Session,
  sqlState,
} from './session.ts'

/** OID of int8 in pg_type. */
const INT8_OID = pg.types.builtins.INT8

const parseInt8 = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`The database holds ${text}, beyond 2^53.`)
  return value
}

/**
 * Type parsers of our connections alone: int8 becomes a number, for ids and counters stay far below 2^53.
 * @throws RangeError from a query whose result holds a greater one
 */
export const typeParsers = {
  getTypeParser: (oid: number, format?: string) =>
    oid === INT8_OID ? parseInt8 : pg.types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text'),
}

const run = async <R extends object>(
  client: pg.ClientBase,
  text: string,
  values?: readonly unknown[],
  name?: string,
): Promise<QueryResult<R>> => {
  // Several queries in one text give an array of results, which the driver's types leave out.
  const answer: pg.QueryResult<R> | pg.QueryResult<R>[] = await client.query<R>({
    text,
    ...(values && { values: [...values] }),
    ...(name !== undefined && { name }),
  })
  const last = Array.isArray(answer) ? answer.at(-1) : answer
  return { rows: last?.rows ?? [], rowCount: last?.rowCount ?? 0 }
}

/** Has one statement on a connection of knex's pool answered; what watches over it may give it up. */
export type Watch = <R>(client: object, work: () => Promise<R>) => Promise<R>

const unwatched: Watch = (_, work) => work()

/** Runs a statement that is a transaction by itself again, once, where its connection had prepared it for other columns. */
const despiteColumns = async <R>(work: () => Promise<R>): Promise<R> => {
  try {
    return await work()
  } catch (error) {
    if (!isOutdated(error)) throw error
    return work()
  }
}

/**
 * One query on a connection of knex's pool.
 * @param onError is told of each query's error, and that its connection is of no use any more where the error {@link isOutdated}
 * @param name prepares the query under this name; one name stands for one text for ever, which names the columns that it returns
 * @throws the driver's error
 */
export const createQuery = (knex: Knex, watch: Watch = unwatched, onError?: (error: unknown) => void) => {
  const ask = async <R extends object>(
    text: string,
    values: readonly unknown[],
    name?: string,
  ): Promise<QueryResult<R>> => {
    const client: pg.ClientBase = await knex.client.acquireConnection()
    try {
      return await despiteConflicts(() => watch(client, () => run<R>(client, text, values, name)))
    } catch (error) {
      onError?.(error)
      throw error
    } finally {
      knex.client.releaseConnection(client)
    }
  }
  // Within a transaction it would only be told that this one is aborted.
  if (knex.isTransaction) return ask
  return <R extends object>(text: string, values: readonly unknown[], name?: string) =>
    despiteColumns(() => ask<R>(text, values, name))
}

/**
 * Has knex run a statement again that is a transaction by itself and met another one. Statements within a transaction go another
 * way: whoever began it runs it again as a whole.
 */
export const repeatAfterConflicts = ({ client }: Knex, watch: Watch): void => {
  const query = client.query.bind(client)
  client.query = (connection: object, statement: unknown) =>
    despiteConflicts(() => watch(connection, () => query(connection, statement)))
}

/** Settings of a query that is timed: by index, and on one processor, so that it slows others as little as can be. */
const TIMED = 'SET LOCAL enable_seqscan = off; SET LOCAL max_parallel_workers_per_gather = 0'

/**
 * @param connect gives a client that sends queries before earlier ones are answered: all of it is one round trip
 * @param onError is told of each query's error, and that its connection is of no use any more where the error {@link isOutdated}
 * @returns a function that runs one query for at most so long @throws ConnectionLost, or the driver's error
 */
export const createTimedQuery = (
  connect: () => Promise<pg.PoolClient>,
  onError: (error: unknown) => void,
) => {
  const ask = async <R extends object>(
    timeoutMs: number,
    text: string,
    values: readonly unknown[],
    name?: string,
  ): Promise<QueryResult<R>> => {
    const client = await connect()
    const [begun, answered, ended] = await Promise.allSettled([
      run(client, `BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeoutMs}; ${TIMED}`),
      run<R>(client, text, values, name),
      run(client, 'ROLLBACK'),
    ])
    client.release(ended.status === 'rejected')
    for (const one of [begun, answered, ended]) if (one.status === 'rejected') onError(one.reason)
    if (begun.status === 'rejected') throw begun.reason
    if (answered.status === 'rejected') throw answered.reason
    return answered.value
  }
  return <R extends object>(timeoutMs: number, text: string, values: readonly unknown[], name?: string) =>
    despiteColumns(() => ask<R>(timeoutMs, text, values, name))
}

interface Corkable {
  cork(): void
  uncork(): void
  destroy(): void
}

const isCorkable = (value: unknown): value is Corkable =>
  typeof value === 'object' && value !== null && 'cork' in value && 'uncork' in value && 'destroy' in value

/** The socket of a client; the driver's types leave it out, and PGlite has none that could be corked. */
export const socketOf = (client: object): Corkable | undefined => {
  const connection: unknown = 'connection' in client ? client.connection : undefined
  const stream =
    typeof connection === 'object' && connection !== null && 'stream' in connection
      ? connection.stream
      : undefined
  return isCorkable(stream) ? stream : undefined
}

/** in_failed_sql_transaction. PostgreSQL, appendix A */
const IN_FAILED_TRANSACTION = '25P02'

/**
 * Wraps a checked-out client.
 * @param pipelines whether the client sends queries before earlier ones are answered; else they queue up here
 * @param giveBack is called once, at release
 * @param onError is told of each query's error, but for those that knex runs in a transaction, of which it tells itself
 */
export const createSession = (
  knex: Knex,
  client: pg.ClientBase,
  pipelines: boolean,
  giveBack: (destroy: boolean) => void,
  onError?: (error: unknown) => void,
): Session => {
  let broken = false
  /** Why the transaction that is open was aborted. */
  let aborted: unknown
  let last: Promise<unknown> = Promise.resolve()
  const socket = pipelines ? socketOf(client) : undefined
  let corked = false
  /** Queries that are sent in one go leave in one packet, so that the server finds them all when it wakes up. */
  const corkOnce = (): void => {
    if (corked || socket === undefined) return
    corked = true
    socket.cork()
    queueMicrotask(() => {
      corked = false
      socket.uncork()
    })
  }
  const inTurn = <R>(start: () => Promise<R>): Promise<R> => {
    corkOnce()
    if (pipelines) return start()
    const result = last.then(start, start)
    last = result.catch(() => {})
    return result
  }
  const onEnd = (): void => {
    broken = true
  }
  client.on('error', onEnd)
  client.on('end', onEnd)
  return {
    async query<R extends object>(text: string, values?: readonly unknown[], name?: string) {
      try {
        const result = await inTurn(() => run<R>(client, text, values, name))
        aborted = undefined
        return result
      } catch (error) {
        // Of what was sent behind the query that failed, whoever looks at it first is told why.
        if (sqlState(error) === IN_FAILED_TRANSACTION && aborted !== undefined) throw aborted
        onError?.(error)
        if (isOutdated(error)) broken = true
        // Whatever the server did not say itself came from the connection.
        const isLost = sqlState(error) === undefined || endsConnection(error) || isOutdated(error)
        aborted = isLost ? new ConnectionLost(error) : error
        throw aborted
      }
    },
    async transaction<R>(fn: (trx: Knex.Transaction) => Promise<R>) {
      try {
        return await knex.transaction(fn, { connection: client })
      } catch (error) {
        if (error instanceof ConnectionLost) throw error
        if (isOutdated(error)) broken = true
        if (broken || endsConnection(error) || isConnectionError(error)) throw new ConnectionLost(error)
        throw error
      }
    },
    release(destroy = false) {
      client.off('error', onEnd)
      client.off('end', onEnd)
      giveBack(destroy || broken)
    },
  }
}

/** Hands knex's own remarks to our log, so that nothing goes to the console. */
export const knexLog = (warn: (message: string) => void): Knex.Logger => ({
  warn,
  error: warn,
  deprecate: (method: string, alternative: string) => warn(`${method} is deprecated, use ${alternative}`),
  debug: () => {},
})
