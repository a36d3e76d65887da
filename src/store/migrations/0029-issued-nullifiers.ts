/**
 * Which consent a nullifier belongs to, so that what became of it counts for proofs that don't name it; and until when a row
 * is of use. Columns that end in `_at` are Unix milliseconds. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  // Null for what isn't a consent, and for consents of before.
  'ALTER TABLE issued_nullifiers ADD COLUMN consent text COLLATE "C"',
  // Null for consents, and for what was issued before.
  'ALTER TABLE issued_nullifiers ADD COLUMN expires_at bigint',
  'CREATE INDEX issued_nullifiers_expires_at ON issued_nullifiers (expires_at) WHERE expires_at IS NOT NULL',
] as const

export const issuedNullifiersMigration = {
  name: '0029-issued-nullifiers',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
