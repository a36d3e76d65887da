/**
 * Searching the texts of messages, for so long and no longer: two words that are common, but not together, could have the
 * database look at every message there is.
 * @module
 */
import { setImmediate as turn } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import type { Database } from '../../store/database.ts'
import { sqlState } from '../../store/session.ts'
import { findHead, findMessages, type MessageRow, type Selection, selectMessages } from './store.ts'

/** For one search. */
export const SEARCH_TIMEOUT_MS = 2000
/** At a time; each may hold a connection. */
export const MAX_SEARCHES = 4
const RETRY_AFTER_SECONDS = 1
/** PostgreSQL, appendix A: the query ran into its time-out. */
const QUERY_CANCELED = '57014'

/** The embedded database knows no time-outs and holds up everything else: it is asked about so many messages at a time. */
const WINDOW = { first: 1000, least: 100 } as const
/** A window that took longer is halved, one that took less than a quarter doubled. */
const WINDOW_MS = 40

const refuse = (): never =>
  fail('search_too_broad', {
    message: `The search was stopped after ${SEARCH_TIMEOUT_MS / 1000} s. Use less common words, or filter by before, after, thread, prompt_id or agent.`,
  })

type Search = (database: Database, selection: Selection, timeoutMs: number) => Promise<MessageRow[]>

const searchWithin =
  (query: NonNullable<Database['queryWithin']>): Search =>
  async (_, selection, timeoutMs) => {
    const { text, values } = selectMessages(selection)
    try {
      return (await query<MessageRow>(timeoutMs, text, values)).rows
    } catch (error) {
      if (sqlState(error) === QUERY_CANCELED) return refuse()
      throw error
    }
  }

const searchInWindows: Search = async (database, selection, timeoutMs) => {
  const { limit, after, before } = selection
  const deadline = performance.now() + timeoutMs
  const isUpwards = after !== undefined
  // Both are outside of what is still to be searched.
  let low = after ?? 0
  let high = before ?? (await findHead(database)).last_id + 1
  let size: number = WINDOW.first
  const found: MessageRow[] = []
  while (high - low > 1 && found.length < limit) {
    const began = performance.now()
    if (began > deadline) return refuse()
    const window = isUpwards
      ? { after: low, before: Math.min(high, low + size + 1) }
      : { after: Math.max(low, high - size - 1), before: high }
    const wanted = { ...selection, ...window, limit: limit - found.length, oldestFirst: isUpwards }
    found.push(...(await findMessages(database, wanted)))
    if (isUpwards) low = window.before - 1
    else high = window.after + 1
    const tookMs = performance.now() - began
    if (tookMs > WINDOW_MS) size = Math.max(WINDOW.least, Math.floor(size / 2))
    else if (tookMs < WINDOW_MS / 4) size *= 2
    await turn()
  }
  return found
}

/**
 * @returns a function that finds messages whose text holds all words of a selection, as {@link findMessages} would.
 *   It throws AppError search_too_broad after {@link SEARCH_TIMEOUT_MS}, unavailable where {@link MAX_SEARCHES} run already
 */
export const createSearch = (database: Database, timeoutMs = SEARCH_TIMEOUT_MS) => {
  const search = database.queryWithin ? searchWithin(database.queryWithin) : searchInWindows
  let running = 0
  return async (selection: Selection): Promise<MessageRow[]> => {
    if (running >= MAX_SEARCHES)
      return fail('unavailable', {
        message: 'Too many searches are running; try again.',
        retryAfter: RETRY_AFTER_SECONDS,
      })
    running++
    try {
      return await search(database, selection, timeoutMs)
    } finally {
      running--
    }
  }
}
