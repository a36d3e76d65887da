/** The keys that seal, each under MASTER_KEY. @module */
import type { Knex } from 'knex'

export const dataKeysMigration = {
  name: '0021-data-keys',
  async up(knex: Knex): Promise<void> {
    await knex.raw(`CREATE TABLE data_keys (
      version integer PRIMARY KEY,
      sealed_key bytea NOT NULL,
      handover bytea,
      used_from bigint NOT NULL
    )`)
  },
}
