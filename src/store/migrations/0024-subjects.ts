/** Hybrid tokens as a list, and by subject; what earlier versions issued is found by subject once it was read. @module */
import type { Knex } from 'knex'

const SUBJECTS = [
  // Null until what is sealed was read, as of tokens and tickets; tickets that name nobody have the empty text.
  'ALTER TABLE hybrid_tokens ADD COLUMN subject text COLLATE "C"',
  'CREATE INDEX hybrid_tokens_listed ON hybrid_tokens (organisation, issued_at, id)',
  'CREATE INDEX hybrid_tokens_by_subject ON hybrid_tokens (organisation, subject, issued_at, id) WHERE subject IS NOT NULL',
  // What is still to be read: empty once all was.
  'CREATE INDEX tokens_unread ON tokens (organisation, id) WHERE subject IS NULL',
  'CREATE INDEX tickets_unread ON tickets (organisation, id) WHERE subject IS NULL',
  'CREATE INDEX hybrid_tokens_unread ON hybrid_tokens (organisation, id) WHERE subject IS NULL',
]

export const subjectsMigration = {
  name: '0024-subjects',
  async up(knex: Knex): Promise<void> {
    for (const statement of SUBJECTS) await knex.raw(statement)
  },
}
