/** Somebody's consents, as pages. @module */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { type Logs, named } from '../../ledger/logs.ts'
import type { Database } from '../../store/database.ts'
import { findPlace } from '../../store/pages.ts'
import {
  type ConsentPage,
  type ConsentsQuery,
  DEFAULT_PAGE_CONSENTS,
  type ListedConsent,
} from './schemas-list.ts'
import {
  categoriesOf,
  controllerOf,
  presentOf,
  purposesOf,
  type Standing,
  statusAt,
  supersededPurposes,
} from './standing.ts'
import { CONSENTS, findConsents, type KnownConsent } from './store.ts'

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly clock: Clock
  readonly pseudonymOf: (organisation: string, subjectId: string) => Promise<string>
  readonly standingsOf: (organisation: string, rows: readonly KnownConsent[]) => Promise<Standing[]>
}

const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

/** @param now Unix ms */
const toListed = (standing: Standing, log: number, now: number): ListedConsent => {
  const { row, withdrawalReason } = standing
  const at = presentOf(standing, now)
  return {
    consentId: row.id,
    status: statusAt(standing, at),
    controller: controllerOf(standing),
    purposes: purposesOf(standing),
    supersededPurposes: supersededPurposes(standing, at),
    dataCategories: categoriesOf(standing),
    recordedAt: iso(row.recorded_at),
    expiresAt: isoOrNull(row.expires_at),
    withdrawnAt: isoOrNull(row.withdrawn_at),
    withdrawalReason: withdrawalReason ?? null,
    ...named(log),
    merkleIndex: row.entry_index,
  }
}

export const createConsentList = ({ database, logs, clock, pseudonymOf, standingsOf }: Deps) => ({
  /** A page of the consents of one subject, newest first. @throws AppError invalid_query */
  async list({ organisation }: Caller, query: ConsentsQuery): Promise<ConsentPage> {
    const { cursor, limit = DEFAULT_PAGE_CONSENTS } = query
    const subject = await pseudonymOf(organisation, query.subject)
    const after = await findPlace(database, CONSENTS, organisation, cursor)
    const { rows, next } = await findConsents(database, organisation, subject, { after, limit })
    const standings = await standingsOf(organisation, rows)
    const log = await logs.of(organisation)
    const now = clock.now()
    return {
      consents: standings.map((standing) => toListed(standing, log, now)),
      nextCursor: next?.id ?? null,
    }
  },
})
