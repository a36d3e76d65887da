/**
 * What is published of the log, and what follows it: the last signed checkpoint, followers' cursors, leaves and
 * logged roots of the Poseidon shards, and indexes for the audit. Columns that end in `_at` are Unix milliseconds.
 * Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
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
  'CREATE INDEX ledger_entries_type ON ledger_entries (organisation, type, idx)',
  'CREATE INDEX ledger_entries_at ON ledger_entries (at, idx)',
  // Beside the text, so that counting subjects parses no JSON.
  'ALTER TABLE ledger_entries ADD COLUMN subject text COLLATE "C"',
  // The text ends in members that nobody outside can write.
  `UPDATE ledger_entries
    SET subject = substring(entry from '"subject":"([0-9a-f]{64})","ts":[0-9]+,"type":"[a-z._]+","v":1}$')`,
] as const

export const logMigration = {
  name: '0004-log',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
