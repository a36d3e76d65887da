/** Results as an operator looks through them. @module */
import type { Window } from '../../json/moments.ts'
import type { Database } from '../../store/database.ts'
import { findPage, joinOne, type PageOf, type Rows, withinWindow } from '../../store/pages.ts'
import type { VerificationStanding } from './store.ts'

/** By the time at which they were issued. */
export const RESULTS = { table: 'verifications', orderedBy: 'issued_at' } as const

const COLUMNS = [
  'id',
  'entry_index',
  'decision',
  'reason',
  'digest',
  'circuit_id',
  'proof_id',
  'jws_hash',
  'issued_at',
  'expires_at',
] as const

const REVOKED = `SELECT revoked_at FROM verification_revocations AS revocation
  WHERE revocation.verification = verifications.id`

const spentBy = (kind: string): string => `SELECT claim.at AS spent_at FROM ledger_claims AS claim
  WHERE claim.organisation = verifications.organisation AND claim.kind = '${kind}'
    AND claim.key = verifications.digest`

export interface ResultRow extends Pick<VerificationStanding, (typeof COLUMNS)[number] | 'revoked_at'> {
  /** When its proof was spent. */
  readonly spent_at: number | null
}

export interface ResultFilter {
  readonly organisation: string
  readonly window: Window
  readonly circuitId?: string
  readonly decision?: 'YES' | 'NO'
  readonly consumed?: boolean
  /** Kind of the claim that spending a digest leaves. */
  readonly spentKind: string
}

/** A page of an organisation's results. */
export const findResults = (
  database: Database,
  { organisation, window, circuitId, decision, consumed, spentKind }: ResultFilter,
  page: PageOf,
): Promise<Rows<ResultRow>> => {
  const isSearched = decision !== undefined || consumed !== undefined
  return findPage<ResultRow>(
    database,
    RESULTS,
    {
      within(query) {
        query.where({ 'verifications.organisation': organisation })
        if (circuitId !== undefined) query.where({ 'verifications.circuit_id': circuitId })
        withinWindow(query, RESULTS, window)
      },
      select(query) {
        joinOne(query, 'revoked', REVOKED)
        joinOne(query, 'spent', spentBy(spentKind))
        query.select(...COLUMNS.map((column) => `verifications.${column}`), 'revoked_at', 'spent_at')
      },
      ...(isSearched && {
        search(query) {
          if (decision !== undefined) query.where({ 'verifications.decision': decision })
          if (consumed === true) query.whereNotNull('spent_at')
          if (consumed === false) query.whereNull('spent_at')
        },
      }),
    },
    page,
  )
}
