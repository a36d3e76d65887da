/** What members of an organisation may do, and when they last signed in. @module */
import type { Knex } from 'knex'

const QUERIES = [
  // Every account has had its organisation to itself. The default serves earlier versions that still run, whose sign-ups make owners too.
  `ALTER TABLE accounts
    ADD COLUMN role text COLLATE "C" NOT NULL DEFAULT 'owner',
    ADD COLUMN last_sign_in_at bigint`,
  'CREATE INDEX accounts_organisation ON accounts (organisation, id)',
] as const

export const rolesMigration = {
  name: '0009-roles',
  async up(knex: Knex): Promise<void> {
    for (const query of QUERIES) await knex.raw(query)
  },
}
