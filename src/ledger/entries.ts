/** Reads committed entries in the order of the log, for followers. @module */
import type { Database } from '../store/database.ts'
import type { EntryType } from './decision.ts'
import type { EntryRow } from './tables.ts'

/** What one read may hold at most. */
export const MAX_READ_ENTRIES = 1_000

/** A committed entry with what is kept beside it. */
export interface LoggedEntry {
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

/**
 * Entries from an index on, in order and without gaps: an entry is visible only when all before it are. Fewer than
 * `limit` where the log ends, or where entries have been purged.
 * @param limit 1 to {@link MAX_READ_ENTRIES}
 */
export const readEntries = async (
  { knex }: Pick<Database, 'knex'>,
  from: number,
  limit: number,
): Promise<LoggedEntry[]> => {
  if (!(limit >= 1 && limit <= MAX_READ_ENTRIES))
    throw new RangeError(`One read holds 1 to ${MAX_READ_ENTRIES} entries, not ${limit}.`)
  const rows = await knex<EntryRow>('ledger_entries').where('idx', '>=', from).orderBy('idx').limit(limit)
  return rows.map((row) => ({
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
  }))
}
