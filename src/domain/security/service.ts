/**
 * Security alerts: raised in the same append as their cause, or on their own where nothing was written,
 * and the brake on guessing credentials that raises one of them.
 * @module
 */
import { systemCaller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { failBeyond } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Entry } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { Limits } from '../../store/limits.ts'
import { toAlert } from './alert.ts'
import { createAlertDecisions } from './alert-decisions.ts'
import { createAttempts } from './attempts.ts'
import { createRepetitions, dayOf, RAISE_PAUSE_MS, type Raised } from './repetitions.ts'
import type { AlertPage, AlertsQuery, AlertType, AllAlertsPage, Severity } from './schemas.ts'
import { findAlerts, securityAlerts } from './store.ts'

const DEFAULT_PAGE_ALERTS = 50
const SUBJECT_MAX_CHARACTERS = 200

/** How grave an alert is, unless whoever raises it says otherwise. */
export const SEVERITY: Readonly<Record<AlertType, Severity>> = {
  double_spend: 'high',
  invalid_mac: 'high',
  envelope_replay: 'high',
  key_revoked_used: 'high',
  clock_rollback: 'medium',
  egress_blocked: 'medium',
  auth_bruteforce: 'medium',
  rate_limit: 'low',
  tree_inconsistency: 'critical',
  disk_full: 'critical',
  aml_finding: 'high',
  webhook_failing: 'medium',
  webhook_recovered: 'low',
}

export interface AlertInput extends Raised {
  /** Unix ms; of several, when the last one happened. */
  readonly at: number
  /** Unix ms at which the first one happened, on the same UTC day; default: `at`. */
  readonly firstAt?: number
  /** How often it happened; default 1. */
  readonly count?: number
}

interface Deps {
  readonly ledger: Pick<Ledger, 'append' | 'transact'>
  readonly database: Database
  readonly limits: Limits
  readonly clock: Clock
  readonly sealing: Pick<Sealing, 'mac'>
  /** False lifts the limits of client addresses. */
  readonly rateLimits: boolean
  readonly logger: { error(details: object, message: string): void }
  /** How long the same alert, if it has no cause of its own, is not written again; default a minute. */
  readonly raisePauseMs?: number
}

export type SecurityService = ReturnType<typeof createSecurity>

/** Its beginning, in whole characters. */
const clip = (subject: string): string =>
  [...subject.slice(0, 2 * SUBJECT_MAX_CHARACTERS)].slice(0, SUBJECT_MAX_CHARACTERS).join('')

/** The row of an alert, to be written in the same append as its cause. Repetitions on one UTC day add up in one row. */
const alertRow = ({ organisation, type, severity, subject, at, firstAt = at, count = 1 }: AlertInput) =>
  securityAlerts.row({
    id: newId('alr', firstAt),
    organisation,
    type,
    severity: severity ?? SEVERITY[type],
    subject: clip(subject),
    day: dayOf(at),
    count,
    first_seen: firstAt,
    last_seen: at,
    decision: null,
    decided_count: null,
    decided_at: null,
    decided_by: null,
    reason: null,
  })

export const createSecurity = (deps: Deps) => {
  const { ledger, database, limits, clock, sealing, rateLimits, logger } = deps
  const repetitions = createRepetitions({
    clock,
    pauseMs: deps.raisePauseMs ?? RAISE_PAUSE_MS,
    async write(raised, sums) {
      const count = sums.reduce((all, sum) => all + sum.count, 0)
      const entry: Entry = { type: 'gate', data: { alert: raised.type, count } }
      const rows = sums.map((sum) => alertRow({ ...raised, ...sum }))
      await ledger.append(systemCaller(raised.organisation, 'security'), (tx) => {
        tx.append(entry)
        for (const row of rows) tx.write(row)
      })
    },
    failed: ({ type }, error) => logger.error({ err: error, alert: type }, 'alert not written'),
  })

  /**
   * Raises an alert whose cause wrote nothing. Nobody needs to wait for it: a failure to write is logged, and it is
   * tried again. The same alert is written at most once a minute, with the number of times that it happened.
   * @returns resolves once it is written, or could not be; at once, where it is written later
   */
  const { raise } = repetitions

  const attempts = createAttempts({
    database,
    clock,
    sealing,
    onRefused: ({ organisation, subject }) => raise({ organisation, type: 'auth_bruteforce', subject }),
  })

  /** @param organisation absent: of all */
  const pageOf = async (query: AlertsQuery, organisation?: string) => {
    const limit = query.limit ?? DEFAULT_PAGE_ALERTS
    const found = await findAlerts(database, {
      organisation,
      severity: query.severity,
      status: query.status,
      since: query.since === undefined ? undefined : Date.parse(query.since),
      before: query.cursor,
      limit: limit + 1,
    })
    const rows = found.slice(0, limit)
    return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null }
  }

  return {
    alertRow,
    raise,

    ...createAlertDecisions({ ledger, clock }),

    /** The brake on guessing credentials, which RATE_LIMITS=off does not lift. */
    guardAttempts: attempts.guard,

    /**
     * Counts a public action of a client address.
     * @throws AppError rate_limited
     */
    async limitAddress(action: string, ip: string, limit: number, windowSeconds: number): Promise<void> {
      if (!rateLimits) return
      const state = await limits.consume(`${action}:${ip}`, { limit, windowSeconds, cost: 1 })
      if (!state.allowed) failBeyond(state, windowSeconds, clock.now())
    },

    /** An organisation's alerts, the latest to start first. */
    async list(organisation: string, query: AlertsQuery): Promise<AlertPage> {
      const { rows, nextCursor } = await pageOf(query, organisation)
      return { alerts: rows.map(toAlert), nextCursor }
    },

    /** Alerts of all organisations, the latest to start first. */
    async listAll(query: AlertsQuery): Promise<AllAlertsPage> {
      const { rows, nextCursor } = await pageOf(query)
      const alerts = rows.map((row) => ({ ...toAlert(row), organisationId: row.organisation }))
      return { alerts, nextCursor }
    },

    /** Writes all alerts that are not written yet. */
    close: repetitions.close,
  }
}
