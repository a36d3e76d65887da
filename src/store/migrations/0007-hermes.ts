/**
 * Hermes routes, what became of them, and what they answered. Columns that end in `_at` are Unix milliseconds.
 * Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  // Targets may hold credentials, so they are sealed; `binding_key` is derived from the token behind `manage_digest`.
  `CREATE TABLE hermes_routes (
    id text COLLATE "C" PRIMARY KEY,
    slug text COLLATE "C" NOT NULL UNIQUE,
    organisation text COLLATE "C" NOT NULL,
    owned boolean NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    destination bytea NOT NULL,
    binding_key bytea NOT NULL,
    ask_digest bytea UNIQUE CHECK (length(ask_digest) = 32),
    manage_digest bytea NOT NULL UNIQUE CHECK (length(manage_digest) = 32),
    private_egress boolean NOT NULL,
    created_at bigint NOT NULL
  )`,
  'CREATE INDEX hermes_routes_user ON hermes_routes (user_id, id)',
  `CREATE TABLE hermes_deletions (
    route text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    deleted_at bigint NOT NULL
  )`,
  `CREATE TABLE hermes_stats (
    route text COLLATE "C" PRIMARY KEY,
    yes bigint NOT NULL,
    no bigint NOT NULL,
    errors bigint NOT NULL,
    latency_ms bigint NOT NULL,
    last_used_at bigint NOT NULL
  )`,
] as const

export const hermesMigration = {
  name: '0007-hermes',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
