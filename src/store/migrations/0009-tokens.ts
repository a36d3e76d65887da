/**
 * Signed tokens, and what became of them: used up, revoked. What a token says, and what circuits need of it, is sealed.
 * Columns that end in `_at` are Unix milliseconds. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE tokens (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    single_use boolean NOT NULL,
    jws_hash bytea NOT NULL CHECK (length(jws_hash) = 32),
    sealed bytea NOT NULL,
    issued_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  'CREATE INDEX tokens_organisation ON tokens (organisation, id)',
  `CREATE TABLE token_uses (
    token text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    used_at bigint NOT NULL
  )`,
  `CREATE TABLE token_revocations (
    token text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    reason text,
    revoked_at bigint NOT NULL
  )`,
] as const

export const tokensMigration = {
  name: '0009-tokens',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
