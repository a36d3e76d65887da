/**
 * Transactions that stood in each other's way: the database rolled one of them back, and expects it to be run again. At READ
 * COMMITTED only deadlocks are such; stricter isolation, standbys and distributed engines also refuse whoever came second.
 * @module
 */
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sqlState } from './session.ts'

/** After which whoever still meets others is told to come back. */
const GIVE_UP_MS = 2_000
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 64

/** serialization_failure and deadlock_detected. PostgreSQL, appendix A, class 40 */
const CONFLICT_STATES: ReadonlySet<string> = new Set(['40001', '40P01'])

/** Whether the database rolled a transaction back for another one's sake, so that nothing of it happened. */
export const isConflict = (error: unknown): boolean => CONFLICT_STATES.has(sqlState(error) ?? '')

/**
 * Runs `work`, which is one transaction or one statement by itself, and again when it met another one: after pauses of random
 * lengths, so that two don't meet for ever, and for two seconds at most.
 * @throws what `work` throws, the conflict itself where time is up
 */
export const despiteConflicts = async <R>(work: () => Promise<R>): Promise<R> => {
  const giveUpAt = performance.now() + GIVE_UP_MS
  for (let most = FIRST_PAUSE_MS; ; most = Math.min(2 * most, LONGEST_PAUSE_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || performance.now() >= giveUpAt) throw error
    }
    await pause(randomInt(most))
  }
}
