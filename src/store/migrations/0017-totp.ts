/** Second factors of accounts: what makes one-time codes, and recovery codes. @module */
import type { Knex } from 'knex'

const QUERIES = [
  // Without `confirmed_at` it only waits to be confirmed. No code of `last_step` or before is taken.
  `CREATE TABLE account_totp (
    account text COLLATE "C" PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    sealed_secret bytea NOT NULL,
    created_at bigint NOT NULL,
    confirmed_at bigint,
    last_step bigint
  )`,
  `CREATE TABLE recovery_codes (
    account text COLLATE "C" NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    digest bytea NOT NULL,
    PRIMARY KEY (account, digest)
  )`,
] as const

export const totpMigration = {
  name: '0017-totp',
  async up(knex: Knex): Promise<void> {
    for (const query of QUERIES) await knex.raw(query)
  },
}
