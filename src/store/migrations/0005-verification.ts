/**
 * Signed results, their revocations, and what organisations use by UTC day. Neither data nor salts are kept.
 * Columns that end in `_at` are Unix milliseconds. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE verifications (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    leaf_hash bytea NOT NULL CHECK (length(leaf_hash) = 32),
    decision text COLLATE "C" NOT NULL CHECK (decision IN ('YES', 'NO')),
    reason text COLLATE "C",
    digest text COLLATE "C" NOT NULL,
    circuit_id text COLLATE "C" NOT NULL,
    proof_id text COLLATE "C",
    jws text COLLATE "C" NOT NULL,
    jws_hash bytea NOT NULL UNIQUE CHECK (length(jws_hash) = 32),
    issued_at bigint NOT NULL,
    expires_at bigint
  )`,
  'CREATE INDEX verifications_organisation ON verifications (organisation, id)',
  `CREATE TABLE verification_revocations (
    verification text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    revoked_at bigint NOT NULL
  )`,
  `CREATE TABLE usage_days (
    organisation text COLLATE "C" NOT NULL,
    day integer NOT NULL,
    category text COLLATE "C" NOT NULL,
    results bigint NOT NULL,
    proofs bigint NOT NULL,
    proof_bytes bigint NOT NULL,
    PRIMARY KEY (organisation, day, category)
  )`,
] as const

export const verificationMigration = {
  name: '0005-verification',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
