/**
 * Statuses of what is issued. A block is 64 statuses that one server gives out; see src/domain/status/numbers.ts.
 * @module
 */
import type { Knex } from 'knex'

export const statusesMigration = {
  name: '0002-statuses',
  async up(knex: Knex): Promise<void> {
    await knex.raw(`CREATE TABLE revoked_statuses (
      status bigint PRIMARY KEY,
      revoked_at bigint NOT NULL
    )`)
    await knex.raw('CREATE SEQUENCE status_blocks MINVALUE 0 START 0')
  },
}
