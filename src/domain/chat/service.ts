/** The chat: everything that reads or writes messages. @module */
import type { Caller } from '../../caller.ts'
import { fail } from '../../errors.ts'
import type { Database } from '../../store/database.ts'
import { toMessage } from './message.ts'
import { cleanName } from './posts/content.ts'
import { createChatLane, type LaneDeps } from './posts/lane.ts'
import { createReadCounter } from './posts/post-limits.ts'
import { createPosting, type Poster, type PostingDeps } from './posts/posting.ts'
import type { PostingModeService } from './posts/posting-mode.ts'
import { createRemoval, type RemovalDeps } from './posts/removal.ts'
import {
  type ChatStats,
  DEFAULT_PAGE_MESSAGES,
  MAX_PROMPT_REPLIES,
  MAX_THREAD_MESSAGES,
  type Message,
  type MessagePage,
  type MessagesQuery,
  type Posted,
  SEARCH_COST,
  type Thread,
  UNTRUSTED_NOTICE,
} from './schemas.ts'
import { createSearch } from './search.ts'
import { createSharedReads } from './shared-reads.ts'
import { createStats, type StatsDeps } from './stats.ts'
import { countOfPrompt, findMessages, findThread, type MessageRow, type Selection } from './store.ts'

export type { Poster } from './posts/posting.ts'

export interface ChatService {
  /** Origin of the service's own pages: what they post is of source `web`. */
  readonly pageOrigin: string
  /**
   * Posts a message that came as it is, or in an envelope.
   * @param input NewMessage, unchecked
   * @throws AppError with one of the chat's codes; see docs/chat.md
   */
  post(input: unknown, from: Poster): Promise<Posted>
  /** Posts in the operator's name: kind `house`, source `system`; bound by content rules, but by no mode or limit. */
  postAsHouse(input: unknown, caller: Caller): Promise<Posted>
  /**
   * Newest first, or oldest first above `after`, where `next_after` leads to what is later.
   * @param from who asks: a search costs an address more than other reads
   * @throws AppError rate_limited, search_too_broad, unavailable for a search
   */
  list(query: MessagesQuery, from: Pick<Poster, 'ip'>): Promise<MessagePage & Pick<Thread, 'next_after'>>
  /**
   * @param query `limit`: of messages in `thread`; at most and by default 200
   * @throws AppError not_found for a message that does not exist, or was removed
   */
  thread(id: number, query: { readonly after?: number; readonly limit?: number }): Promise<Thread>
  /** Messages of a prompt, newest first, at most 20. */
  replies(
    promptId: string,
    query: { readonly before?: number },
  ): Promise<{ replies: Message[]; reply_count: number; next_before: number | null }>
  /** A second old or a little more; what was posted on this server is in them at once. */
  stats(): Promise<ChatStats>
  /** Counts requests of an address beyond the one that its route has counted. @throws AppError rate_limited */
  countReads(ip: string, reads: number): Promise<void>
  /** Removes a message for good, with an entry in the log. @throws AppError not_found */
  remove(id: number, caller: Caller): Promise<void>
  /**
   * Removes a message that the key of this envelope signed.
   * @throws AppError envelope_*, replayed_envelope; not_found also for a message of somebody else
   */
  removeOwn(id: number, envelope: unknown, from: Poster): Promise<void>
  /** Finishes what runs. */
  close(): Promise<void>
}

export type ChatDeps = Omit<PostingDeps, 'lane'> &
  Omit<RemovalDeps, 'lane'> &
  LaneDeps &
  StatsDeps & {
    readonly database: Database
    readonly postingMode: PostingModeService
    readonly baseUrl: string
  }

interface Page {
  readonly messages: Message[]
  readonly more: boolean
}

/** Rows of one more than a page. @returns the page, and whether there is more */
const pageOf = (rows: readonly MessageRow[], limit: number): Page => ({
  messages: rows.slice(0, limit).map(toMessage),
  more: rows.length > limit,
})

export const createChat = (deps: ChatDeps): ChatService => {
  const { database, postingMode } = deps
  const stats = createStats(deps)
  const lane = createChatLane({
    ...deps,
    onCommit(committed) {
      stats.add(committed)
      deps.onCommit(committed)
    },
  })
  const posting = createPosting({ ...deps, lane })
  const removal = createRemoval({ ...deps, lane })
  const shared = createSharedReads<Page>()
  const search = createSearch(database)
  const countReads = createReadCounter(deps)

  return {
    pageOrigin: new URL(deps.baseUrl).origin,
    post: posting.post,
    postAsHouse: posting.postAsHouse,
    countReads,
    remove: removal.remove,
    removeOwn: removal.removeOwn,
    stats: stats.read,

    async list(query, { ip }) {
      if (query.q !== undefined) await countReads(ip, SEARCH_COST - 1)
      const { limit = DEFAULT_PAGE_MESSAGES, agent } = query
      const selection: Selection = {
        limit: limit + 1,
        before: query.before,
        after: query.after,
        promptId: query.prompt_id,
        thread: query.thread,
        agent: agent === undefined ? undefined : cleanName(agent),
        verified: query.verified === '1',
      }
      const { q } = query
      const { messages, more } = await shared(JSON.stringify([q, selection]), async () =>
        pageOf(await (q === undefined ? findMessages(database, selection) : search(q, selection)), limit),
      )
      const next = more ? (messages.at(-1)?.id ?? null) : null
      // Above `after` the page reads upwards, and nobody asks for what is older.
      const isUpwards = query.after !== undefined
      return {
        notice: UNTRUSTED_NOTICE,
        messages,
        next_before: isUpwards ? null : next,
        next_after: isUpwards ? next : null,
        posting: postingMode.state().posting,
      }
    },

    async thread(id, { after = 0, limit = MAX_THREAD_MESSAGES }) {
      const found = await findThread(database, { id, after, limit: limit + 1 })
      if (found === undefined) return fail('not_found')
      const { messages, more } = pageOf(found.thread, limit)
      return {
        message: toMessage(found.message),
        thread: messages,
        root_id: found.message.thread_id,
        next_after: more ? (messages.at(-1)?.id ?? null) : null,
        notice: UNTRUSTED_NOTICE,
      }
    },

    async replies(promptId, { before }) {
      const [rows, count] = await Promise.all([
        findMessages(database, { limit: MAX_PROMPT_REPLIES + 1, before, promptId }),
        countOfPrompt(database, promptId),
      ])
      const { messages, more } = pageOf(rows, MAX_PROMPT_REPLIES)
      return {
        replies: messages,
        reply_count: count,
        next_before: more ? (messages.at(-1)?.id ?? null) : null,
      }
    },

    close: () => lane.close(),
  }
}
