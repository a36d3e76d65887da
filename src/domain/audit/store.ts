/** Reads of the log for those who audit it; it is written by the ledger alone. @module */
import type { Knex } from 'knex'
import { lastIndexBefore } from '../../ledger/entries.ts'
import type { EntryRow, PoseidonRootRow } from '../../ledger/tables.ts'
import type { Database } from '../../store/database.ts'
import { MAX_SEARCHED_ROWS } from '../../store/pages.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Entries counted before others get their turn. */
const CHUNK_ENTRIES = 5_000
const DIGEST_HASH = 'hashtextextended(organisation || digest, 0)'
const ASKED_HASH = 'hashtextextended(:organisation::text || :digest::text, 0)'
/** Of entries with one hash all but hardly any are of the same organisation and digest. */
const MAX_WITH_HASH = 10
/**
 * Entries with the hash of an organisation and a digest, the earliest first, as the index ledger_entries_by_digest has them. The end keeps the
 * planner from asking another index for all entries of the organisation as well, and a low limit from reading all that have the hash, which are
 * many of a proof that is checked often.
 */
const withDigestHash = (end: string): string => `(SELECT * FROM ledger_entries
  WHERE ${DIGEST_HASH} = ${ASKED_HASH} AND digest IS NOT NULL ORDER BY idx ${end}) AS hashed`

export interface Window {
  /** Which log: the organisation's, where one is named. */
  readonly log: number
  /** Absent: of all organisations. */
  readonly organisation?: string
  /** Unix ms, inclusive. */
  readonly since?: number
  /** Unix ms, exclusive. */
  readonly until?: number
}

/**
 * Narrows a query to a window. The log is in order of time, so the window is a range of indexes, found by two
 * look-ups. Entries that a clock far ahead has stamped are out of order; time itself is compared for their sake.
 */
const within = async (
  database: Pick<Database, 'knex'>,
  query: Knex.QueryBuilder,
  { log, organisation, since, until }: Window,
): Promise<void> => {
  const lastBefore = (at: number): Promise<number> => lastIndexBefore(database, log, at)
  query.where({ log })
  if (organisation !== undefined) query.where({ organisation })
  if (since !== undefined) query.where('idx', '>', await lastBefore(since)).where('at', '>=', since)
  if (until !== undefined) query.where('idx', '<=', await lastBefore(until)).where('at', '<', until)
}

/** The types of an organisation's entries, each found by one look into the index. */
const typesOf = async ({ knex }: Pick<Database, 'knex'>, organisation: string): Promise<string[]> => {
  const { rows } = await knex.raw<{ rows: { type: string }[] }>(
    `WITH RECURSIVE types AS (
      (SELECT type FROM ledger_entries WHERE organisation = :organisation ORDER BY type LIMIT 1)
      UNION ALL SELECT next.type FROM types CROSS JOIN LATERAL
        (SELECT type FROM ledger_entries WHERE organisation = :organisation AND type > types.type ORDER BY type LIMIT 1) AS next
    ) SELECT type FROM types`,
    { organisation },
  )
  return rows.map(({ type }) => type)
}

export interface EntriesFound {
  /** At most `limit`, the newest first. */
  readonly rows: readonly EntryRow[]
  /** Index before which the next page begins; undefined on the last one. */
  readonly next: number | undefined
}

/** Where the search of a page ends: no index knows the types of all organisations, and one may be seldom. */
const searchedFrom = async (query: Knex.QueryBuilder): Promise<number> => {
  const newest = await query.clone().first<Pick<EntryRow, 'idx'> | undefined>('idx')
  return Math.max(0, (newest?.idx ?? 0) - MAX_SEARCHED_ROWS + 1)
}

const pageOf = (found: readonly EntryRow[], limit: number, searched = 0): EntriesFound => {
  const rows = found.slice(0, limit)
  if (found.length > limit) return { rows, next: rows.at(-1)?.idx }
  return { rows, next: searched > 0 ? searched : undefined }
}

/**
 * Entries of a window, the newest first. Of one type of all organisations a page may have fewer than its limit, and not be the last.
 * @param before index, exclusive
 */
export const findEntries = async (
  database: Database,
  filter: Window & { readonly type?: string; readonly before?: number; readonly limit: number },
): Promise<EntriesFound> => {
  const { organisation, type, before, limit } = filter
  const query = database
    .knex<EntryRow>('ledger_entries')
    .orderBy('idx', 'desc')
    .limit(limit + 1)
  await within(database, query, filter)
  if (before !== undefined) query.where('idx', '<', before)
  if (organisation === undefined) {
    if (type === undefined) return pageOf(await query, limit)
    const searched = await searchedFrom(query)
    return pageOf(await query.where('idx', '>=', searched).where('type', type), limit, searched)
  }
  if (type !== undefined) return pageOf(await query.where('type', type), limit)
  const types = await typesOf(database, organisation)
  if (types.length === 0) return { rows: [], next: undefined }
  // The index has the entries of each type in order; the newest of all are among the newest of each.
  const each = types.map((one) => query.clone().where('type', one))
  const newest = database.knex.unionAll(each, true).as('newest')
  return pageOf(
    await database.knex
      .from(newest)
      .orderBy('idx', 'desc')
      .limit(limit + 1),
    limit,
  )
}

