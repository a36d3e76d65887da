/** Security alerts: one row per organisation, type, subject and UTC day, in which repetitions add up. @module */
import type { Knex } from 'knex'
import { idsFrom } from '../../ids.ts'
import type { Database } from '../../store/database.ts'
import { integer, type RowOf, table, text } from '../../store/table.ts'
import type { AlertStatus } from './schemas.ts'

const DAY_MS = 86_400_000

type Decision = Exclude<AlertStatus, 'open' | 'muted'>

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
    decision: text<Decision>().null(),
    /** The count that the decision was about: one more, and what was resolved is open again. */
    decided_count: integer().null(),
    decided_at: integer().null(),
    /** An account or API key. */
    decided_by: text().null(),
    reason: text().null(),
    /** Follows from the decision and the counts. */
    state: text<Exclude<AlertStatus, 'muted'>>().filled(),
    /** What versions that knew no decisions wrote: `open`. */
    status: text().filled(),
  },
  ['organisation', 'type', 'subject', 'day'],
)

export type AlertRow = RowOf<typeof securityAlerts>

/** Alerts of a type about a subject that nobody wants to see, from a day on. */
export const alertMutes = table('alert_mutes', {
  organisation: text().key(),
  type: text().key(),
  subject: text().key(),
  /** Days since 1970-01-01 UTC. */
  day: integer(),
  /** Unix ms. */
  muted_at: integer(),
  /** An account or API key. */
  muted_by: text(),
  reason: text().null(),
})

export type AlertMuteRow = RowOf<typeof alertMutes>

/** An alert, and what mutes it. */
export type KnownAlert = AlertRow & {
  readonly muted_from: number | null
  readonly muted_at: number | null
  readonly muted_by: string | null
  readonly mute_reason: string | null
}

export interface AlertFilter {
  /** Absent: of all. */
  organisation?: string
  severity?: string
  status?: AlertStatus
  /** Unix ms: alerts seen at that time or later. */
  since?: number
  /** Id of the last alert of the previous page. */
  before?: string
  limit: number
}

const knownAlerts = (knex: Knex, organisation?: string) => {
  const query = knex('security_alerts AS a')
    .leftJoin('alert_mutes AS m', (on) => {
      on.on('m.organisation', 'a.organisation').on('m.type', 'a.type').on('m.subject', 'a.subject')
      on.on('m.day', '<=', 'a.day')
    })
    .select('a.*', 'm.day AS muted_from', 'm.muted_at', 'm.muted_by', 'm.reason AS mute_reason')
  return organisation === undefined ? query : query.where('a.organisation', organisation)
}

/** @param at Unix ms, also of before 1970, when nothing was seen */
const startOfDay = (at: number): number => Math.max(0, Math.floor(at / DAY_MS) * DAY_MS)

/** Alerts of an organisation or of all, the latest to start first. */
export const findAlerts = async (
  { knex }: Database,
  { organisation, severity, status, since, before, limit }: AlertFilter,
): Promise<KnownAlert[]> => {
  const query = knownAlerts(knex, organisation).orderBy('a.id', 'desc').limit(limit)
  if (severity !== undefined) query.where('a.severity', severity)
  if (status === 'muted') query.whereNotNull('m.day')
  else if (status !== undefined) query.where('a.state', status).whereNull('m.day')
  // What was seen on a day began on that day, and ids tell when: nothing of earlier days is read.
  if (since !== undefined)
    query.where('a.last_seen', '>=', since).where('a.id', '>=', idsFrom('alr', startOfDay(since)))
  if (before !== undefined) query.where('a.id', '<', before)
  return query
}

export const findAlert = (trx: Knex, organisation: string, id: string): Promise<KnownAlert | undefined> =>
  knownAlerts(trx, organisation).where('a.id', id).first()

export type AlertDecision = Pick<
  AlertRow,
  'decision' | 'decided_count' | 'decided_at' | 'decided_by' | 'reason'
>

export const updateAlert = async (trx: Knex, id: string, decision: AlertDecision): Promise<void> => {
  await trx<AlertRow>('security_alerts').where({ id }).update(decision)
}

/** Mutes from the earlier day, where it is muted already. */
export const insertMute = async (trx: Knex, mute: AlertMuteRow): Promise<void> => {
  await trx<AlertMuteRow>('alert_mutes')
    .insert(mute)
    .onConflict(['organisation', 'type', 'subject'])
    .merge({ ...mute, day: trx.raw('least(alert_mutes.day, excluded.day)') })
}

/** Ends what mutes an alert. Those that were quiet meanwhile, this one aside, are resolved. */
export const deleteMute = async (
  trx: Knex,
  { id, organisation, type, subject, muted_from }: KnownAlert,
  { at, by }: { readonly at: number; readonly by: string },
): Promise<void> => {
  const same = { organisation, type, subject }
  await trx<AlertMuteRow>('alert_mutes').where(same).delete()
  await trx<AlertRow>('security_alerts')
    .where({ ...same, state: 'open' })
    .where('day', '>=', muted_from ?? 0)
    .whereNot({ id })
    .update({
      decision: 'resolved',
      decided_count: trx.ref('count') as never,
      decided_at: at,
      decided_by: by,
      reason: null,
    })
}
