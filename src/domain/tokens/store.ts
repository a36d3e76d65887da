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
  /** Permanent pseudonym, 64 lower-case hex digits; null until it was read where an earlier version kept it sealed alone. */
  subject: text().null(),
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

/** Seals a token anew, unless somebody was faster. */
export const replaceSealed = async (
  { knex }: Database,
  { id, sealed }: Pick<TokenRow, 'id' | 'sealed'>,
  anew: Uint8Array,
): Promise<void> => {
  await knex<TokenRow>('tokens')
    .where({ id, sealed: Buffer.from(sealed) })
    .update({ sealed: Buffer.from(anew) })
}

/** LATERAL with LIMIT keeps the planner at an index look-up each, whatever it believes of the tables. */
const FIND_TOKENS = `SELECT token.*, used.used_at, revoked.revoked_at, revoked.reason AS revocation_reason
  FROM unnest($1::text[]) AS asked (id)
  CROSS JOIN LATERAL (SELECT ${tokens.columns.join(', ')} FROM tokens WHERE tokens.id = asked.id LIMIT 1) AS token
  LEFT JOIN LATERAL (SELECT used_at FROM token_uses WHERE token_uses.token = asked.id LIMIT 1) AS used ON true
  LEFT JOIN LATERAL (SELECT revoked_at, reason FROM token_revocations
    WHERE token_revocations.token = asked.id LIMIT 1) AS revoked ON true`

/** Tokens by id, of whichever organisation; those that there are. */
export const findTokens = async (
  { query }: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KnownToken>> => {
  const { rows } = await query<KnownToken>(FIND_TOKENS, [ids], 'tokens-find')
  return new Map(rows.map((row) => [row.id, row]))
}
