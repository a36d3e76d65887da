/** Hybrid tokens and their revocations. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'

interface HybridTokenRow {
  organisation: string
  id: string
  entry_index: number
  /** SHA-256 of what both signatures cover, 32 bytes. */
  digest: Uint8Array
  /** Of the signatures that were verified when it was issued: 1 classical, 2 post-quantum, 3 both. */
  policy_bits: number
  /** See sealed-terms.ts. */
  sealed: Uint8Array
  issued_at: number
  expires_at: number
}

export const hybridTokens = table<HybridTokenRow>('hybrid_tokens', [
  'organisation',
  'id',
  'entry_index',
  'digest',
  'policy_bits',
  'sealed',
  'issued_at',
  'expires_at',
])

interface RevocationRow {
  organisation: string
  token: string
  entry_index: number
  reason: string | null
  revoked_at: number
}

export const hybridTokenRevocations = table<RevocationRow>('hybrid_token_revocations', [
  'organisation',
  'token',
  'entry_index',
  'reason',
  'revoked_at',
])

/** A token with what became of it. */
export type KnownHybridToken = HybridTokenRow & {
  revoked_at: number | null
  revocation_reason: string | null
}

/** A token of the organisation, or undefined. */
export const findHybridToken = (
  { knex }: Database,
  organisation: string,
  id: string,
): Promise<KnownHybridToken | undefined> =>
  knex<HybridTokenRow>('hybrid_tokens')
    .leftJoin('hybrid_token_revocations as revocation', function () {
      this.on('revocation.token', 'hybrid_tokens.id').andOn(
        'revocation.organisation',
        'hybrid_tokens.organisation',
      )
    })
    .select('hybrid_tokens.*', 'revocation.revoked_at', 'revocation.reason as revocation_reason')
    .where({ 'hybrid_tokens.organisation': organisation, 'hybrid_tokens.id': id })
    .first<KnownHybridToken | undefined>()
