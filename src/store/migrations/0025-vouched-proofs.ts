/**
 * Which organisation issued what a nullifier belongs to; what the chat shows of a proof, and which key a nullifier speaks for
 * there. Columns that end in `_at` are Unix milliseconds. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  // Written as a thing is issued; holds nothing else that would lead to it.
  `CREATE TABLE issued_nullifiers (
    circuit_id text COLLATE "C" NOT NULL,
    nullifier text COLLATE "C" NOT NULL,
    organisation text COLLATE "C" NOT NULL,
    PRIMARY KEY (circuit_id, nullifier)
  )`,
  // {circuit_id, statement, issuer, checked_at}; null where there was none. That one of the sender's own making was checked, as the
  // column before said, is told no more.
  'ALTER TABLE chat_messages ADD COLUMN proof jsonb',
  'ALTER TABLE chat_messages DROP COLUMN proof_checked',
  // `proof` is a keyed hash of circuit and nullifier.
  `CREATE TABLE chat_proofs (
    proof bytea PRIMARY KEY CHECK (length(proof) = 16),
    fingerprint text COLLATE "C" NOT NULL,
    used_at bigint NOT NULL
  )`,
  'CREATE INDEX chat_proofs_used_at ON chat_proofs (used_at)',
] as const

export const vouchedProofsMigration = {
  name: '0025-vouched-proofs',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