/** One entry, of the organisation if one is named. */
export const findEntry = async (
  { knex }: Database,
  { log, index }: { readonly log: number; readonly index: number },
  organisation: string | undefined,
): Promise<EntryRow | undefined> => {
  const query = knex<EntryRow>('ledger_entries').where({ log, idx: index })
  if (organisation !== undefined) query.where({ organisation })
  return query.first()
}

/** The first entry of an organisation that has this digest. */
export const findEntryByDigest = async (
  { knex }: Database,
  digest: string,
  organisation: string,
): Promise<EntryRow | undefined> => {
  const named = { organisation, digest }
  const findAmong = (end: string) =>
    knex
      .from(knex.raw(withDigestHash(end), named))
      .where(named)
      .orderBy('idx')
      .first<EntryRow | undefined>()
  return (await findAmong(`LIMIT ${MAX_WITH_HASH}`)) ?? findAmong('OFFSET 0')
}

/** What a log says of a shard at a size. */
export const findLoggedRoot = async (
  { knex }: Database,
  { log, shard, size }: Pick<PoseidonRootRow, 'log' | 'shard' | 'size'>,
): Promise<PoseidonRootRow | undefined> =>
  knex<PoseidonRootRow>('poseidon_roots').where({ log, shard, size }).first()

/** The last root over a place of a shard among the first `treeSize` entries. */
export const findRootBefore = async (
  { knex }: Database,
  { log, shard, position }: { readonly log: number; readonly shard: number; readonly position: number },
  treeSize: number,
): Promise<PoseidonRootRow | undefined> =>
  knex<PoseidonRootRow>('poseidon_roots')
    .where({ log, shard })
    .where('size', '>', position)
    .where('entry_index', '<', treeSize)
    .orderBy('size', 'desc')
    .first()

export interface CellRow {
  /** Hours since 1970-01-01T00Z. */
  hour: number
  type: string
  subject: string
  entries: number
}

export interface CountQuestion {
  readonly window: Window
  /** Whether hours are told apart; else all of a day stands under its first. */
  readonly byHour: boolean
  /** What may be counted at most. */
  readonly maxEntries: number
}

type CountedRow = Omit<CellRow, 'subject'> & { subject: string | null; last: number }

/** Cells of the next entries of a window, those without a subject included. */
const countNext = async (
  knex: Knex,
  ranged: Knex.QueryBuilder,
  { from, byHour }: { from: number; byHour: boolean },
): Promise<CountedRow[]> => {
  const next = ranged.clone().where('idx', '>=', from).orderBy('idx').limit(CHUNK_ENTRIES)
  const hour = byHour ? `at / ${HOUR_MS}` : `at / ${DAY_MS} * 24`
  return knex
    .from(next.as('counted'))
    .select(knex.raw(`${hour} AS hour, type, subject, count(*)::int AS entries, max(idx) AS last`))
    .groupByRaw('1, 2, 3')
}

/** Lets whatever waits for this thread run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/**
 * How often each subject did each type of thing in each hour, or day, of a window; one cell may come in several parts.
 * Counted little by little, so that no query is long: the embedded database shares its thread with everybody.
 * @returns undefined when the window holds more than `maxEntries`
 */
export const countBySubject = async (
  { knex }: Database,
  { window, byHour, maxEntries }: CountQuestion,
): Promise<CellRow[] | undefined> => {
  const ranged = knex('ledger_entries').select('idx', 'at', 'type', 'subject')
  await within({ knex }, ranged, window)
  const { organisation } = window
  // Type by type, as the index has them; of all organisations in the order of the log, which is not about itself.
  const parts =
    organisation === undefined
      ? [ranged.whereNot({ type: 'ledger.head' })]
      : (await typesOf({ knex }, organisation)).map((type) => ranged.clone().where('type', type))
  const cells: CellRow[] = []
  let counted = 0
  for (const part of parts) {
    let entries = CHUNK_ENTRIES
    for (let from = 0; entries === CHUNK_ENTRIES; await turn()) {
      const chunk = await countNext(knex, part, { from, byHour })
      entries = 0
      for (const cell of chunk) {
        entries += cell.entries
        from = Math.max(from, cell.last + 1)
        if (cell.subject !== null) cells.push({ ...cell, subject: cell.subject })
      }
      counted += entries
      if (counted > maxEntries) return undefined
    }
  }
  return cells
}
