/** When API keys and terminals were last used, and what terminals last told of themselves. @module */
import type { Knex } from 'knex'

const LAST_TOLD = [
  'ALTER TABLE api_keys ADD COLUMN last_used_at bigint',
  `ALTER TABLE terminals
    ADD COLUMN last_seen_at bigint,
    ADD COLUMN queued_count integer,
    ADD COLUMN queued_sum jsonb,
    ADD COLUMN version text,
    ADD COLUMN clock_skew_ms bigint`,
]

export const lastToldMigration = {
  name: '0014-last-told',
  async up(knex: Knex): Promise<void> {
    for (const statement of LAST_TOLD) await knex.raw(statement)
  },
}
