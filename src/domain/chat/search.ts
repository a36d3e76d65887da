/** Searching the texts of messages, for so long and no longer. @module */
import { setImmediate as turn } from 'node:timers/promises'
import pLimit from 'p-limit'
import { AppError, fail } from '../../errors.ts'
import type { Database } from '../../store/database.ts'
import { sqlState } from '../../store/session.ts'
import { findHead, type MessageRow, type Selection } from './store.ts'
import { type Query, type Span, searchWindow, type Window, windowsOf } from './store-search.ts'

/** For one search. */
export const SEARCH_TIMEOUT_MS = 2000
/** At a time; each may keep a connection and a core of the database busy. */
export const MAX_SEARCHES = 2
/** Others wait for a turn: so many of them, */
export const MAX_SEARCHES_WAITING = 16
/** and for so long. */
const MAX_WAIT_MS = 2000
const RETRY_AFTER_SECONDS = 1
/** PostgreSQL, appendix A: the query ran into its time-out. */
const QUERY_CANCELED = '57014'

const refuse = (): never =>
  fail('search_too_broad', {
    message: `The search was stopped after ${SEARCH_TIMEOUT_MS / 1000} s. Use less common words, or filter by before, after, thread, prompt_id or agent.`,
  })

/** The embedded database holds up everything else while it works, so it is asked for a block at a time. */
function* singly(windows: Iterable<Window>): Generator<Window> {
  for (const { blocks, ...span } of windows) {
    if (blocks === undefined) yield span
    else for (const block of blocks) yield { ...span, blocks: [block] }
  }
}

/** Undefined where there is nothing. */
const spanOf = async (database: Database, { before, after }: Selection): Promise<Span | undefined> => {
  const { last_id } = await findHead(database)
  const lowest = (after ?? 0) + 1
  const highest = Math.min((before ?? Number.POSITIVE_INFINITY) - 1, last_id)
  if (lowest > highest) return undefined
  return after === undefined ? { first: highest, last: lowest } : { first: lowest, last: highest }
}

/** @param timeLeft milliseconds; asked before each query */
const queryFor = ({ query, queryWithin }: Database, timeLeft: () => number): Query => {
  if (queryWithin === undefined) return query
  return (text, values, name) => queryWithin(timeLeft(), text, values, name)
}

const busy = (): AppError =>
  new AppError('unavailable', {
    message: 'Too many searches are running and waiting; try again.',
    retryAfter: RETRY_AFTER_SECONDS,
  })

/**
 * Runs functions {@link MAX_SEARCHES} at a time.
 * @throws AppError unavailable where {@link MAX_SEARCHES_WAITING} wait already, or for one that has waited for `waitMs`, which is not run then
 */
const createTurns = (waitMs: number) => {
  const inTurn = pLimit(MAX_SEARCHES)
  return async <R>(run: () => Promise<R>): Promise<R> => {
    if (inTurn.pendingCount >= MAX_SEARCHES_WAITING) throw busy()
    let isLate = false
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        isLate = true
        reject(busy())
      }, waitMs)
    })
    const turn = inTurn(() => {
      clearTimeout(timer)
      return isLate ? late : run()
    })
    return Promise.race([turn, late])
  }
}

/**
 * @returns a function that finds messages of a selection whose text holds all words.
 *   It throws AppError search_too_broad after {@link SEARCH_TIMEOUT_MS}, unavailable where too many search
 */
export const createSearch = (database: Database, timeoutMs = SEARCH_TIMEOUT_MS, waitMs = MAX_WAIT_MS) => {
  const inTurn = createTurns(waitMs)

  const search = async (words: string, selection: Selection): Promise<MessageRow[]> => {
    const deadline = performance.now() + timeoutMs
    const timeLeft = (): number => {
      const left = Math.ceil(deadline - performance.now())
      return left > 0 ? left : refuse()
    }
    const query = queryFor(database, timeLeft)
    const isUpwards = selection.after !== undefined
    const span = await spanOf(database, selection)
    if (span === undefined) return []
    const windows = windowsOf(span)
    const found: MessageRow[] = []
    for (const window of database.kind === 'pglite' ? singly(windows) : windows) {
      timeLeft()
      const limit = selection.limit - found.length
      found.push(...(await searchWindow(query, words, { ...selection, limit }, window, isUpwards)))
      if (found.length >= selection.limit) break
      if (database.kind === 'pglite') await turn()
    }
    return found
  }

  return async (words: string, selection: Selection): Promise<MessageRow[]> => {
    try {
      return await inTurn(() => search(words, selection))
    } catch (error) {
      if (sqlState(error) === QUERY_CANCELED) return refuse()
      throw error
    }
  }
}
