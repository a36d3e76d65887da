/** Pages of a list: the newest first, found by an index however long the list is. @module */
import type { Knex } from 'knex'
import { fail } from '../errors.ts'
import type { Database } from './database.ts'

/** What no index knows is looked for among so many rows; the next page goes on from there. */
export const MAX_SEARCHED_ROWS = 10_000

/** Where a page begins: the row before it. */
export interface Place {
  /** What the list is ordered by, before the id. */
  readonly at: number
  readonly id: string
}

/** What makes a list of a table. */
export interface List {
  readonly table: string
  /** A number, such as a time: rows come by it, then by their ids. */
  readonly orderedBy: string
}

export interface PageOf {
  /** Of the page before; undefined: the first. */
  readonly after: Place | undefined
  readonly limit: number
}

export interface Rows<R> {
  /** At most `limit`, the newest first. */
  readonly rows: readonly R[]
  /** The next page begins after it; undefined on the last page. */
  readonly next: Place | undefined
}

interface Narrowing {
  /** By columns of the list's table that an index begins with. */
  readonly within: (query: Knex.QueryBuilder) => void
  /** Columns to read; those of other tables come by LATERAL joins of at most one row, which keep the order. */
  readonly select?: (query: Knex.QueryBuilder) => void
  /** By what no index knows: the page may then have fewer rows than its limit, and not be the last. */
  readonly search?: (query: Knex.QueryBuilder) => void
}

/** Joins at most one row of another table, by an index, to each of a list. */
export const joinOne = (query: Knex.QueryBuilder, name: string, one: string): void => {
  query.joinRaw(`LEFT JOIN LATERAL (${one} LIMIT 1) AS ${name} ON true`)
}

const newestFirst = (a: Place, b: Place): number => b.at - a.at || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)

/**
 * Pages of several lists that begin at one place, as one page in the order of all. Where a list was only searched so far,
 * the page ends there: what others have beyond comes with the next.
 * @param placeOf where a row stands; no two stand at one
 */
export const mergePages = <R>(
  pages: readonly Rows<R>[],
  placeOf: (row: R) => Place,
  limit: number,
): Rows<R> => {
  const [end] = pages.flatMap(({ next }) => next ?? []).toSorted(newestFirst)
  const rows = pages
    .flatMap((page) => page.rows)
    .filter((row) => end === undefined || newestFirst(placeOf(row), end) <= 0)
    .toSorted((a, b) => newestFirst(placeOf(a), placeOf(b)))
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { rows: shown, next: rows.length > limit && last !== undefined ? placeOf(last) : end }
}

/** Narrows a list to a window of what it is ordered by, Unix ms. */
export const withinWindow = (
  query: Knex.QueryBuilder,
  { table, orderedBy }: List,
  { from, to }: { readonly from?: number; readonly to?: number },
): void => {
  if (from !== undefined) query.where(`${table}.${orderedBy}`, '>=', from)
  if (to !== undefined) query.where(`${table}.${orderedBy}`, '<', to)
}

/** The place of the row that a cursor names. @throws AppError invalid_query for one that the organisation doesn't have */
export const findPlace = async (
  { knex }: Database,
  { table, orderedBy }: List,
  organisation: string,
  cursor: string | undefined,
): Promise<Place | undefined> => {
  if (cursor === undefined) return undefined
  const row = await knex(table).where({ organisation, id: cursor }).first<Place | undefined>({
    at: orderedBy,
    id: 'id',
  })
  if (row !== undefined) return row
  return fail('invalid_query', {
    details: [{ path: 'query/cursor', code: 'unknown', message: 'No page of yours ended with this cursor.' }],
  })
}

/** A page of a list. */
export const findPage = async <R extends object>(
  { knex }: Database,
  { table, orderedBy }: List,
  { within, select, search }: Narrowing,
  { after, limit }: PageOf,
): Promise<Rows<R>> => {
  const [time, id] = [`${table}.${orderedBy}`, `${table}.id`]
  const placed = (query: Knex.QueryBuilder, sign: '<' | '>=', place: Place): void => {
    query.whereRaw(`(??, ??) ${sign} (?, ?)`, [time, id, place.at, place.id])
  }
  const candidates = (): Knex.QueryBuilder => {
    const query = knex(table).orderBy([
      { column: time, order: 'desc' },
      { column: id, order: 'desc' },
    ])
    within(query)
    if (after !== undefined) placed(query, '<', after)
    return query
  }
  const query = candidates().limit(limit + 1)
  select?.(query)
  let searched: Place | undefined
  if (search !== undefined) {
    searched = await candidates()
      .select({ at: time, id })
      .offset(MAX_SEARCHED_ROWS - 1)
      .first<Place | undefined>()
    if (searched !== undefined) placed(query, '>=', searched)
    search(query)
  }
  const found: R[] = await query
  const rows = found.slice(0, limit)
  const last = rows.at(-1) as (Record<string, unknown> & R) | undefined
  if (found.length <= limit || last === undefined) return { rows, next: searched }
  return { rows, next: { at: Number(last[orderedBy]), id: String(last.id) } }
}
