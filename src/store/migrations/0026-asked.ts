/**
 * What a result was asked, as far as it may be shown; null where nothing was asked, for policies, and for results of
 * before. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

export const askedMigration = {
  name: '0026-asked',
  async up(knex: Knex): Promise<void> {
    await knex.raw('ALTER TABLE verifications ADD COLUMN asked jsonb')
  },
}
