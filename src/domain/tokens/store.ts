/** Tokens, their uses and their revocations. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { boolean, bytes, integer, type RowOf, table, text } from '../../store/table.ts'
import type { TokenType } from './schemas.ts'

export const tokens = table('tokens', {
  id: text().key(),
  organisation: text(),
  entry_index: integer(),
  type: text<TokenType>(),
  single_use: boolean(),
  /** SHA-256 of the compact JWS, 32 bytes. */
  jws_hash: bytes(),
  /** See sealed-token.ts. */
  sealed: bytes(),
  issued_at: integer(),
  expires_at: integer(),
})

type TokenRow = RowOf<typeof tokens>

export const tokenUses = table('token_uses', {
  token: text().key(),
  organisation: text(),
  entry_index: integer(),
  used_at: integer(),
})

export const tokenRevocations = table('token_revocations', {
  token: text().key(),
  organisation: text(),
  entry_index: integer(),
  reason: text().null(),
  revoked_at: integer(),
})

/** A token with what became of it. */
export type KnownToken = TokenRow & {
  used_at: number | null
  revoked_at: number | null
  revocation_reason: string | null
}

/** A token of the organisation, or undefined. */
export const findToken = (
  { knex }: Database,
  organisation: string,
  id: string,
): Promise<KnownToken | undefined> =>
  knex<TokenRow>('tokens')
    .leftJoin('token_uses', 'token_uses.token', 'tokens.id')
    .leftJoin('token_revocations', 'token_revocations.token', 'tokens.id')
    .select(
      'tokens.*',
      'token_uses.used_at',
      'token_revocations.revoked_at',
      'token_revocations.reason as revocation_reason',
    )
    .where({ 'tokens.id': id, 'tokens.organisation': organisation })
    .first<KnownToken | undefined>()
