/**
 * What becomes of a transaction when the connection breaks: it is looked up if its commit had been sent, and tried once
 * more if nothing was committed. Nobody is refused because of it; the worst answer is to come back.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import { fail } from '../errors.ts'
import type { Database } from '../store/database.ts'
import { ConnectionLost, isTransient, type Session } from '../store/session.ts'
import { beginLocked, readEntryId } from './reads.ts'
import type { Head, Resolution } from './resolve.ts'

/** Seconds after which callers should come back when the database can't be reached. */
const RETRY_AFTER_SECONDS = 1
const MAX_ATTEMPTS = 2
/** How long to look for the outcome of a commit whose connection broke: a database restarts meanwhile. */
const CONFIRM_TIMEOUT_MS = 5_000
const CONFIRM_PAUSE_MS = 100

/** A transaction whose commit is about to be sent. */
export interface Pending {
  readonly head: Head
  readonly resolution: Resolution
}

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
 * Runs `work` again once if the connection breaks before anything was committed.
 * @throws AppError unavailable when it breaks again, or the database refuses for now
 */
export const retried = async <R>(work: () => Promise<R>): Promise<R> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (isTransient(error)) return unavailable(error)
      if (!(error instanceof ConnectionLost)) throw error
      if (attempt === MAX_ATTEMPTS) return unavailable(error)
    }
  }
}

/**
 * Whether a commit whose connection broke took place. Waits for the head's lock first: once it is ours, the broken
 * transaction has ended one way or the other.
 * @throws AppError unavailable when the database can't be asked in time
 */
const confirm = async (database: Database, { head, resolution }: Pending): Promise<boolean> => {
  const deadline = performance.now() + CONFIRM_TIMEOUT_MS
  while (performance.now() < deadline) {
    try {
      return await onSession(database, async (session) => {
        await beginLocked(session)
        const id = await readEntryId(session, head.size)
        await session.query('ROLLBACK')
        return id === resolution.firstEntryId
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
 * @throws ConnectionLost when nothing was committed, AppError unavailable when nobody can say
 */
export const settled = async (
  database: Database,
  work: (commits: (pending: Pending) => void) => Promise<Pending>,
): Promise<Pending> => {
  let sent: Pending | undefined
  try {
    return await work((pending) => {
      sent = pending
    })
  } catch (error) {
    if (!(error instanceof ConnectionLost) || sent === undefined) throw error
    // A change without an entry leaves nothing to look for.
    if (sent.resolution.firstEntryId === undefined) return unavailable(error)
    if (await confirm(database, sent)) return sent
    // Nothing was committed, and nothing of it can be any more: it may be tried again.
    throw error
  }
}
