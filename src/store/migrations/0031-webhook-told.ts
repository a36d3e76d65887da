/** What an endpoint of webhooks took last, and whether its owner was told that it fails. @module */
import type { Knex } from 'knex'

const WEBHOOK_TOLD = [
  `ALTER TABLE webhook_endpoints
    ADD COLUMN delivered_at bigint,
    ADD COLUMN told_failing boolean NOT NULL DEFAULT false`,
  'UPDATE webhook_endpoints SET delivered_at = last_delivery_at WHERE last_status BETWEEN 200 AND 299',
  'UPDATE webhook_endpoints SET told_failing = true WHERE failing_since IS NOT NULL AND drops_in_row >= 10',
  // Those that are still to be told of: hardly ever any.
  `CREATE INDEX webhook_endpoints_untold ON webhook_endpoints (id)
    WHERE (failing_since IS NOT NULL AND drops_in_row >= 10) <> told_failing`,
]

export const webhookToldMigration = {
  name: '0031-webhook-told',
  async up(knex: Knex): Promise<void> {
    for (const statement of WEBHOOK_TOLD) await knex.raw(statement)
  },
}
