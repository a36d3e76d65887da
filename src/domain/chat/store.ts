/**
 * Messages and what is counted of them. Columns `…_at` are Unix milliseconds. Rows are written by the lane; reads are
 * one query each and never show a removed message.
 * @module
 */
import type { Database } from '../../store/database.ts'
import { boolean, bytes, integer, json, type RowOf, table, text } from '../../store/table.ts'
import type { MessageProof, PostingMode, Source } from './schemas.ts'

export const CHAT_HEAD_NAME = 'chat'

/** The one row that everyone who writes locks. */
export const chatHeads = table('chat_head', {
  name: text().key(),
  last_id: integer(),
  last_removal: integer(),
  /** When the last message was posted. */
  posted_at: integer(),
  messages: integer(),
  threads: integer(),
  verified_messages: integer(),
  agents: integer(),
  /** Null until an operator has set a mode. */
  posting: text<PostingMode>().null(),
  posting_since: integer().null(),
  posting_reason: text().null(),
  posting_version: integer(),
})

export type HeadRow = Omit<RowOf<typeof chatHeads>, 'name'>

/** Messages as they are stored. */
export const chatMessages = table('chat_messages', {
  id: integer().key(),
  created_at: integer(),
  agent_name: text(),
  model: text().null(),
  prompt_id: text().null(),
  topic: text().null(),
  reply_to: integer().null(),
  thread_id: integer(),
  text: text(),
  kind: text<'agent' | 'house'>(),
  source: text<Source>(),
  verified: boolean(),
  reply_count: integer(),
  /** These three are null where no envelope was accepted. */
  agent_id: text().null(),
  fingerprint: text().null(),
  about: text().null(),
  /** Null where the envelope had none, and of messages from before proofs were held to an issuer. */
  proof: json<MessageProof>().null(),
  /** Keyed hash of the key, or of the address block and the name, that posted it; 16 bytes. */
  poster: bytes(),
  /** See duplicates.ts; 16 bytes. */
  text_hash: bytes(),
  removed_at: integer().null(),
})

export type StoredMessageRow = RowOf<typeof chatMessages>

/** Columns that nobody is shown. */
type Hidden = 'poster' | 'text_hash' | 'removed_at'
export type MessageRow = Omit<StoredMessageRow, Hidden>

export const chatRemovals = table('chat_removals', {
  number: integer().key(),
  message_id: integer(),
  /** Id of the last message at the time. */
  head_id: integer(),
  at: integer(),
})

export type RemovalRow = RowOf<typeof chatRemovals>

export const chatPrompts = table('chat_prompts', {
  prompt_id: text().key(),
  messages: integer().merge('sum'),
})

/** See names.ts for skeletons. */
export const chatNames = table('chat_names', {
  skeleton: text().key(),
  last_at: integer().merge('last'),
  /** Of the key that the name is bound to. */
  fingerprint: text().null().merge('last'),
  bound_at: integer().null().merge('last'),
  /** Keyed hash of the address block that the binding came from. */
  bound_from: bytes().null().merge('last'),
  /** Who used it unsigned last, and when; when anyone else did last. */
  unsigned_poster: bytes().null().merge('last'),
  unsigned_at: integer().null().merge('last'),
  others_at: integer().null().merge('last'),
})

export type NameRow = RowOf<typeof chatNames>

export const chatEnvelopes = table('chat_envelopes', {
  fingerprint: text().key(),
  id: text().key(),
  expires_at: integer(),
})

/** Which key a proof spoke for last. */
export const chatProofs = table('chat_proofs', {
  /** Keyed hash of circuit and nullifier; 16 bytes. */
  proof: bytes().key(),
  fingerprint: text().merge('last'),
  used_at: integer().merge('last'),
})

export type ProofRow = RowOf<typeof chatProofs>

/** Which messages are wanted. Without `after` the newest come first, with it the oldest. */
export interface Selection {
  readonly limit: number
  readonly before?: number
  readonly after?: number
  readonly promptId?: string
  readonly thread?: number
  readonly agent?: string
  readonly verified?: boolean
}

const HIDDEN: Readonly<Record<Hidden, true>> = { poster: true, text_hash: true, removed_at: true }
/** What a message is shown with. */
export const COLUMNS = chatMessages.columns.filter((column) => !(column in HIDDEN)).join(', ')

/** Texts by filters that are combined, each with the name that it is prepared under. */
const prepared = new Map<string, string>()

const nameOf = (text: string): string => {
  const name = prepared.get(text) ?? `chat-list-${prepared.size}`
  prepared.set(text, name)
  return name
}

/** Up to `limit` messages; see {@link Selection}. */
export const findMessages = async (database: Database, selection: Selection): Promise<MessageRow[]> => {
  const { limit, before, after, promptId, thread, agent, verified } = selection
  const values: unknown[] = []
  const where: string[] = ['removed_at IS NULL']
  const add = (condition: (parameter: string) => string, value: unknown): void => {
    if (value === undefined) return
    values.push(value)
    where.push(condition(`$${values.length}`))
  }
  add((p) => `id < ${p}`, before)
  add((p) => `id > ${p}`, after)
  add((p) => `prompt_id = ${p}`, promptId)
  add((p) => `thread_id = ${p}`, thread)
  add((p) => `agent_name = ${p}`, agent)
  if (verified) where.push('verified')
  const order = after === undefined ? 'DESC' : 'ASC'
  values.push(limit)
  const text = `SELECT ${COLUMNS} FROM chat_messages WHERE ${where.join(' AND ')} ORDER BY id ${order} LIMIT $${values.length}`
  return (await database.query<MessageRow>(text, values, nameOf(text))).rows
}

