/** What somebody decided on alerts, alerts that are muted, and since when webhook endpoints fail. @module */
import type { Knex } from 'knex'

const ALERT_DECISIONS = [
  // Servers of earlier versions, which may run beside those of this one, go on writing it.
  "ALTER TABLE security_alerts ALTER COLUMN status SET DEFAULT 'open'",
  `ALTER TABLE security_alerts
    ADD COLUMN decision text COLLATE "C" CHECK (decision IN ('acknowledged', 'resolved')),
    ADD COLUMN decided_count bigint,
    ADD COLUMN decided_at bigint,
    ADD COLUMN decided_by text COLLATE "C",
    ADD COLUMN reason text,
    ADD COLUMN state text COLLATE "C" NOT NULL GENERATED ALWAYS AS
      (CASE WHEN decision IS NULL OR (decision = 'resolved' AND count > decided_count) THEN 'open'
        ELSE decision END) STORED`,
  'CREATE INDEX security_alerts_state ON security_alerts (organisation, state, id)',
  `CREATE TABLE alert_mutes (
    organisation text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    day integer NOT NULL,
    muted_at bigint NOT NULL,
    muted_by text COLLATE "C" NOT NULL,
    reason text,
    PRIMARY KEY (organisation, type, subject)
  )`,
  'ALTER TABLE webhook_endpoints ADD COLUMN failing_since bigint',
]

export const alertDecisionsMigration = {
  name: '0011-alert-decisions',
  async up(knex: Knex): Promise<void> {
    for (const statement of ALERT_DECISIONS) await knex.raw(statement)
  },
}
