/** When the service's own keys begin to sign, and when one that leaked was ended. @module */
import type { Knex } from 'knex'

export const rotatedKeysMigration = {
  name: '0028-rotated-keys',
  async up(knex: Knex): Promise<void> {
    for (const table of ['signing_keys', 'issuer_keys'])
      await knex.raw(`ALTER TABLE ${table} ADD COLUMN signs_from bigint, ADD COLUMN ended_at bigint`)
  },
}
