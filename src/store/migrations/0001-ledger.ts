/**
 * The ledger: its head, entries, full tiles of hashes, claims, counters, stored answers of idempotent requests and
 * the keys of pseudonyms. `at` and columns that end in `_at` are Unix milliseconds.
 * Frozen: later changes are migrations of their own.
 * @module
 */
import { createHash } from 'node:crypto'
import type { Knex } from 'knex'

const STATEMENTS = [
  // `edge`: roots of the perfect subtrees that make up the tree, 32 bytes each, from the left.
  `CREATE TABLE ledger_head (
    name text COLLATE "C" PRIMARY KEY,
    size bigint NOT NULL CHECK (size >= 0),
    root bytea NOT NULL CHECK (length(root) = 32),
    edge bytea NOT NULL CHECK (length(edge) % 32 = 0),
    updated_at bigint NOT NULL
  )`,
  // `entry` is the canonical JSON that was hashed, byte for byte.
  `CREATE TABLE ledger_entries (
    idx bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    organisation text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    key_id text COLLATE "C",
    circuit_id text COLLATE "C",
    proof_id text COLLATE "C",
    digest text COLLATE "C",
    leaf_hash bytea NOT NULL CHECK (length(leaf_hash) = 32),
    entry text NOT NULL
  )`,
  'CREATE INDEX ledger_entries_organisation ON ledger_entries (organisation, idx)',
  // 256 hashes of one level; level 0 holds leaf hashes, level n + 1 the roots of level n's tiles.
  `CREATE TABLE ledger_tiles (
    level smallint NOT NULL,
    tile bigint NOT NULL,
    root bytea NOT NULL CHECK (length(root) = 32),
    hashes bytea NOT NULL CHECK (length(hashes) = 8192),
    PRIMARY KEY (level, tile)
  )`,
  `CREATE TABLE ledger_claims (
    organisation text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    holder text,
    at bigint NOT NULL,
    PRIMARY KEY (organisation, kind, key)
  )`,
  `CREATE TABLE ledger_counters (
    organisation text COLLATE "C" NOT NULL,
    counter text COLLATE "C" NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (organisation, counter)
  )`,
  `CREATE TABLE idempotent_answers (
    organisation text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    request_hash text COLLATE "C" NOT NULL,
    sealed_answer bytea NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (organisation, key)
  )`,
  'CREATE INDEX idempotent_answers_expires_at ON idempotent_answers (expires_at)',
  `CREATE TABLE pseudonym_epochs (
    epoch bigint PRIMARY KEY,
    sealed_key bytea NOT NULL
  )`,
] as const

/** RFC 6962 §2.1: the hash of an empty tree is the hash of nothing. */
const EMPTY_ROOT = createHash('sha256').digest()

export const ledgerMigration = {
  name: '0001-ledger',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
    await knex('ledger_head').insert({
      name: 'ledger',
      size: 0,
      root: EMPTY_ROOT,
      edge: Buffer.alloc(0),
      updated_at: 0,
    })
  },
}
