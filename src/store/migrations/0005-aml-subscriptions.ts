/** People who are screened again when lists change, what was found of them, and what was decided. @module */
import type { Knex } from 'knex'

const QUERIES = [
  // `subject` and `generation` are those of kyc_subjects, whose key sealed the rest. Rows change with every list, so pages keep room.
  `CREATE TABLE aml_subscriptions (
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    entry_index bigint NOT NULL,
    sealed bytea NOT NULL,
    subscribed_at bigint NOT NULL,
    ended_at bigint,
    lists_version bigint NOT NULL,
    comparison integer NOT NULL,
    screened_at bigint NOT NULL,
    leased_until bigint NOT NULL,
    PRIMARY KEY (organisation, subject, generation)
  ) WITH (fillfactor = 70)`,
  'CREATE INDEX aml_subscriptions_due ON aml_subscriptions (lists_version, comparison) WHERE ended_at IS NULL',
  // Sealed: entry, list, score and whom it may be.
  `CREATE TABLE aml_findings (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    entry_index bigint NOT NULL,
    sealed bytea NOT NULL,
    found_at bigint NOT NULL,
    decision_entry bigint,
    void_at bigint,
    void_reason text COLLATE "C"
  )`,
  'CREATE INDEX aml_findings_organisation ON aml_findings (organisation, id)',
  'CREATE INDEX aml_findings_open ON aml_findings (organisation, id) WHERE decision_entry IS NULL AND void_at IS NULL',
  'CREATE INDEX aml_findings_subject ON aml_findings (organisation, subject, generation)',
  `CREATE TABLE aml_decisions (
    entry_index bigint PRIMARY KEY,
    finding text COLLATE "C" NOT NULL,
    sealed bytea NOT NULL,
    decided_at bigint NOT NULL
  )`,
] as const

export const amlSubscriptionsMigration = {
  name: '0005-aml-subscriptions',
  async up(knex: Knex): Promise<void> {
    for (const query of QUERIES) await knex.raw(query)
  },
}
