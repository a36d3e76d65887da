/** What the ledger reads inside its transactions, a statement for each kind of row however many are asked for. @module */
import type { Database } from '../store/database.ts'
import type { Session } from '../store/session.ts'
import type { RowOf } from '../store/table.ts'
import { beginLocked } from '../store/transactions.ts'
import type { Head } from './batch.ts'
import type { Claim } from './claim-kinds.ts'
import type { Held, Json } from './decision.ts'
import { type Keys, type Known, keyOf } from './known.ts'
import { type AnswerRow, type ClaimRow, type CounterRow, counters, type heads } from './tables.ts'
import { splitHashes } from './tree/merkle.ts'

type HeadRow = Pick<RowOf<typeof heads>, 'size' | 'root' | 'edge' | 'updated_at'>

const lockOf = (log: number): string =>
  `SELECT size, root, edge, updated_at FROM ledger_head WHERE log = ${Number(log)} FOR UPDATE`

/** Written, not only locked: under stricter isolation whoever waited is run again, and finds what the others did. */
const TAKE_TURN = "UPDATE ledger_turns SET held_until = held_until + 1 WHERE name = 'changes'"

const toHead = (row: HeadRow | undefined): Head => {
  if (row === undefined) throw new Error('The ledger has no head: the schema is incomplete.')
  return { size: row.size, root: row.root, edge: splitHashes(row.edge), at: row.updated_at }
}

/** Begins a transaction on an idle session and locks the head of a log. */
export const lockAndReadHead = async (session: Session, log: number): Promise<Head> =>
  toHead((await beginLocked<HeadRow>(session, lockOf(log))).rows[0])

/**
 * Locks the head of a log, then waits for administrative changes of other logs to end, in a transaction that is open already: each finds what
 * the ones before it did. In this order, so that nobody holds the turn while he waits for a head.
 */
export const lockHeadAndTakeTurn = async (session: Session, log: number): Promise<Head> => {
  const [{ rows }, { rowCount }] = await Promise.all([
    session.query<HeadRow>(lockOf(log)),
    session.query(TAKE_TURN),
  ])
  if (rowCount !== 1) throw new Error('The ledger has no turn of changes: the schema is incomplete.')
  return toHead(rows[0])
}

/** Unix ms by the database's clock. */
export const readTime = async (session: Session): Promise<number> => {
  const { rows } = await session.query<{ now: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
  )
  return rows[0]?.now ?? Number.NaN
}

/** LATERAL with LIMIT keeps the planner at one index look-up per key, whatever it believes of the table. */
const READ_CLAIMS = `SELECT c.* FROM unnest($1::text[], $2::text[], $3::text[]) AS k (organisation, kind, key)
  CROSS JOIN LATERAL (SELECT organisation, kind, key, holder, at FROM ledger_claims AS held
    WHERE held.organisation = k.organisation AND held.kind = k.kind AND held.key = k.key LIMIT 1) AS c`

const READ_COUNTERS = `SELECT c.* FROM unnest($1::text[], $2::text[]) AS k (organisation, counter)
  CROSS JOIN LATERAL (SELECT organisation, counter, value FROM ledger_counters AS kept
    WHERE kept.organisation = k.organisation AND kept.counter = k.counter LIMIT 1) AS c`

const READ_ANSWERS = `SELECT a.* FROM unnest($1::text[], $2::text[]) AS k (organisation, key)
  CROSS JOIN LATERAL (SELECT organisation, key, request_hash, sealed_answer, expires_at FROM idempotent_answers AS kept
    WHERE kept.organisation = k.organisation AND kept.key = k.key LIMIT 1) AS a`

const DELETE_EXPIRED = `DELETE FROM idempotent_answers AS kept USING unnest($1::text[], $2::text[]) AS k (organisation, key)
  WHERE kept.organisation = k.organisation AND kept.key = k.key AND kept.expires_at <= $3`

export const emptyKnown = (): Known => ({ claims: new Map(), counters: new Map(), answers: new Map() })

const column = (keys: readonly string[][], index: number): string[] => keys.map((key) => key[index] ?? '')

/** A claim as it was kept. */
const toHeld = ({ holder, at }: ClaimRow): Held => {
  const parsed: Json = holder === null ? null : JSON.parse(holder)
  return { holder: parsed, at }
}

/** Those of the claims that somebody holds. */
const heldClaims = async (
  { query }: Pick<Session | Database, 'query'>,
  keys: Keys['claims'],
): Promise<Map<string, Held>> => {
  const columns = [column(keys, 0), column(keys, 1), column(keys, 2)]
  const { rows } = await query<ClaimRow>(READ_CLAIMS, columns, 'ledger-claims')
  return new Map(rows.map((row) => [keyOf(row.organisation, row.kind, row.key), toHeld(row)]))
}

