/**
 * People who were checked, what was found, and the credentials that they got. What is known of a person is sealed under a
 * key of the person's own, whose destruction makes it unreadable. Columns that end in `_at` are Unix milliseconds.
 * Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE kyc_subjects (
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    sealed_key text COLLATE "C" NOT NULL,
    latest_entry bigint,
    conclusive_entry bigint,
    erased_at bigint,
    PRIMARY KEY (organisation, subject, generation)
  )`,
  `CREATE TABLE kyc_checks (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    entry_index bigint NOT NULL,
    sealed bytea NOT NULL,
    checked_at bigint NOT NULL
  )`,
  'CREATE INDEX kyc_checks_subject ON kyc_checks (organisation, subject, generation, entry_index)',
  `CREATE TABLE kyc_credentials (
    digest text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    entry_index bigint NOT NULL,
    element text COLLATE "C" NOT NULL
  )`,
] as const

export const kycMigration = {
  name: '0021-kyc',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
