/**
 * Results that answer no question: their `decision` is null. Those that were made before keep the YES that they were
 * signed with. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

export const attestationsMigration = {
  name: '0024-attestations',
  async up(knex: Knex): Promise<void> {
    await knex.raw('ALTER TABLE verifications ALTER COLUMN decision DROP NOT NULL')
  },
}
