/** Terminals and their tokens. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'

export interface TerminalRow {
  id: string
  organisation: string
  merchant: string
  label: string
  secret_hash: string
  limits: object
  created_at: number
  revoked_at: number | null
  /** Canonical decimal; null until a terminal that was made by an earlier version authenticates again. */
  proving_commitment: string | null
}

export interface TerminalTokenRow {
  id: string
  /** SHA-256 of the token, 32 bytes. */
  digest: Uint8Array
  terminal: string
  /** The API key it was issued to, which checks the terminal's payment MACs. */
  api_key: string
  created_at: number
  expires_at: number
}

export const terminals = table<TerminalRow>('terminals', [
  'id',
  'organisation',
  'merchant',
  'label',
  'secret_hash',
  'limits',
  'created_at',
  'revoked_at',
  'proving_commitment',
])
export const terminalTokens = table<TerminalTokenRow>('terminal_tokens', [
  'id',
  'digest',
  'terminal',
  'api_key',
  'created_at',
  'expires_at',
])

const MAX_LISTED = 1000

/** Terminals of an organisation, revoked ones included, the newest first. @param merchant only this merchant's */
export const findTerminals = async (
  { knex }: Database,
  organisation: string,
  merchant?: string,
): Promise<TerminalRow[]> => {
  const query = knex<TerminalRow>('terminals').where({ organisation }).orderBy('id', 'desc').limit(MAX_LISTED)
  if (merchant !== undefined) query.where({ merchant })
  return query
}

export const findTerminal = (knex: Knex, id: string): Promise<TerminalRow | undefined> =>
  knex<TerminalRow>('terminals').where({ id }).first()

/** Terminals in use that are known by this commitment: one, unless two were given the same secret. */
export const findByCommitment = (
  { knex }: Database,
  organisation: string,
  provingCommitment: string,
): Promise<TerminalRow[]> =>
  knex<TerminalRow>('terminals').where({
    organisation,
    proving_commitment: provingCommitment,
    revoked_at: null,
  })

/** Sets it where there is none yet. */
export const setCommitment = ({ knex }: Database, id: string, provingCommitment: string): Promise<number> =>
  knex<TerminalRow>('terminals')
    .where({ id, proving_commitment: null })
    .update({ proving_commitment: provingCommitment })

export const revokeTerminal = (trx: Knex, id: string, at: number): Promise<number> =>
  trx<TerminalRow>('terminals').where({ id }).update({ revoked_at: at })

/** A token with what its use depends on. */
export type TokenInUse = TerminalTokenRow & Pick<TerminalRow, 'organisation' | 'merchant' | 'revoked_at'>

export const findTokenInUse = ({ knex }: Database, digest: Uint8Array): Promise<TokenInUse | undefined> =>
  knex<TerminalTokenRow>('terminal_tokens')
    .join('terminals', 'terminals.id', 'terminal_tokens.terminal')
    .where({ digest })
    .first<TokenInUse>(
      'terminal_tokens.*',
      'terminals.organisation',
      'terminals.merchant',
      'terminals.revoked_at',
    )

export const deleteExpiredTokens = ({ knex }: Database, now: number): Promise<number> =>
  knex<TerminalTokenRow>('terminal_tokens').where('expires_at', '<=', now).delete()
