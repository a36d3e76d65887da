/** Hybrid tokens and their revocations. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { bytes, integer, type RowOf, table, text } from '../../store/table.ts'

export const hybridTokens = table('hybrid_tokens', {
  organisation: text().key(),
  id: text().key(),
  entry_index: integer(),
  /** SHA-256 of what both signatures cover, 32 bytes. */
  digest: bytes(),
  /** Of the signatures that were verified when it was issued: 1 classical, 2 post-quantum, 3 both. */
  policy_bits: integer(),
  /** See sealed-terms.ts. */
  sealed: bytes(),
  issued_at: integer(),
  expires_at: integer(),
  /** Permanent pseudonym, 64 lower-case hex digits; null until it was read where an earlier version kept it sealed alone. */
  subject: text().null(),
})

type HybridTokenRow = RowOf<typeof hybridTokens>

export const hybridTokenRevocations = table('hybrid_token_revocations', {
  organisation: text().key(),
  token: text().key(),
  entry_index: integer(),
  reason: text().null(),
  revoked_at: integer(),
})

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
