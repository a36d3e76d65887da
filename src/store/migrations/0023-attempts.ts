/**
 * Attempts to guess a password or secret, counted where all servers see them. Columns that end in `_at` are Unix milliseconds.
 * Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE credential_attempts (
    bucket bytea PRIMARY KEY,
    attempts integer NOT NULL CHECK (attempts >= 0),
    ends_at bigint NOT NULL
  )`,
  'CREATE INDEX credential_attempts_ends_at ON credential_attempts (ends_at)',
  'CREATE INDEX sessions_account ON sessions (account, id)',
] as const

export const attemptsMigration = {
  name: '0023-attempts',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
