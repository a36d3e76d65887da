/** Alerts of all organisations as a list for operators: newest first, by state. @module */
import type { Knex } from 'knex'

export const allAlertsMigration = {
  name: '0020-all-alerts',
  async up(knex: Knex): Promise<void> {
    await knex.raw('CREATE INDEX security_alerts_of_all ON security_alerts (state, id)')
  },
}
