/** Ends of keys that were replaced and work on for a while. @module */
import type { Knex } from 'knex'

const QUERIES = [
  // A row goes when the end is announced: as it comes, or before, when the key is revoked. Keys that were replaced by an
  // earlier version have none: their end was announced as they were replaced.
  `CREATE TABLE key_ends (
    key text COLLATE "C" PRIMARY KEY,
    due_at bigint NOT NULL,
    replaced_by text COLLATE "C" NOT NULL,
    asked_by text COLLATE "C"
  )`,
  'CREATE INDEX key_ends_due_at ON key_ends (due_at)',
] as const

export const keyEndsMigration = {
  name: '0029-key-ends',
  async up(knex: Knex): Promise<void> {
    for (const query of QUERIES) await knex.raw(query)
  },
}
