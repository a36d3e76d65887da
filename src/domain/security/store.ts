/** Security alerts: one row per organisation, type, subject and UTC day, in which repetitions add up. @module */
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'

export interface AlertRow {
  id: string
  organisation: string
  type: string
  severity: string
  subject: string
  /** Days since 1970-01-01 UTC. */
  day: number
  count: number
  /** Unix ms. */
  first_seen: number
  last_seen: number
  status: string
}

export const securityAlerts = table<AlertRow>(
  'security_alerts',
  ['id', 'organisation', 'type', 'severity', 'subject', 'day', 'count', 'first_seen', 'last_seen', 'status'],
  {
    key: ['organisation', 'type', 'subject', 'day'],
    columns: {
      id: 'first',
      count: 'sum',
      first_seen: 'min',
      last_seen: 'max',
      severity: 'last',
      status: 'first',
    },
  },
)

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