const readClaims = async (session: Session, known: Known, keys: Keys['claims']): Promise<void> => {
  if (keys.length === 0) return
  for (const key of keys) known.claims.set(keyOf(...key), null)
  for (const [name, held] of await heldClaims(session, keys)) known.claims.set(name, held)
}

/** Who holds each of some claims, in their order, by one query outside of any transaction. */
export const findClaims = async (
  database: Pick<Database, 'query'>,
  organisation: string,
  claims: readonly Claim[],
): Promise<(Held | undefined)[]> => {
  const held = await heldClaims(
    database,
    claims.map(([kind, key]) => [organisation, kind, key]),
  )
  return claims.map(([kind, key]) => held.get(keyOf(organisation, kind, key)))
}

/** Where a counter stands, outside of any commit. */
export const findCounter = async (
  { knex }: Database,
  organisation: string,
  counter: string,
): Promise<number> => {
  const row = await knex<CounterRow>(counters.name).where({ organisation, counter }).first('value')
  return row?.value ?? 0
}

const readCounters = async (session: Session, known: Known, keys: Keys['counters']): Promise<void> => {
  if (keys.length === 0) return
  for (const key of keys) known.counters.set(keyOf(...key), 0)
  const columns = [column(keys, 0), column(keys, 1)]
  const { rows } = await session.query<CounterRow>(READ_COUNTERS, columns, 'ledger-counters')
  for (const row of rows) known.counters.set(keyOf(row.organisation, row.counter), row.value)
}

/** Reads claims and counters into `known`; what does not exist is noted as free, or zero. */
export const readUnread = async (session: Session, known: Known, unread: Keys): Promise<void> => {
  await Promise.all([
    readClaims(session, known, unread.claims),
    readCounters(session, known, unread.counters),
  ])
}

/**
 * Reads the live answers of idempotent requests into `known`, and deletes those that have expired, whose keys may be used again.
 * @param at Unix ms; older ones count as gone
 */
export const readAnswers = async (
  session: Session,
  known: Known,
  keys: readonly [organisation: string, key: string][],
  at: number,
): Promise<void> => {
  if (keys.length === 0) return
  const columns = [column(keys, 0), column(keys, 1)]
  const { rows } = await session.query<AnswerRow>(READ_ANSWERS, columns, 'ledger-answers')
  for (const row of rows) {
    if (row.expires_at > at) known.answers.set(keyOf(row.organisation, row.key), row)
  }
  if (rows.some((row) => row.expires_at <= at))
    await session.query(DELETE_EXPIRED, [...columns, at], 'ledger-expired-answers')
}

/** Deletes some expired answers; the rest goes with later batches. Batches of other logs may be about the same ones, and none waits for them. @returns how many */
export const sweepAnswers = async (session: Session, at: number, maxRows: number): Promise<number> => {
  const { rowCount } = await session.query(
    `DELETE FROM idempotent_answers WHERE (organisation, key) IN
      (SELECT organisation, key FROM idempotent_answers WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    [at, maxRows],
    'ledger-sweep',
  )
  return rowCount
}

/** Leaf hashes of a range, for the tile that is growing. */
export const readLeafHashes = async (
  session: Session,
  log: number,
  from: number,
  to: number,
): Promise<Uint8Array[]> => {
  const { rows } = await session.query<{ leaf_hash: Uint8Array }>(
    'SELECT leaf_hash FROM ledger_entries WHERE log = $3 AND idx >= $1 AND idx < $2 ORDER BY idx',
    [from, to, log],
    'ledger-leaves',
  )
  return rows.map((row) => row.leaf_hash)
}

/** Roots of a range of one level's tiles, for the tile that is growing above them. */
export const readTileRoots = async (
  session: Session,
  log: number,
  level: number,
  from: number,
  to: number,
): Promise<Uint8Array[]> => {
  const { rows } = await session.query<{ root: Uint8Array }>(
    'SELECT root FROM ledger_tiles WHERE log = $4 AND level = $1 AND tile >= $2 AND tile < $3 ORDER BY tile',
    [level, from, to, log],
    'ledger-tile-roots',
  )
  return rows.map((row) => row.root)
}

/** Id of the entry at an index of a log, or undefined. */
export const readEntryId = async (
  session: Session,
  log: number,
  index: number,
): Promise<string | undefined> => {
  const { rows } = await session.query<{ id: string }>(
    'SELECT id FROM ledger_entries WHERE log = $1 AND idx = $2',
    [log, index],
  )
  return rows[0]?.id
}
