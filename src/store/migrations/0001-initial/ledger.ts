/**
 * The ledger: its head, entries, full tiles of hashes, claims, counters, stored answers of idempotent requests, the keys of
 * pseudonyms; and what follows the log: the last signed checkpoint, followers' cursors, leaves and roots of the Poseidon shards.
 * @module
 */

export const LEDGER = [
  // `edge`: roots of the perfect subtrees that make up the tree, 32 bytes each, from the left.
  `CREATE TABLE ledger_head (
    name text COLLATE "C" PRIMARY KEY,
    size bigint NOT NULL CHECK (size >= 0),
    root bytea NOT NULL CHECK (length(root) = 32),
    edge bytea NOT NULL CHECK (length(edge) % 32 = 0),
    updated_at bigint NOT NULL
  )`,
  // `entry` is the canonical JSON that was hashed, byte for byte; `subject` stands beside it, so that counting subjects parses no JSON.
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
    entry text NOT NULL,
    subject text COLLATE "C"
  )`,
  'CREATE INDEX ledger_entries_organisation ON ledger_entries (organisation, idx)',
  'CREATE INDEX ledger_entries_type ON ledger_entries (organisation, type, idx)',
  'CREATE INDEX ledger_entries_at ON ledger_entries (at, idx)',
  'CREATE INDEX ledger_entries_digest ON ledger_entries (organisation, digest, idx) WHERE digest IS NOT NULL',
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
  // One row, replaced by compare-and-swap: whoever would sign must have seen what was signed last.
  `CREATE TABLE ledger_checkpoint (
    name text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    size bigint NOT NULL CHECK (size >= 0),
    root bytea NOT NULL CHECK (length(root) = 32),
    note text NOT NULL,
    signers text NOT NULL,
    signed_at bigint NOT NULL
  )`,
  // `cursor`: index of the first entry that was not consumed yet.
  `CREATE TABLE ledger_followers (
    name text COLLATE "C" PRIMARY KEY,
    cursor bigint NOT NULL CHECK (cursor >= 0),
    holder text COLLATE "C",
    held_until bigint NOT NULL
  )`,
  // Leaves of tree 2 by their place in it; `idx` is the entry's place in tree 1.
  `CREATE TABLE poseidon_leaves (
    position bigint PRIMARY KEY,
    idx bigint NOT NULL UNIQUE,
    leaf bytea NOT NULL CHECK (length(leaf) = 32)
  )`,
  // Roots of shards that were logged; `entry_index` is the place of the entry that says so.
  `CREATE TABLE poseidon_roots (
    shard bigint NOT NULL,
    size integer NOT NULL CHECK (size BETWEEN 1 AND 4096),
    root bytea NOT NULL CHECK (length(root) = 32),
    entry_index bigint NOT NULL,
    PRIMARY KEY (shard, size)
  )`,
] as const
