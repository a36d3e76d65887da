/** Where sessions were opened, and when they were last used. @module */
import type { Knex } from 'knex'

export const sessionDevicesMigration = {
  name: '0013-session-devices',
  async up(knex: Knex): Promise<void> {
    await knex.raw('ALTER TABLE sessions ADD COLUMN device text, ADD COLUMN last_seen_at bigint')
  },
}
