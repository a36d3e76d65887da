/**
 * What became of agents, what they presented and wanted to do, and what was said to it. Columns that end in `_at` are Unix milliseconds.
 * Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

const STATEMENTS = [
  `CREATE TABLE agent_events (
    agent text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    organisation text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN
      ('enrol', 'activate', 'suspend', 'resume', 'revoke', 'check_domain', 'verify', 'authorise')),
    outcome text COLLATE "C" NOT NULL,
    reasons jsonb NOT NULL,
    authorisation text COLLATE "C",
    action text,
    amount_minor bigint,
    currency text COLLATE "C",
    happened_at bigint NOT NULL,
    PRIMARY KEY (agent, entry_index)
  )`,
] as const

export const agentTrustMigration = {
  name: '0020-agent-trust',
  async up(knex: Knex): Promise<void> {
    for (const statement of STATEMENTS) await knex.raw(statement)
  },
}
