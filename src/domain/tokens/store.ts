/** Tokens, their uses and their revocations. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'
import type { TokenType } from './schemas.ts'

interface TokenRow {
  id: string
  organisation: string
  entry_index: number
  type: TokenType
  single_use: boolean
  /** SHA-256 of the compact JWS, 32 bytes. */
  jws_hash: Uint8Array
  /** See sealed-token.ts. */
  sealed: Uint8Array
  issued_at: number
  expires_at: number
}

export const tokens = table<TokenRow>('tokens', [
  'id',
  'organisation',
  'entry_index',
  'type',
  'single_use',
  'jws_hash',
  'sealed',
  'issued_at',
  'expires_at',
])

interface UseRow {
  token: string
  organisation: string
  entry_index: number
  used_at: number
}

export const tokenUses = table<UseRow>('token_uses', ['token', 'organisation', 'entry_index', 'used_at'])

interface RevocationRow {
  token: string
  organisation: string
  entry_index: number
  reason: string | null
  revoked_at: number
}

export const tokenRevocations = table<RevocationRow>('token_revocations', [
  'token',
  'organisation',
  'entry_index',
  'reason',
  'revoked_at',
])

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
