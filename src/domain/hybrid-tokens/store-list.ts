/** Hybrid tokens as an operator looks through them. @module */
import type { Database } from '../../store/database.ts'
import { findPage, joinOne, type PageOf, type Rows } from '../../store/pages.ts'
import type { KnownHybridToken } from './store.ts'

/** By the time at which they were issued. */
export const HYBRID_TOKENS = { table: 'hybrid_tokens', orderedBy: 'issued_at' } as const

const REVOKED = `SELECT revoked_at, reason AS revocation_reason FROM hybrid_token_revocations
  WHERE hybrid_token_revocations.organisation = hybrid_tokens.organisation
    AND hybrid_token_revocations.token = hybrid_tokens.id`

export interface HybridTokenFilter {
  readonly organisation: string
  /** Pseudonym. */
  readonly subject?: string
  readonly status?: 'active' | 'used' | 'expired' | 'revoked'
  /** Unix ms. */
  readonly now: number
}

/** What came last counts, as in `statusOf`; they are never used up. */
const STATUS = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
  WHEN hybrid_tokens.expires_at <= :now THEN 'expired' ELSE 'active' END`

/** A page of an organisation's hybrid tokens. */
export const findHybridTokenPage = (
  database: Database,
  { organisation, subject, status, now }: HybridTokenFilter,
  page: PageOf,
): Promise<Rows<KnownHybridToken>> =>
  findPage<KnownHybridToken>(
    database,
    HYBRID_TOKENS,
    {
      within(query) {
        query.where({ 'hybrid_tokens.organisation': organisation })
        if (subject !== undefined) query.where({ 'hybrid_tokens.subject': subject })
      },
      select(query) {
        joinOne(query, 'revoked', REVOKED)
        query.select('hybrid_tokens.*', 'revoked_at', 'revocation_reason')
      },
      ...(status !== undefined && {
        search(query) {
          query.whereRaw(`${STATUS} = :status`, { now, status })
        },
      }),
    },
    page,
  )
