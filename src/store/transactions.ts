/**
 * Transactions of the lanes, and what becomes of one when the connection breaks: it is looked up if its commit had
 * been sent, and tried once more if nothing was committed. Nobody is refused because of it; the worst answer is to come
 * back.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { despiteConflicts } from './conflicts.ts'
import type { Database } from './database.ts'
import { ConnectionLost, isTransient, type QueryResult, type Session } from './session.ts'
import type { RowQuery } from './write-rows.ts'

/** Seconds after which callers should come back when the database can't be reached. */
const RETRY_AFTER_SECONDS = 1
const MAX_ATTEMPTS = 2
/** How long to look for the outcome of a commit whose connection broke: a database restarts meanwhile. */
const CONFIRM_TIMEOUT_MS = 5_000
const CONFIRM_PAUSE_MS = 100

const unavailable = (cause?: unknown): never =>
  fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS, cause })

/** @returns whether the session is fit for further use */
const rollBack = async (session: Session): Promise<boolean> => {
  try {
    await session.query('ROLLBACK')
    return true
  } catch {
    return false
  }
}

/** Runs `fn` on a session of its own; rolls back what it leaves open when it throws. */
export const onSession = async <R>(database: Database, fn: (session: Session) => Promise<R>): Promise<R> => {
  const session = await database.session()
  let fit = false
  try {
    const result = await fn(session)
    fit = true
    return result
  } catch (error) {
    fit = !(error instanceof ConnectionLost) && (await rollBack(session))
    throw error
  } finally {
    session.release(!fit)
  }
}

/**
 * Opens a transaction on an idle session and locks a row: from here on its holder is the only writer. Index scans only:
 * right after start the planner takes a table for empty, and a prepared plan would go on scanning it as it grows.
 * @param lock `SELECT … FOR UPDATE`, without parameters
 */
export const beginLocked = <R extends object>(session: Session, lock: string): Promise<QueryResult<R>> =>
  session.query<R>(`BEGIN; SET LOCAL enable_seqscan = off; ${lock}`)

/**
 * Writes and commits in one round trip. If a query fails, the transaction is lost and the COMMIT behind it rolls it
 * back.
 */
export const writeAndCommit = async (session: Session, queries: readonly RowQuery[]): Promise<void> => {
  await Promise.all([
    ...queries.map(({ text, values, name }) => session.query(text, values, name)),
    session.query('COMMIT'),
  ])
}

/**
 * Runs `work`, a transaction, again once if the connection breaks before anything was committed, and for a while if others are in
 * its way.
 * @throws AppError unavailable when it breaks again, others don't go out of its way, or the database refuses for now
 */
export const retried = async <R>(work: () => Promise<R>): Promise<R> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await despiteConflicts(work)
    } catch (error) {
      if (isTransient(error)) return unavailable(error)
      if (!(error instanceof ConnectionLost)) throw error
      if (attempt === MAX_ATTEMPTS) return unavailable(error)
    }
  }
}

/**
 * Asks whether a commit whose connection broke took place.
 * @throws AppError unavailable when the database can't be asked in time
 */
const confirm = async (
  database: Database,
  wasCommitted: (session: Session) => Promise<boolean>,
): Promise<boolean> => {
  const deadline = performance.now() + CONFIRM_TIMEOUT_MS
  while (performance.now() < deadline) {
    try {
      return await onSession(database, async (session) => {
        const answer = await wasCommitted(session)
        await session.query('ROLLBACK')
        return answer
      })
    } catch (error) {
      if (!(error instanceof ConnectionLost) && !isTransient(error)) throw error
    }
    await pause(CONFIRM_PAUSE_MS)
  }
  return unavailable()
}

/**
 * Runs `work`, which tells what it is about to commit, and finds out what became of it if the connection breaks.
 * @param wasCommitted looks for it, inside a transaction that it opens by locking the same row: once that lock is ours,
 *   the broken transaction has ended one way or the other. Undefined: what was to be committed leaves nothing to look for
 * @throws ConnectionLost when nothing was committed, AppError unavailable when nobody can say
 */
export const settled = async <P>(
  database: Database,
  work: (commits: (pending: P) => void) => Promise<P>,
  wasCommitted: (pending: P) => ((session: Session) => Promise<boolean>) | undefined,
): Promise<P> => {
  let sent: P | undefined
  try {
    return await work((pending) => {
      sent = pending
    })
  } catch (error) {
    if (!(error instanceof ConnectionLost) || sent === undefined) throw error
    const look = wasCommitted(sent)
    if (look === undefined) return unavailable(error)
    if (await confirm(database, look)) return sent
    // Nothing was committed, and nothing of it can be any more: it may be tried again.
    throw error
  }
}
