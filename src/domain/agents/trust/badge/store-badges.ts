/** Badges of agents. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../../store/database.ts'
import { table } from '../../../../store/table.ts'

export interface BadgeRow {
  id: string
  organisation: string
  agent: string
  issued_at: number
  expires_at: number
}

export const badges = table<BadgeRow>('agent_badges', [
  'id',
  'organisation',
  'agent',
  'issued_at',
  'expires_at',
])

export const findBadge = ({ knex }: Database, id: string): Promise<BadgeRow | undefined> =>
  knex<BadgeRow>('agent_badges').where({ id }).first()
