/** What is said of a token that was presented. @module */
import { iso } from '../../clock.ts'
import type { Facts } from '../../rules/expectation.ts'
import type { TokenReason, TokenStatus, TokenVerdict } from './schemas.ts'
import type { TokenPayload } from './sealed-token.ts'
import type { KnownToken } from './store.ts'

/** What came last counts. @param now Unix ms */
export const statusOf = (row: KnownToken, now: number): TokenStatus => {
  if (row.revoked_at !== null) return 'revoked'
  if (row.used_at !== null) return 'used'
  return row.expires_at <= now ? 'expired' : 'active'
}

/** Of a text that is no token of the organisation, nothing else is said. */
export const refusal = (reason: TokenReason): TokenVerdict => ({
  valid: false,
  reasonCodes: [reason],
  consumed: false,
  status: null,
  tokenId: null,
  type: null,
  subject: null,
  audience: null,
  claims: null,
  singleUse: null,
  issuedAt: null,
  expiresAt: null,
})

const audienceFault = (asked: string | undefined, aud: string | undefined): TokenReason | undefined => {
  if (aud === undefined || asked === aud) return undefined
  return asked === undefined ? 'AUDIENCE_REQUIRED' : 'AUDIENCE_MISMATCH'
}

/** Every reason why a token does not count. @param asked audience @param now Unix ms */
export const faultsOf = (
  row: KnownToken,
  payload: TokenPayload,
  asked: string | undefined,
  now: number,
): TokenReason[] => {
  const faults: (TokenReason | false | undefined)[] = [
    row.expires_at <= now && 'TOKEN_EXPIRED',
    row.revoked_at !== null && 'TOKEN_REVOKED',
    row.used_at !== null && 'TOKEN_USED',
    audienceFault(asked, payload.aud),
  ]
  return faults.filter((fault) => typeof fault === 'string')
}

/** What of a token can be compared with what is expected. @param now Unix ms */
export const tokenFacts = (row: KnownToken, payload: TokenPayload, now: number): Facts => ({
  issuers: [payload.iss, row.organisation],
  audience: payload.aud ?? null,
  statement: payload.claims ?? {},
  status: statusOf(row, now),
  max_age_seconds: row.issued_at,
})

/** @param now Unix ms */
export const verdictOf = (
  row: KnownToken,
  payload: TokenPayload,
  reasonCodes: TokenReason[],
  now: number,
): TokenVerdict => ({
  valid: reasonCodes.length === 0,
  reasonCodes,
  consumed: false,
  status: statusOf(row, now),
  tokenId: row.id,
  type: row.type,
  subject: payload.sub,
  audience: payload.aud ?? null,
  claims: payload.claims ?? null,
  singleUse: row.single_use,
  issuedAt: iso(row.issued_at),
  expiresAt: iso(row.expires_at),
})
