/** What the chat's lane reads and writes inside its transactions, a query for each kind of row. @module */
import type { Session } from '../../../store/session.ts'
import type { RowQuery } from '../../../store/write-rows.ts'
import {
  CHAT_HEAD_NAME,
  chatNames,
  type HeadRow,
  type NameRow,
  type ProofRow,
  type StoredMessageRow,
} from '../store.ts'

/** A session, or whatever else runs queries inside the transaction. */
export type Queries = Pick<Session, 'query'>

/** Of a message that somebody replies to, or removes. */
export interface TargetRow {
  readonly id: number
  readonly thread_id: number
  readonly reply_to: number | null
  readonly prompt_id: string | null
  readonly fingerprint: string | null
  readonly verified: boolean
  readonly text: string
  readonly removed_at: number | null
}

/** When a text was last posted: by anyone, and by the one who posts it now. */
export interface RepetitionRow {
  readonly hash: Uint8Array
  readonly poster: Uint8Array
  readonly any_at: number | null
  readonly own_at: number | null
}

/** LATERAL with LIMIT keeps the planner at one index look-up per key, whatever it believes of the table. */
const READ_NAMES = `SELECT n.* FROM unnest($1::text[]) AS k (skeleton) CROSS JOIN LATERAL
  (SELECT ${chatNames.columns.join(', ')} FROM chat_names AS kept
    WHERE kept.skeleton = k.skeleton LIMIT 1) AS n`

export const readNames = async (session: Queries, skeletons: readonly string[]): Promise<NameRow[]> =>
  (await session.query<NameRow>(READ_NAMES, [skeletons], 'chat-names')).rows

const READ_TARGETS = `SELECT m.* FROM unnest($1::bigint[]) AS k (id) CROSS JOIN LATERAL
  (SELECT id, thread_id, reply_to, prompt_id, fingerprint, verified, text, removed_at
    FROM chat_messages AS kept WHERE kept.id = k.id LIMIT 1) AS m`

export const readTargets = async (session: Queries, ids: readonly number[]): Promise<TargetRow[]> =>
  (await session.query<TargetRow>(READ_TARGETS, [ids], 'chat-targets')).rows

/** Newest first by id, for times follow ids; so what is older than the window ends the search. */
const READ_REPETITIONS = `SELECT k.hash, k.poster,
    (SELECT created_at FROM chat_messages AS m WHERE m.text_hash = k.hash ORDER BY id DESC LIMIT 1) AS any_at,
    (SELECT created_at FROM chat_messages AS m WHERE m.text_hash = k.hash AND m.poster = k.poster
      ORDER BY id DESC LIMIT 1) AS own_at
  FROM unnest($1::bytea[], $2::bytea[]) AS k (hash, poster)`

export const readRepetitions = async (
  session: Queries,
  pairs: readonly { readonly hash: Uint8Array; readonly poster: Uint8Array }[],
): Promise<RepetitionRow[]> => {
  const values = [pairs.map(({ hash }) => hash), pairs.map(({ poster }) => poster)]
  return (await session.query<RepetitionRow>(READ_REPETITIONS, values, 'chat-repetitions')).rows
}

const READ_ENVELOPES = `SELECT e.* FROM unnest($1::text[], $2::text[]) AS k (fingerprint, id) CROSS JOIN LATERAL
  (SELECT fingerprint, id FROM chat_envelopes AS kept
    WHERE kept.fingerprint = k.fingerprint AND kept.id = k.id LIMIT 1) AS e`

export interface EnvelopeKey {
  readonly fingerprint: string
  readonly id: string
}

export const readEnvelopes = async (
  session: Queries,
  keys: readonly EnvelopeKey[],
): Promise<EnvelopeKey[]> => {
  const values = [keys.map(({ fingerprint }) => fingerprint), keys.map(({ id }) => id)]
  return (await session.query<EnvelopeKey>(READ_ENVELOPES, values, 'chat-envelopes')).rows
}

export const readProofs = async (session: Queries, keys: readonly Uint8Array[]): Promise<ProofRow[]> =>
  (
    await session.query<ProofRow>(
      'SELECT proof, fingerprint, used_at FROM chat_proofs WHERE proof = ANY($1::bytea[])',
      [keys],
      'chat-proofs',
    )
  ).rows

