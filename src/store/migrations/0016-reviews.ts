/** People as a list, cases that wait for review, and decisions that wait for a second reviewer. @module */
import type { Knex } from 'knex'

const REVIEWS = [
  'ALTER TABLE kyc_subjects ADD COLUMN review_entry bigint',
  `CREATE INDEX kyc_subjects_listed ON kyc_subjects (organisation, latest_entry)
    WHERE latest_entry IS NOT NULL AND erased_at IS NULL`,
  `CREATE INDEX kyc_subjects_in_review ON kyc_subjects (organisation, review_entry)
    WHERE review_entry IS NOT NULL AND erased_at IS NULL`,
  `CREATE TABLE review_settings (
    organisation text COLLATE "C" PRIMARY KEY,
    second_reviewer boolean NOT NULL,
    changed_at bigint NOT NULL
  )`,
  // The reason is sealed under the key of the person whom it is about.
  `CREATE TABLE review_proposals (
    organisation text COLLATE "C" NOT NULL,
    item text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    entry_index bigint NOT NULL,
    verdict text COLLATE "C" NOT NULL,
    sealed_reason bytea NOT NULL,
    proposed_by text COLLATE "C" NOT NULL,
    proposed_at bigint NOT NULL,
    PRIMARY KEY (organisation, item)
  )`,
]

export const reviewsMigration = {
  name: '0016-reviews',
  async up(knex: Knex): Promise<void> {
    for (const statement of REVIEWS) await knex.raw(statement)
  },
}
