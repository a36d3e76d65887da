/** Where the log is at home, which a copy of the database is not. @module */
import type { Knex } from 'knex'

export const ledgerHomeMigration = {
  name: '0022-ledger-home',
  async up(knex: Knex): Promise<void> {
    // One row. `generation` counts the origins under which checkpoints were signed.
    await knex.raw(`CREATE TABLE ledger_home (
      name text COLLATE "C" PRIMARY KEY,
      place text COLLATE "C" NOT NULL,
      generation integer NOT NULL
    )`)
  },
}
