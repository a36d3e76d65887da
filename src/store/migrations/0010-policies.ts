/**
 * Policies of organisations, every version of them. Columns that end in `_at` are Unix milliseconds.
 * Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE policies (
    organisation text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    rules jsonb NOT NULL,
    entry_index bigint NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (organisation, name, version)
  )`,
] as const

export const policiesMigration = {
  name: '0010-policies',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
