/** What is due is found by its time, not by a look at each endpoint for which something waits. @module */
import type { Knex } from 'knex'

export const dueDeliveriesMigration = {
  name: '0032-due-deliveries',
  async up(knex: Knex): Promise<void> {
    await knex.raw('CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at)')
  },
}
