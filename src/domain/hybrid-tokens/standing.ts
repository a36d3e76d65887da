/** How hybrid tokens stand: of one, and of a page of them. @module */
import { iso } from '../../clock.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Database } from '../../store/database.ts'
import type { PageOf, Rows } from '../../store/pages.ts'
import type { TokenStatus } from '../tokens/schemas.ts'
import type { ListedToken } from '../tokens/schemas-list.ts'
import { openSubject } from './sealed-terms.ts'
import type { KnownHybridToken } from './store.ts'
import { findHybridTokenPage, type HybridTokenFilter } from './store-list.ts'

/** @param now Unix ms */
export const statusOf = ({ revoked_at, expires_at }: KnownHybridToken, now: number): TokenStatus => {
  if (revoked_at !== null) return 'revoked'
  return expires_at <= now ? 'expired' : 'active'
}

/** What is told of a token wherever it is shown. @param now Unix ms */
export const standingOf = (row: KnownHybridToken, now: number) => ({
  tokenId: row.id,
  type: 'hybrid' as const,
  status: statusOf(row, now),
  singleUse: false,
  issuedAt: iso(row.issued_at),
  expiresAt: iso(row.expires_at),
  usedAt: null,
  revokedAt: row.revoked_at === null ? null : iso(row.revoked_at),
  revocationReason: row.revocation_reason,
})

/** A token of a list, with the time of its place there. */
export interface PlacedToken {
  /** Unix ms. */
  readonly at: number
  readonly token: ListedToken
}

/** A page of an organisation's hybrid tokens as they are listed. */
export const findListed = async (
  { database, sealing }: { readonly database: Database; readonly sealing: Pick<Sealing, 'open'> },
  filter: HybridTokenFilter,
  page: PageOf,
): Promise<Rows<PlacedToken>> => {
  const { rows, next } = await findHybridTokenPage(database, filter, page)
  return {
    rows: rows.map((row) => ({
      at: row.issued_at,
      token: { ...standingOf(row, filter.now), subject: openSubject(sealing, row), audience: null },
    })),
    next,
  }
}
