/**
 * Security alerts: raised in the same append as their cause, or on their own where nothing was written,
 * and the brake on guessing credentials that raises one of them.
 * @module
 */
import { LRUCache } from 'lru-cache'
import { systemCaller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Entry } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { Limits } from '../../store/limits.ts'
import { toAlert } from './alert.ts'
import { createAlertDecisions } from './alert-decisions.ts'
import { createAttempts } from './attempts.ts'
import type { AlertPage, AlertsQuery, AlertType, AllAlertsPage, Severity } from './schemas.ts'
import { findAlerts, securityAlerts } from './store.ts'

const DAY_MS = 24 * 3_600_000
const DEFAULT_PAGE_ALERTS = 50
const SUBJECT_MAX_CHARACTERS = 200
/** The same alert without a cause of its own is written at most this often; what lies between is counted. */
const RAISE_PAUSE_MS = 60_000
/** Subjects whose pauses are remembered; beyond it the oldest are forgotten and may be written once more. */
const MAX_PAUSES = 10_000

const SEVERITY: Readonly<Record<AlertType, Severity>> = {
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

export interface AlertInput {
  readonly organisation: string
  readonly type: AlertType
  /** Default: what its type usually deserves. */
  readonly severity?: Severity
  /** Id of a terminal, key or account, or an address; at most 200 characters are kept. */
  readonly subject: string
  /** Unix ms. */
  readonly at: number
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
}

export type SecurityService = ReturnType<typeof createSecurity>

/** The row of an alert, to be written in the same append as its cause. Repetitions on one UTC day add up in one row. */
const alertRow = ({ organisation, type, severity, subject, at, count = 1 }: AlertInput) =>
  securityAlerts.row({
    id: newId('alr', at),
    organisation,
    type,
    severity: severity ?? SEVERITY[type],
    subject: subject.slice(0, SUBJECT_MAX_CHARACTERS),
    day: Math.floor(at / DAY_MS),
    count,
    first_seen: at,
    last_seen: at,
    decision: null,
    decided_count: null,
    decided_at: null,
    decided_by: null,
    reason: null,
  })

export const createSecurity = ({ ledger, database, limits, clock, sealing, rateLimits, logger }: Deps) => {
  const pauses = new LRUCache<string, { until: number; suppressed: number }>({ max: MAX_PAUSES })
  const pending = new Set<Promise<void>>()

  /** @returns how often the alert happened since it was last written, or 0 while its pause lasts */
  const due = ({ organisation, type, subject, at }: AlertInput): number => {
    const key = `${organisation}/${type}/${subject}`
    const pause = pauses.peek(key)
    if (pause && at < pause.until) {
      pause.suppressed++
      return 0
    }
    pauses.set(key, { until: at + RAISE_PAUSE_MS, suppressed: 0 })
    return 1 + (pause?.suppressed ?? 0)
  }

  /**
   * Raises an alert whose cause wrote nothing. Nobody needs to wait for it: a failure to write is logged.
   * The same alert is written at most once a minute.
   * @returns resolves once it is written, or could not be
   */
  const raise = (input: Omit<AlertInput, 'at' | 'count'>): Promise<void> => {
    const at = clock.now()
    const count = due({ ...input, at })
    if (count === 0) return Promise.resolve()
    const entry: Entry = { type: 'gate', data: { alert: input.type, count } }
    const row = alertRow({ ...input, at, count })
    const written: Promise<void> = ledger
      .append(systemCaller(input.organisation, 'security'), (tx) => {
        tx.append(entry)
        tx.write(row)
      })
      .catch((error: unknown) => logger.error({ err: error, alert: input.type }, 'alert not written'))
      .finally(() => pending.delete(written))
    pending.add(written)
    return written
  }

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
      const { allowed, remaining, resetSeconds } = await limits.consume(`${action}:${ip}`, {
        limit,
        windowSeconds,
        cost: 1,
      })
      if (allowed) return
      const resetAt = Math.ceil(clock.now() / 1000) + resetSeconds
      throw new AppError('rate_limited', {
        retryAfter: Math.max(1, resetSeconds),
        limit: { limit, windowSeconds, remaining, resetSeconds, resetAt },
      })
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

    /** Waits for alerts that are being written. */
    async close(): Promise<void> {
      await Promise.all(pending)
    },
  }
}
