/** Tokens as an operator looks through them. @module */
import type { Database } from '../../store/database.ts'
import { findPage, joinOne, type PageOf, type Rows } from '../../store/pages.ts'
import type { TokenStatus, TokenType } from './schemas.ts'
import type { KnownToken } from './store.ts'

/** By the time at which they were issued. */
export const TOKENS = { table: 'tokens', orderedBy: 'issued_at' } as const

const USED = 'SELECT used_at FROM token_uses WHERE token_uses.token = tokens.id'
const REVOKED = `SELECT revoked_at, reason AS revocation_reason FROM token_revocations
  WHERE token_revocations.token = tokens.id`

export interface TokenFilter {
  readonly organisation: string
  /** Pseudonym. */
  readonly subject?: string
  readonly type?: TokenType
  readonly status?: TokenStatus
  /** Unix ms. */
  readonly now: number
}

/** What came last counts, as in `statusOf`. */
const STATUS = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN used_at IS NOT NULL THEN 'used'
  WHEN tokens.expires_at <= :now THEN 'expired' ELSE 'active' END`

/** A page of an organisation's tokens. */
export const findTokenPage = (
  database: Database,
  { organisation, subject, type, status, now }: TokenFilter,
  page: PageOf,
): Promise<Rows<KnownToken>> =>
  findPage<KnownToken>(
    database,
    TOKENS,
    {
      within(query) {
        query.where({ 'tokens.organisation': organisation })
        if (subject !== undefined) query.where({ 'tokens.subject': subject })
      },
      select(query) {
        joinOne(query, 'used', USED)
        joinOne(query, 'revoked', REVOKED)
        query.select('tokens.*', 'used_at', 'revoked_at', 'revocation_reason')
      },
      ...((type !== undefined || status !== undefined) && {
        search(query) {
          if (type !== undefined) query.where({ 'tokens.type': type })
          if (status !== undefined) query.whereRaw(`${STATUS} = :status`, { now, status })
        },
      }),
    },
    page,
  )
