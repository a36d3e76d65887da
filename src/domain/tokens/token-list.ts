/** All tokens of an organisation, of every kind, as pages. @module */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { knowsAllSubjects } from '../../keys/unread-subjects.ts'
import { isHybridTokenId } from '../../protocol/hybrid-token.ts'
import { findPlace, mergePages, type PageOf, type Place, type Rows } from '../../store/pages.ts'
import type { PlacedToken } from '../hybrid-tokens/standing.ts'
import { TOKEN_SUBJECT } from './issue.ts'
import { DEFAULT_PAGE_TOKENS, type ListedToken, type TokenPage, type TokensQuery } from './schemas-list.ts'
import { type OpenedToken, openToken } from './sealed-token.ts'
import type { TokensDeps } from './service.ts'
import type { KnownToken } from './store.ts'
import { findTokenPage, TOKENS, type TokenFilter } from './store-list.ts'
import { statusOf } from './verdict.ts'

interface Deps extends Pick<TokensDeps, 'database' | 'sealing' | 'subjects' | 'clock' | 'hybridTokens'> {
  /** Tokens, with whether a proof used up those that may be used once. */
  readonly withUses: (rows: readonly KnownToken[]) => Promise<readonly KnownToken[]>
}

const NONE: Rows<PlacedToken> = { rows: [], next: undefined }

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

export const createTokenList = ({ database, sealing, subjects, clock, hybridTokens, withUses }: Deps) => {
  /** A page of those that are JWTs. */
  const listed = async (filter: TokenFilter, page: PageOf): Promise<Rows<PlacedToken>> => {
    const { rows, next } = await findTokenPage(database, filter, page)
    const known = await withUses(rows)
    return {
      rows: known.map((row) => ({
        at: row.issued_at,
        token: toListed(row, openToken(sealing, row.id, row.sealed), filter.now),
      })),
      next,
    }
  }

  const placeOf = (organisation: string, cursor: string | undefined): Promise<Place | undefined> =>
    cursor !== undefined && isHybridTokenId(cursor)
      ? hybridTokens.placeOf(organisation, cursor)
      : findPlace(database, TOKENS, organisation, cursor)

  /** Whether all of a subject can be found: those of earlier versions are read in the background. */
  const isComplete = async (organisation: string): Promise<boolean> =>
    (await knowsAllSubjects(database, TOKENS.table, organisation)) &&
    (await hybridTokens.knowsAllSubjects(organisation))

  return {
    /** A page of the organisation's tokens, newest first. @throws AppError invalid_query */
    async list({ organisation }: Caller, query: TokensQuery): Promise<TokenPage> {
      const { cursor, limit = DEFAULT_PAGE_TOKENS, subject: id, type, status } = query
      const subject = id === undefined ? undefined : await subjects.of(organisation, TOKEN_SUBJECT, id)
      const filter = { organisation, subject, status, now: clock.now() }
      const page: PageOf = { after: await placeOf(organisation, cursor), limit }
      // Hybrid ones are never used up.
      const hasHybrid = (type === undefined || type === 'hybrid') && status !== 'used'
      const [own, hybrid, complete] = await Promise.all([
        type === 'hybrid' ? NONE : listed({ ...filter, type }, page),
        hasHybrid ? hybridTokens.listed(filter, page) : NONE,
        id === undefined || isComplete(organisation),
      ])
      const { rows, next } = mergePages([own, hybrid], ({ at, token }) => ({ at, id: token.tokenId }), limit)
      return {
        // Of those that are said to be active a proof may have used one up.
        tokens: rows
          .map(({ token }) => token)
          .filter((token) => status === undefined || token.status === status),
        nextCursor: next?.id ?? null,
        complete,
      }
    },
  }
}
