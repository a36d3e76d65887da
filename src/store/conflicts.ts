/**
 * Transactions that stood in each other's way: the database rolled one of them back, and expects it to be run again. At READ
 * COMMITTED only deadlocks are such; stricter isolation, standbys and distributed engines also refuse whoever came second.
 * @module
 */
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sqlState } from './session.ts'

/** How long after the first conflict whoever still meets others is told to come back. */
const GIVE_UP_MS = 2_000
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 64

/** serialization_failure and deadlock_detected. PostgreSQL, appendix A, class 40 */
const CONFLICT_STATES: ReadonlySet<string> = new Set(['40001', '40P01'])

const UNIQUE_VIOLATION = '23505'
/** Of which the second of two transactions finds the first one's row when it is run again. */
const FOUND_WHEN_RUN_AGAIN: ReadonlySet<unknown> = new Set(['idempotent_answers_pkey'])

const isSecond = (error: unknown): boolean =>
  sqlState(error) === UNIQUE_VIOLATION &&
  error instanceof Error &&
  'constraint' in error &&
  FOUND_WHEN_RUN_AGAIN.has(error.constraint)

/** Whether the database rolled a transaction back for another one's sake, so that nothing of it happened. */
export const isConflict = (error: unknown): boolean =>
  CONFLICT_STATES.has(sqlState(error) ?? '') || isSecond(error)

/** Whether somebody else held what a transaction wanted for longer than it may wait. PostgreSQL, appendix A: lock_not_available */
export const isLocked = (error: unknown): boolean => sqlState(error) === '55P03'

export interface Patience {
  readonly giveUpMs?: number
  readonly longestPauseMs?: number
  readonly isInTheWay?: (error: unknown) => boolean
}

/**
 * Runs `work`, which is one transaction or one statement by itself, and again when it met another one: after pauses of random
 * lengths, so that two don't meet for ever, and for a while at most, which begins with the first conflict, however long that took.
 * @param patience for how long, the longest pause, and what counts as a conflict; default: two seconds, some milliseconds, {@link isConflict}
 * @throws what `work` throws, the conflict itself where time is up
 */
export const despiteConflicts = async <R>(work: () => Promise<R>, patience: Patience = {}): Promise<R> => {
  const { giveUpMs = GIVE_UP_MS, longestPauseMs = LONGEST_PAUSE_MS, isInTheWay = isConflict } = patience
  let giveUpAt: number | undefined
  for (let most = FIRST_PAUSE_MS; ; most = Math.min(2 * most, longestPauseMs)) {
    try {
      return await work()
    } catch (error) {
      if (!isInTheWay(error)) throw error
      giveUpAt ??= performance.now() + giveUpMs
      if (performance.now() >= giveUpAt) throw error
    }
    await pause(randomInt(most))
  }
}
