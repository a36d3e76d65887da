/** All results of an organisation, as pages. @module */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { readWindow } from '../../json/moments.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import { type Logs, named } from '../../ledger/logs.ts'
import type { Database } from '../../store/database.ts'
import { findPlace } from '../../store/pages.ts'
import { qrUrlOf } from './issue.ts'
import { statusOf } from './lookup.ts'
import {
  DEFAULT_PAGE_RESULTS,
  type ListedResult,
  type ResultPage,
  type ResultsQuery,
} from './schemas-list.ts'
import { findResults, RESULTS, type ResultRow } from './store-list.ts'

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly clock: Clock
  readonly baseUrl: string
}

const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

export const createResultList = ({ database, logs, clock, baseUrl }: Deps) => {
  const toListed = (row: ResultRow, log: number): ListedResult => ({
    verificationId: row.id,
    timestamp: iso(row.issued_at),
    status: statusOf(row, clock.now()),
    decision: row.decision,
    reason: row.reason,
    circuitId: row.circuit_id,
    digest: row.digest,
    proofId: row.proof_id,
    ...named(log),
    merkleIndex: row.entry_index,
    qrUrl: qrUrlOf(baseUrl, row.jws_hash),
    expiresAt: isoOrNull(row.expires_at),
    revokedAt: isoOrNull(row.revoked_at),
    consumedAt: isoOrNull(row.spent_at),
  })

  return {
    /** A page of the organisation's results, newest first. @throws AppError invalid_query */
    async list({ organisation }: Caller, query: ResultsQuery): Promise<ResultPage> {
      const { cursor, limit = DEFAULT_PAGE_RESULTS, circuitId, decision, consumed } = query
      const spentKind = CLAIM_KINDS.proofDigestSpent
      const filter = { organisation, window: readWindow(query), circuitId, decision, consumed, spentKind }
      const after = await findPlace(database, RESULTS, organisation, cursor)
      const { rows, next } = await findResults(database, filter, { after, limit })
      const log = await logs.of(organisation)
      return { results: rows.map((row) => toListed(row, log)), nextCursor: next?.id ?? null }
    },
  }
}
