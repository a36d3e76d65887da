/**
 * Statuses that are set, and how many were given out. The view `revoked_status_numbers` has all that are revoked: those of the table here, and
 * those that other rows say it of. Columns `…_at` are Unix milliseconds.
 * @module
 */
import type { Database } from '../../store/database.ts'
import { integer, table } from '../../store/table.ts'

export const revokedStatuses = table('revoked_statuses', {
  /** See src/protocol/status.ts. */
  status: integer().key(),
  revoked_at: integer().merge('min'),
})

/** Entries that are read at once: a full list is eight such pages. */
const PAGE_ENTRIES = 2 ** 14
const ENTRY_BYTES = 4

/** A number that no other call was given, from 0. One that is never used leaves a gap, as a crash may. */
export const takeBlock = async (database: Database): Promise<number> => {
  const { rows } = await database.query<{ block: number }>(
    "SELECT nextval('status_blocks') AS block",
    [],
    'status-take-block',
  )
  return Number(rows[0]?.block)
}

/** The block that was taken last; 0 also where none was. */
export const lastBlock = async (database: Database): Promise<number> => {
  const { rows } = await database.query<{ block: number }>(
    'SELECT last_value AS block FROM status_blocks',
    [],
    'status-last-block',
  )
  return Number(rows[0]?.block)
}

export const isRevoked = async (database: Database, status: number): Promise<boolean> => {
  const { rows } = await database.query(
    'SELECT status FROM revoked_status_numbers WHERE status = $1',
    [status],
    'status-find',
  )
  return rows.length > 0
}

/** Those of these that are revoked. */
export const revokedAmong = async (
  database: Database,
  statuses: readonly number[],
): Promise<readonly number[]> => {
  if (statuses.length === 0) return []
  const { rows } = await database.query<{ status: number }>(
    'SELECT status FROM revoked_status_numbers WHERE status = ANY ($1::bigint[])',
    [statuses],
    'status-find-all',
  )
  return rows.map(({ status }) => Number(status))
}

interface Page {
  readonly entries: Uint8Array | null
  readonly last: number | null
}

/** One row for a page, not one for each entry: a full list would keep the event loop busy for a tenth of a second. */
const PAGE = `SELECT string_agg(int4send((status - $1::bigint)::int), ''::bytea) AS entries, max(status) AS last FROM (
    SELECT status FROM revoked_status_numbers WHERE status > $2 AND status <= $3 ORDER BY status LIMIT ${PAGE_ENTRIES}) page`

/**
 * Calls `visit` with each status of a range that is set.
 * @param first lowest of the range @param count length of the range, at most 2^31
 * @param visit gets the distance from `first`
 */
export const eachRevoked = async (
  database: Database,
  first: number,
  count: number,
  visit: (offset: number) => void,
): Promise<void> => {
  for (let after = first - 1; ; ) {
    const values = [first, after, first + count - 1]
    const { rows } = await database.query<Page>(PAGE, values, 'status-page')
    const { entries, last } = rows[0] ?? {}
    if (!entries || !last) return
    const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength)
    for (let at = 0; at < entries.byteLength; at += ENTRY_BYTES) visit(view.getInt32(at))
    if (entries.byteLength < PAGE_ENTRIES * ENTRY_BYTES) return
    after = Number(last)
  }
}
