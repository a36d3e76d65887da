/** Results, proofs, tokens, tickets and consents as lists: newest first, by circuit or subject; tickets are revoked. @module */
import type { Knex } from 'knex'

const ISSUED_LISTS = [
  'CREATE INDEX verifications_listed ON verifications (organisation, issued_at, id)',
  'CREATE INDEX verifications_by_circuit ON verifications (organisation, circuit_id, issued_at, id)',
  'CREATE INDEX proofs_listed ON proofs (organisation, created_at, id)',
  'CREATE INDEX proofs_by_circuit ON proofs (organisation, circuit_id, created_at, id)',
  // Null for those of before, whose subjects stand in what is sealed alone.
  'ALTER TABLE tokens ADD COLUMN subject text COLLATE "C"',
  'CREATE INDEX tokens_listed ON tokens (organisation, issued_at, id)',
  'CREATE INDEX tokens_by_subject ON tokens (organisation, subject, issued_at, id) WHERE subject IS NOT NULL',
  'ALTER TABLE tickets ADD COLUMN subject text COLLATE "C"',
  'CREATE INDEX tickets_listed ON tickets (organisation, issued_at, id)',
  'CREATE INDEX tickets_by_subject ON tickets (organisation, subject, issued_at, id) WHERE subject IS NOT NULL',
  `CREATE TABLE ticket_revocations (
    ticket text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    reason text,
    revoked_at bigint NOT NULL
  )`,
  'CREATE INDEX consents_by_subject ON consents (organisation, subject, entry_index, id)',
]

export const issuedListsMigration = {
  name: '0015-issued-lists',
  async up(knex: Knex): Promise<void> {
    for (const statement of ISSUED_LISTS) await knex.raw(statement)
  },
}
