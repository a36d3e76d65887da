/**
 * Three indexes beside the key of `ledger_entries` in place of four: an organisation's entries are found type by type, of which there are
 * few, and a digest by eight bytes instead of a hundred. `IF NOT EXISTS`, so that the new one may be made beforehand, CONCURRENTLY;
 * which leaves an invalid index behind where it failed, that nothing would be found by.
 * @module
 */
import type { Knex } from 'knex'

const CREATE = `CREATE INDEX IF NOT EXISTS ledger_entries_by_digest
    ON ledger_entries (hashtextextended(organisation || digest, 0), idx) WHERE digest IS NOT NULL`
const IS_VALID = `SELECT indisvalid FROM pg_index WHERE indexrelid = 'ledger_entries_by_digest'::regclass`
const REPLACED = ['ledger_entries_digest', 'ledger_entries_organisation']

export const entryIndexesMigration = {
  name: '0023-entry-indexes',
  async up(knex: Knex): Promise<void> {
    await knex.raw(CREATE)
    const { rows } = await knex.raw<{ rows: { indisvalid: boolean }[] }>(IS_VALID)
    if (!rows[0]?.indisvalid)
      throw new Error(
        'The index ledger_entries_by_digest is invalid: making it CONCURRENTLY failed. Run DROP INDEX ledger_entries_by_digest, make it again (docs/scaling.md) or leave it to this migration, and start again. This migration changed nothing.',
      )
    for (const index of REPLACED) await knex.raw(`DROP INDEX ${index}`)
  },
}
