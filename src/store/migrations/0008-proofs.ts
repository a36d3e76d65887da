/**
 * Proofs that were made or handed in, and nullifiers that nobody may spend any more; what was spent is a claim in the
 * ledger. No witness is kept. Columns that end in `_at` are Unix milliseconds. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  // `proof` is zk1, with the public signals; `context` is {statement, nonce}; null where it isn't known what the proof's ctx binds.
  `CREATE TABLE proofs (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    circuit_id text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    proof text COLLATE "C" NOT NULL,
    public_signals jsonb NOT NULL,
    context jsonb,
    created_at bigint NOT NULL,
    expires_at bigint
  )`,
  'CREATE INDEX proofs_digest ON proofs (organisation, digest, id)',
  // Whoever revoked it: a nullifier counts everywhere.
  `CREATE TABLE revoked_nullifiers (
    circuit_id text COLLATE "C" NOT NULL,
    nullifier text COLLATE "C" NOT NULL,
    organisation text COLLATE "C" NOT NULL,
    revoked_at bigint NOT NULL,
    PRIMARY KEY (circuit_id, nullifier)
  )`,
] as const

export const proofsMigration = {
  name: '0008-proofs',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
