/**
 * Watch lists and what people were found to be on them. Columns that end in `_at` are Unix milliseconds.
 * Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  // What was loaded, a version for each change; the last one counts. `directory` is what was read of AML_LISTS, as a hash.
  `CREATE TABLE aml_snapshots (
    version bigint PRIMARY KEY,
    sha256 text COLLATE "C" NOT NULL,
    directory text COLLATE "C",
    lists jsonb NOT NULL,
    loaded_at bigint NOT NULL
  )`,
  // The entries of a list, as compressed JSON lines in parts. Written before the version that names them.
  `CREATE TABLE aml_contents (
    content text COLLATE "C" NOT NULL,
    part integer NOT NULL,
    bytes bytea NOT NULL,
    staged_at bigint NOT NULL,
    PRIMARY KEY (content, part)
  )`,
  // The last outcome of each type of check. `subject` is a keyed pseudonym; no names.
  `CREATE TABLE aml_outcomes (
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    check_type text COLLATE "C" NOT NULL,
    result text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    risk_score integer NOT NULL,
    list_version text COLLATE "C" NOT NULL,
    checked_at bigint NOT NULL,
    entry_index bigint NOT NULL,
    PRIMARY KEY (organisation, subject, check_type)
  )`,
] as const

export const amlMigration = {
  name: '0022-aml',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
