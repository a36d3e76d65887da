/**
 * Tickets for QR codes, and which of them were used up. What a ticket says, and whom it is about, is sealed.
 * Columns that end in `_at` are Unix milliseconds. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE tickets (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    circuit_id text COLLATE "C",
    single_use boolean NOT NULL,
    sealed bytea NOT NULL,
    issued_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    UNIQUE (organisation, digest)
  )`,
  `CREATE TABLE ticket_spends (
    ticket text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    spent_at bigint NOT NULL
  )`,
] as const

export const ticketsMigration = {
  name: '0017-tickets',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
