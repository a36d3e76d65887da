/**
 * Consents: what was recorded, for which purposes, and what was withdrawn. Subjects are permanent pseudonyms; what a
 * consent says, and what circuits need of it, is sealed. A record is superseded by later ones of the same subject,
 * controller and purpose, in the order of the ledger. Columns that end in `_at` are Unix milliseconds. Frozen: later
 * changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE consents (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    subject text COLLATE "C" NOT NULL,
    controller_hash bytea NOT NULL CHECK (length(controller_hash) = 32),
    answer text COLLATE "C" NOT NULL,
    receipt_hash bytea NOT NULL CHECK (length(receipt_hash) = 32),
    sealed bytea NOT NULL,
    recorded_at bigint NOT NULL,
    expires_at bigint
  )`,
  'CREATE INDEX consents_series ON consents (organisation, subject, controller_hash, entry_index)',
  `CREATE TABLE consent_purposes (
    consent text COLLATE "C" NOT NULL,
    purpose_hash bytea NOT NULL CHECK (length(purpose_hash) = 32),
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    controller_hash bytea NOT NULL,
    entry_index bigint NOT NULL,
    recorded_at bigint NOT NULL,
    PRIMARY KEY (consent, purpose_hash)
  )`,
  `CREATE INDEX consent_purposes_current
    ON consent_purposes (organisation, subject, purpose_hash, controller_hash, entry_index)`,
  `CREATE TABLE consent_withdrawals (
    consent text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    sealed_reason bytea,
    withdrawn_at bigint NOT NULL
  )`,
] as const

export const consentsMigration = {
  name: '0018-consents',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
