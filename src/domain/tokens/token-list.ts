/** All tokens of an organisation, as pages. @module */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { findPlace } from '../../store/pages.ts'
import { TOKEN_SUBJECT } from './issue.ts'
import { DEFAULT_PAGE_TOKENS, type ListedToken, type TokenPage, type TokensQuery } from './schemas-list.ts'
import { type OpenedToken, openToken } from './sealed-token.ts'
import type { TokensDeps } from './service.ts'
import type { KnownToken } from './store.ts'
import { findTokenPage, TOKENS } from './store-list.ts'
import { statusOf } from './verdict.ts'

interface Deps extends Pick<TokensDeps, 'database' | 'sealing' | 'subjects' | 'clock'> {
  /** Tokens, with whether a proof used up those that may be used once. */
  readonly withUses: (rows: readonly KnownToken[]) => Promise<readonly KnownToken[]>
}

const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

/** What is told of a token wherever it is shown. @param now Unix ms */
export const standingOf = (row: KnownToken, now: number) => ({
  tokenId: row.id,
  type: row.type,
  status: statusOf(row, now),
  singleUse: row.single_use,
  issuedAt: iso(row.issued_at),
  expiresAt: iso(row.expires_at),
  usedAt: isoOrNull(row.used_at),
  revokedAt: isoOrNull(row.revoked_at),
  revocationReason: row.revocation_reason,
})

const toListed = (row: KnownToken, { payload }: OpenedToken, now: number): ListedToken => ({
  ...standingOf(row, now),
  subject: payload.sub,
  audience: payload.aud ?? null,
})

export const createTokenList = ({ database, sealing, subjects, clock, withUses }: Deps) => ({
  /** A page of the organisation's tokens, newest first. @throws AppError invalid_query */
  async list({ organisation }: Caller, query: TokensQuery): Promise<TokenPage> {
    const { cursor, limit = DEFAULT_PAGE_TOKENS, subject: id, type, status } = query
    const now = clock.now()
    const subject = id === undefined ? undefined : await subjects.of(organisation, TOKEN_SUBJECT, id)
    const filter = { organisation, subject, type, status, now }
    const after = await findPlace(database, TOKENS, organisation, cursor)
    const { rows, next } = await findTokenPage(database, filter, { after, limit })
    const tokens = (await withUses(rows)).map((row) =>
      toListed(row, openToken(sealing, row.id, row.sealed), now),
    )
    return {
      // Of those that are said to be active a proof may have used one up.
      tokens: tokens.filter((token) => status === undefined || token.status === status),
      nextCursor: next?.id ?? null,
    }
  },
})