/** Times at which names were bound to each of the keys, and from each of the addresses, the latest first. */
const READ_BINDINGS = `SELECT k.fingerprint AS holder, b.bound_at
    FROM unnest($1::text[]) AS k (fingerprint) CROSS JOIN LATERAL (SELECT bound_at FROM chat_names AS n
      WHERE n.fingerprint = k.fingerprint AND n.bound_at > $3 ORDER BY n.bound_at DESC LIMIT $4) AS b
  UNION ALL SELECT encode(k.address, 'hex') AS holder, b.bound_at
    FROM unnest($2::bytea[]) AS k (address) CROSS JOIN LATERAL (SELECT bound_at FROM chat_names AS n
      WHERE n.bound_from = k.address AND n.bound_at > $3 ORDER BY n.bound_at DESC LIMIT $4) AS b`

export const readBindings = async (
  session: Queries,
  wanted: {
    readonly fingerprints: readonly string[]
    readonly addresses: readonly Uint8Array[]
    readonly since: number
    readonly limit: number
  },
): Promise<{ holder: string; bound_at: number }[]> => {
  const { fingerprints, addresses, since, limit } = wanted
  const values = [fingerprints, addresses, since, limit]
  return (await session.query<{ holder: string; bound_at: number }>(READ_BINDINGS, values, 'chat-bindings'))
    .rows
}

/** Counts replies to messages that are there already; a negative number takes some back. */
export const countReplies = (replies: ReadonlyMap<number, number>): RowQuery => ({
  text: `UPDATE chat_messages AS m SET reply_count = m.reply_count + r.count
    FROM unnest($1::bigint[], $2::bigint[]) AS r (id, count) WHERE m.id = r.id`,
  values: [[...replies.keys()], [...replies.values()]],
  name: 'chat-replies',
})

/** Replaces texts of removed messages, and forgets whatever else their authors wrote but the name. */
export const blankMessages = (blanks: ReadonlyMap<number, string>, at: number): RowQuery => ({
  text: `UPDATE chat_messages AS m SET text = b.text, model = NULL, topic = NULL, about = NULL, proof = NULL, removed_at = $3
    FROM unnest($1::bigint[], $2::text[]) AS b (id, text) WHERE m.id = b.id`,
  values: [[...blanks.keys()], [...blanks.values()], at],
  name: 'chat-blanks',
})

/** Forgets some envelopes that nobody would accept any more. */
export const sweepEnvelopes = (before: number, maxRows: number): RowQuery => ({
  text: `DELETE FROM chat_envelopes WHERE (fingerprint, id) IN
    (SELECT fingerprint, id FROM chat_envelopes WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
  values: [before, maxRows],
  name: 'chat-sweep',
})

/** Forgets some proofs that any key may use again. */
export const sweepProofs = (before: number, maxRows: number): RowQuery => ({
  text: `DELETE FROM chat_proofs WHERE proof IN
    (SELECT proof FROM chat_proofs WHERE used_at < $1 ORDER BY used_at LIMIT $2)`,
  values: [before, maxRows],
  name: 'chat-sweep-proofs',
})

/** The query that moves the head, to be run with the rows of the batch; all counts are absolute. */
export const ADVANCE_CHAT_HEAD = `UPDATE chat_head SET last_id = $1, last_removal = $2, posted_at = $3, messages = $4,
  threads = $5, verified_messages = $6, agents = $7 WHERE name = '${CHAT_HEAD_NAME}'`

export const headValues = (head: HeadRow): number[] => [
  head.last_id,
  head.last_removal,
  head.posted_at,
  head.messages,
  head.threads,
  head.verified_messages,
  head.agents,
]

/** Whether this very message is there: asked after a commit whose connection broke. */
export const isStored = async (
  session: Queries,
  row: Pick<StoredMessageRow, 'id' | 'created_at' | 'poster' | 'text_hash'>,
): Promise<boolean> => {
  const { rowCount } = await session.query(
    'SELECT 1 FROM chat_messages WHERE id = $1 AND created_at = $2 AND poster = $3 AND text_hash = $4',
    [row.id, row.created_at, row.poster, row.text_hash],
  )
  return rowCount > 0
}

/** Whether this very removal is there. */
export const isRemovalStored = async (
  session: Queries,
  removal: { readonly number: number; readonly message_id: number },
): Promise<boolean> => {
  const { rowCount } = await session.query(
    'SELECT 1 FROM chat_removals WHERE number = $1 AND message_id = $2',
    [removal.number, removal.message_id],
  )
  return rowCount > 0
}
