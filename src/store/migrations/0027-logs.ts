/**
 * Several logs: what was there is log 0. Keys stay what they are until there is a second log (ledger/growth.ts), but for those of tables with a
 * row for each log: nothing here takes long, however much is stored.
 * @module
 */
import type { Knex } from 'knex'

/** Servers of the last release write beside new ones: to log 0, the default, and their names stay. In the order in which they are locked. */
const WITH_LOG = [
  'ledger_followers',
  'ledger_head',
  'ledger_entries',
  'ledger_tiles',
  'ledger_checkpoint',
  'poseidon_leaves',
  'poseidon_roots',
  'organisations',
]

const LOGS = [
  // Followers read theirs before the head, batches the head before all else.
  `LOCK TABLE ${WITH_LOG.join(', ')} IN ACCESS EXCLUSIVE MODE`,
  ...WITH_LOG.map((table) => `ALTER TABLE ${table} ADD COLUMN log smallint NOT NULL DEFAULT 0`),
  // Names are unique still: servers of the last release find their rows by them.
  'ALTER TABLE ledger_head DROP CONSTRAINT ledger_head_pkey, ADD PRIMARY KEY (log), ADD UNIQUE (name)',
  'ALTER TABLE ledger_checkpoint DROP CONSTRAINT ledger_checkpoint_pkey, ADD PRIMARY KEY (log), ADD UNIQUE (name)',
  // The same index may be an entry of several logs.
  'ALTER TABLE aml_decisions DROP CONSTRAINT aml_decisions_pkey, ADD PRIMARY KEY (entry_index, finding)',
  // Heads of the other logs as entries of log 0 say them: `entry_index` is the place there.
  `CREATE TABLE ledger_heads (
    log smallint NOT NULL CHECK (log > 0),
    size bigint NOT NULL CHECK (size > 0),
    root bytea NOT NULL CHECK (length(root) = 32),
    entry_index bigint NOT NULL,
    PRIMARY KEY (log, size)
  )`,
  // What servers take turns at whichever log it is about: administrative changes lock their row, so that each finds what the ones before
  // it did; whoever appends heads holds the other one for a while.
  `CREATE TABLE ledger_turns (
    name text COLLATE "C" PRIMARY KEY,
    holder text COLLATE "C",
    held_until bigint NOT NULL
  )`,
  "INSERT INTO ledger_turns (name, held_until) VALUES ('changes', 0), ('heads', 0)",
]

export const logsMigration = {
  name: '0027-logs',
  async up(knex: Knex): Promise<void> {
    for (const statement of LOGS) await knex.raw(statement)
  },
}
