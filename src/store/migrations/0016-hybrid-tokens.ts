/**
 * Hybrid tokens, and which of them were revoked. Only the digest of what was signed is kept; what circuits need of a token
 * is sealed. Columns that end in `_at` are Unix milliseconds. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE hybrid_tokens (
    organisation text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    policy_bits smallint NOT NULL CHECK (policy_bits BETWEEN 1 AND 3),
    sealed bytea NOT NULL,
    issued_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (organisation, id)
  )`,
  `CREATE TABLE hybrid_token_revocations (
    organisation text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    reason text,
    revoked_at bigint NOT NULL,
    PRIMARY KEY (organisation, token)
  )`,
] as const

export const hybridTokensMigration = {
  name: '0016-hybrid-tokens',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