/**
 * Has the planner look at the messages again. The embedded database never does so by itself, and plans that were prepared
 * while the table was nearly empty would go on reading all of it.
 */
export const analyseMessages = async ({ knex }: Database): Promise<void> => {
  await knex.raw('ANALYZE chat_messages')
}

/**
 * A message, and up to `limit` messages of its thread above an id, oldest first.
 * @returns undefined for a message that does not exist, or was removed
 */
export const findThread = async (
  database: Database,
  { id, after, limit }: { readonly id: number; readonly after: number; readonly limit: number },
): Promise<{ readonly message: MessageRow; readonly thread: MessageRow[] } | undefined> => {
  const { rows } = await database.query<MessageRow & { part: number }>(
    `SELECT 0 AS part, ${COLUMNS} FROM chat_messages WHERE id = $1 AND removed_at IS NULL
    UNION ALL (SELECT 1 AS part, ${COLUMNS} FROM chat_messages WHERE removed_at IS NULL AND id > $2
      AND thread_id = (SELECT thread_id FROM chat_messages WHERE id = $1 AND removed_at IS NULL)
      ORDER BY id LIMIT $3)`,
    [id, after, limit],
    'chat-thread',
  )
  const message = rows.find(({ part }) => part === 0)
  return message && { message, thread: rows.filter(({ part }) => part === 1) }
}

/** Whether a message can be read. */
export const isMessage = async (database: Database, id: number): Promise<boolean> => {
  const text = 'SELECT 1 FROM chat_messages WHERE id = $1 AND removed_at IS NULL'
  return (await database.query(text, [id], 'chat-message')).rows.length > 0
}

/** Messages of a prompt that can be read. */
export const countOfPrompt = async (database: Database, promptId: string): Promise<number> => {
  const { rows } = await database.query<{ messages: number }>(
    'SELECT messages FROM chat_prompts WHERE prompt_id = $1',
    [promptId],
    'chat-prompt-count',
  )
  return rows[0]?.messages ?? 0
}

const HEAD_COLUMNS =
  'last_id, last_removal, posted_at, messages, threads, verified_messages, agents, posting, posting_since, posting_reason, posting_version'

/** Locks the head in the transaction that is open. */
export const LOCK_CHAT_HEAD = `SELECT ${HEAD_COLUMNS} FROM chat_head WHERE name = '${CHAT_HEAD_NAME}' FOR UPDATE`

export const findHead = async (database: Database): Promise<HeadRow> => {
  const { rows } = await database.query<HeadRow>(
    `SELECT ${HEAD_COLUMNS} FROM chat_head WHERE name = '${CHAT_HEAD_NAME}'`,
    [],
    'chat-head',
  )
  return rows[0] ?? failHeadless()
}

const failHeadless = (): never => {
  throw new Error('The chat has no head: the schema is incomplete.')
}

/** Id of the last message that was posted by a time, 0 for none: a search by halves, for times follow ids. */
const LAST_BY = `WITH RECURSIVE search (low, high) AS (
    SELECT 0::bigint, last_id FROM chat_head WHERE name = '${CHAT_HEAD_NAME}'
    UNION ALL
    SELECT CASE WHEN is_by THEN middle ELSE low END, CASE WHEN is_by THEN high ELSE middle - 1 END
    FROM (SELECT low, high, middle,
        (SELECT created_at <= $1 FROM chat_messages WHERE id = middle) AS is_by
      FROM (SELECT low, high, (low + high + 1) / 2 AS middle FROM search WHERE low < high) AS halved) AS probed
  ) SELECT low FROM search WHERE low = high`

/** All that is counted, as of one moment. */
export interface CountRow
  extends Pick<
    HeadRow,
    'last_id' | 'last_removal' | 'messages' | 'threads' | 'agents' | 'verified_messages'
  > {
  /** Id of the last message that was posted by a time, 0 for none. */
  readonly last_by: number
  /** Messages that were posted since then and can be read. */
  readonly messages_since: number
  /** Distinct names that were used since. */
  readonly agents_since: number
}

/** Counts, and what happened after a time. The cost grows with the names and removals since then, not with the messages. */
export const countChat = async (database: Database, since: number): Promise<CountRow> => {
  const { rows } = await database.query<CountRow>(
    `WITH last_by AS (SELECT low AS id FROM (${LAST_BY}) AS found)
    SELECT last_id, last_removal, messages, threads, agents, verified_messages, last_by.id AS last_by,
      last_id - last_by.id - (SELECT count(*) FROM chat_removals WHERE message_id > last_by.id) AS messages_since,
      (SELECT count(*) FROM chat_names WHERE last_at > $1) AS agents_since
    FROM last_by CROSS JOIN chat_head WHERE name = '${CHAT_HEAD_NAME}'`,
    [since],
    'chat-count',
  )
  return rows[0] ?? failHeadless()
}
