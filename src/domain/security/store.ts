/** Security alerts: one row per organisation, type, subject and UTC day, in which repetitions add up. @module */
import type { Database } from '../../store/database.ts'
import { integer, type RowOf, table, text } from '../../store/table.ts'

export const securityAlerts = table(
  'security_alerts',
  {
    id: text().key().merge('first'),
    organisation: text(),
    type: text(),
    severity: text().merge('last'),
    subject: text(),
    /** Days since 1970-01-01 UTC. */
    day: integer(),
    count: integer().merge('sum'),
    /** Unix ms. */
    first_seen: integer().merge('min'),
    last_seen: integer().merge('max'),
    status: text().merge('first'),
  },
  ['organisation', 'type', 'subject', 'day'],
)

export type AlertRow = RowOf<typeof securityAlerts>

export interface AlertFilter {
  organisation: string
  severity?: string
  /** Unix ms: alerts seen at that time or later. */
  since?: number
  /** Id of the last alert of the previous page. */
  before?: string
  limit: number
}

/** An organisation's alerts, the latest to start first. */
export const findAlerts = async (
  { knex }: Database,
  { organisation, severity, since, before, limit }: AlertFilter,
): Promise<AlertRow[]> => {
  const query = knex<AlertRow>('security_alerts').where({ organisation }).orderBy('id', 'desc').limit(limit)
  if (severity !== undefined) query.where({ severity })
  if (since !== undefined) query.where('last_seen', '>=', since)
  if (before !== undefined) query.where('id', '<', before)
  return query
}
