/** What only the live stream reads: the removals that its readers missed, and how far back they can read. @module */
import type { Database } from '../../../store/database.ts'
import { toMessage } from '../message.ts'
import type { Message } from '../schemas.ts'
import { findHead, findMessages, type RemovalRow } from '../store.ts'

/** How far the chat has got. Whoever has read the head sees every message up to `lastId` in any later read. */
export interface ChatHead {
  readonly lastId: number
  /** Number of the last removal; 0: none. */
  readonly lastRemoval: number
}

interface Range {
  readonly after: number
  readonly upTo: number
  readonly limit: number
}

export type Removal = Pick<RemovalRow, 'number' | 'message_id' | 'head_id'>

/** Everything that the stream reads; index scans with a limit. */
export interface StreamReads {
  head(): Promise<ChatHead>
  /** Messages with `after < id ≤ upTo` that can be read, oldest first. */
  messages(range: Range): Promise<Message[]>
  /** The newest messages up to an id, newest first. */
  newest(range: Omit<Range, 'after'>): Promise<Message[]>
  /** Removals with greater numbers, in order. */
  removals(range: Omit<Range, 'upTo'>): Promise<Removal[]>
  /** The newest removals that happened when the last message had this id or a greater one, newest first. */
  removalsSince(headId: number, limit: number): Promise<Removal[]>
  /** Id of the oldest message that can be read. */
  oldest(): Promise<number | undefined>
}

const REMOVAL_COLUMNS = 'number, message_id, head_id'

export const createStreamReads = (database: Database): StreamReads => ({
  async head() {
    const { last_id, last_removal } = await findHead(database)
    return { lastId: last_id, lastRemoval: last_removal }
  },
  async messages({ after, upTo, limit }) {
    return (await findMessages(database, { after, before: upTo + 1, limit })).map(toMessage)
  },
  async newest({ upTo, limit }) {
    return (await findMessages(database, { before: upTo + 1, limit })).map(toMessage)
  },
  async removals({ after, limit }) {
    const text = `SELECT ${REMOVAL_COLUMNS} FROM chat_removals WHERE number > $1 ORDER BY number LIMIT $2`
    return (await database.query<Removal>(text, [after, limit], 'chat-stream-removals')).rows
  },
  async removalsSince(headId, limit) {
    const text = `SELECT ${REMOVAL_COLUMNS} FROM chat_removals WHERE head_id >= $1
      ORDER BY head_id DESC, number DESC LIMIT $2`
    return (await database.query<Removal>(text, [headId, limit], 'chat-stream-removals-since')).rows
  },
  async oldest() {
    const text = 'SELECT id FROM chat_messages WHERE removed_at IS NULL ORDER BY id LIMIT 1'
    return (await database.query<{ id: number }>(text, [], 'chat-stream-oldest')).rows[0]?.id
  },
})
