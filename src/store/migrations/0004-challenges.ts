/** Challenges to prove something, which somebody else answers. @module */
import type { Knex } from 'knex'

const CHALLENGES = [
  `CREATE TABLE proof_challenges (
    id text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    key_id text COLLATE "C",
    proof_id text COLLATE "C" NOT NULL UNIQUE,
    circuit_id text COLLATE "C" NOT NULL,
    nonce text COLLATE "C" NOT NULL,
    audience text NOT NULL,
    statement jsonb NOT NULL,
    issuers jsonb NOT NULL,
    tries smallint NOT NULL,
    reason_codes jsonb NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    UNIQUE (organisation, nonce)
  )`,
  'CREATE INDEX proof_challenges_open ON proof_challenges (organisation, expires_at)',
  'CREATE INDEX proof_challenges_ended ON proof_challenges (expires_at)',
]

export const challengesMigration = {
  name: '0004-challenges',
  async up(knex: Knex): Promise<void> {
    for (const statement of CHALLENGES) await knex.raw(statement)
  },
}
