/** How many events in a row an endpoint of webhooks has dropped: it is ten of them that raise an alert. @module */
import type { Knex } from 'knex'

const DROPS_IN_ROW = [
  'ALTER TABLE webhook_endpoints ADD COLUMN drops_in_row bigint NOT NULL DEFAULT 0',
  // Their alert was raised at the first.
  'UPDATE webhook_endpoints SET drops_in_row = 10 WHERE failing_since IS NOT NULL',
]

export const dropsInRowMigration = {
  name: '0030-drops-in-row',
  async up(knex: Knex): Promise<void> {
    for (const statement of DROPS_IN_ROW) await knex.raw(statement)
  },
}
