/**
 * Finds entries by what they are about. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

export const auditMigration = {
  name: '0013-audit',
  async up(knex: Knex): Promise<void> {
    await knex.raw(
      'CREATE INDEX ledger_entries_digest ON ledger_entries (organisation, digest, idx) WHERE digest IS NOT NULL',
    )
  },
}
