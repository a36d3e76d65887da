/** Keys, terminals, organisations and findings page by page, by state or name. Late payments that an operator rejects. @module */
import type { Knex } from 'knex'

const CONSOLE_LISTS = [
  'CREATE INDEX terminals_in_use ON terminals (organisation, id) WHERE revoked_at IS NULL',
  'CREATE INDEX terminals_revoked ON terminals (organisation, id) WHERE revoked_at IS NOT NULL',
  'CREATE INDEX terminals_by_merchant ON terminals (organisation, merchant, id)',
  // Keys that expired are among the unrevoked ones: only a replaced key expires, so there are few.
  'CREATE INDEX api_keys_unrevoked ON api_keys (organisation, id) WHERE revoked_at IS NULL',
  'CREATE INDEX api_keys_revoked ON api_keys (organisation, id) WHERE revoked_at IS NOT NULL',
  'DROP INDEX organisations_name',
  'CREATE INDEX organisations_by_name ON organisations (lower(name) COLLATE "C", id)',
  'CREATE INDEX organisations_by_subscription_and_name ON organisations (subscription, lower(name) COLLATE "C", id)',
  'CREATE INDEX aml_findings_decided ON aml_findings (organisation, id) WHERE decision_entry IS NOT NULL AND void_at IS NULL',
  'CREATE INDEX aml_findings_void ON aml_findings (organisation, id) WHERE void_at IS NOT NULL',
  // Null for all but late payments that an operator rejected.
  'ALTER TABLE payments ADD COLUMN rejected_at bigint',
  'ALTER TABLE payments ADD COLUMN rejection_reason text',
  `CREATE TABLE payment_rejections (
    payment text COLLATE "C" PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    entry_index bigint NOT NULL,
    rejected_by text COLLATE "C" NOT NULL,
    rejected_at bigint NOT NULL
  )`,
]

export const consoleListsMigration = {
  name: '0025-console-lists',
  async up(knex: Knex): Promise<void> {
    for (const statement of CONSOLE_LISTS) await knex.raw(statement)
  },
}
