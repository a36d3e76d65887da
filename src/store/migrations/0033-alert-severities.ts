/** Alerts by severity, of one organisation and of all: newest first. @module */
import type { Knex } from 'knex'

const ALERT_SEVERITIES = [
  'CREATE INDEX security_alerts_severity ON security_alerts (organisation, severity, id)',
  'CREATE INDEX security_alerts_severity_of_all ON security_alerts (severity, id)',
]

export const alertSeveritiesMigration = {
  name: '0033-alert-severities',
  async up(knex: Knex): Promise<void> {
    for (const statement of ALERT_SEVERITIES) await knex.raw(statement)
  },
}
