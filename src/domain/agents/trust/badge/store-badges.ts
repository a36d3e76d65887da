/** Badges of agents. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../../store/database.ts'
import { integer, type RowOf, table, text } from '../../../../store/table.ts'

export const badges = table('agent_badges', {
  id: text().key(),
  organisation: text(),
  agent: text(),
  issued_at: integer(),
  expires_at: integer(),
})

export type BadgeRow = RowOf<typeof badges>

export const findBadge = ({ knex }: Database, id: string): Promise<BadgeRow | undefined> =>
  knex<BadgeRow>('agent_badges').where({ id }).first()
