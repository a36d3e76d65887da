/** Reads committed entries in the order of the log, for followers. @module */
import type { Database } from '../store/database.ts'
import type { EntryType } from './decision.ts'
import type { EntryRow } from './tables.ts'

/** What one read may hold at most. */
export const MAX_READ_ENTRIES = 1_000

/** A committed entry with what is kept beside it. */
export interface LoggedEntry {
  /** Which log, from 0. */
  readonly log: number
  readonly index: number
  readonly id: string
  readonly organisation: string
  readonly type: EntryType
  /** Unix ms. */
  readonly at: number
  readonly keyId: string | null
  readonly circuitId: string | null
  readonly proofId: string | null
  readonly digest: string | null
  /** 32 bytes. */
  readonly leafHash: Uint8Array
  /** Canonical JSON, byte for byte what was hashed. */
  readonly text: string
}

const loggedEntry = (row: Omit<EntryRow, 'subject'>): LoggedEntry => ({
  log: row.log,
  index: row.idx,
  id: row.id,
  organisation: row.organisation,
  type: row.type,
  at: row.at,
  keyId: row.key_id,
  circuitId: row.circuit_id,
  proofId: row.proof_id,
  digest: row.digest,
  leafHash: row.leaf_hash,
  text: row.entry,
})

/**
 * Entries of a log from an index on, in order and without gaps: an entry is visible only when all before it are. Fewer than
 * `limit` where the log ends.
 * @param limit 1 to {@link MAX_READ_ENTRIES}
 */
export const readEntries = async (
  { knex }: Pick<Database, 'knex'>,
  log: number,
  from: number,
  limit: number,
): Promise<LoggedEntry[]> => {
  if (!(limit >= 1 && limit <= MAX_READ_ENTRIES))
    throw new RangeError(`One read holds 1 to ${MAX_READ_ENTRIES} entries, not ${limit}.`)
  const rows = await knex<EntryRow>('ledger_entries')
    .where({ log })
    .where('idx', '>=', from)
    .orderBy('idx')
    .limit(limit)
  return rows.map(loggedEntry)
}

/** By name: a prepared statement may not have other columns when the table gets more of them. */
const COLUMNS = 'log, idx, id, organisation, type, at, key_id, circuit_id, proof_id, digest, leaf_hash, entry'

/** One look into the index for each type that the organisation has; between its entries those of others may stand. */
const READ_OF = `WITH RECURSIVE types AS (
    (SELECT type FROM ledger_entries WHERE organisation = $1 ORDER BY type LIMIT 1)
    UNION ALL SELECT next.type FROM types CROSS JOIN LATERAL
      (SELECT type FROM ledger_entries WHERE organisation = $1 AND type > types.type ORDER BY type LIMIT 1) AS next)
  SELECT own.* FROM types CROSS JOIN LATERAL (SELECT ${COLUMNS} FROM ledger_entries AS e
      WHERE e.organisation = $1 AND e.type = types.type AND e.idx >= $2 ORDER BY e.idx LIMIT $3::int) AS own
    ORDER BY own.idx LIMIT $3::int`

/**
 * Entries of one organisation from an index of its log on, in order. Fewer than `limit` where the log ends.
 * @param limit 1 to {@link MAX_READ_ENTRIES}
 */
export const readEntriesOf = async (
  { query }: Pick<Database, 'query'>,
  organisation: string,
  from: number,
  limit: number,
): Promise<LoggedEntry[]> => {
  const { rows } = await query<Omit<EntryRow, 'subject'>>(
    READ_OF,
    [organisation, from, limit],
    'ledger-entries-of',
  )
  return rows.map(loggedEntry)
}

/** How far ahead of a place others are looked at: closely at first, then each a tenth farther, past the end of any log. */
const AHEAD = Array.from({ length: 250 }, (_, i) => Math.ceil(1.1 ** i))
const STEPS = [...new Set(AHEAD)]

/**
 * Index of the last entry of a log that is earlier than a moment; -1 where there is none. The newest of them is the last
 * one, unless a clock far ahead has stamped it. So others behind it are looked at as well, until none of those looked at is earlier.
 * @param at Unix ms
 */
export const lastIndexBefore = async (
  { knex }: Pick<Database, 'knex'>,
  log: number,
  at: number,
): Promise<number> => {
  const entries = () => knex<EntryRow>('ledger_entries').where({ log })
  const newest = entries().where('at', '<', at).orderBy('at', 'desc').orderBy('idx', 'desc')
  let last = (await newest.first('idx'))?.idx ?? -1
  for (let before = -2; last > before; ) {
    before = last
    const ahead = STEPS.map((step) => before + step)
    for (const one of await entries().whereRaw('idx = ANY (?::bigint[])', [ahead]).select('idx', 'at'))
      if (one.at < at) last = Math.max(last, one.idx)
  }
  return last
}

/** Looks for a place while earlier entries come in between: under load they do for as long as the moment is to come. */
const MAX_LOOKS = 5

/**
 * Index of the first entry of a log behind all that are earlier than a moment; undefined where there is none.
 * @param at Unix ms
 */
export const firstIndexFrom = async (
  database: Pick<Database, 'knex'>,
  log: number,
  at: number,
): Promise<number | undefined> => {
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const last = await lastIndexBefore(database, log, at)
    const behind = database.knex<EntryRow>('ledger_entries').where({ log }).where('idx', '>', last)
    const first = await behind.orderBy('idx').first('idx', 'at')
    if (first === undefined) return undefined
    if (first.at >= at) return first.idx
  }
  return undefined
}
