/** Terminals and their tokens. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../store/database.ts'
import { bytes, integer, json, type RowOf, table, text } from '../../store/table.ts'

export const terminals = table('terminals', {
  id: text().key(),
  organisation: text(),
  merchant: text(),
  label: text(),
  secret_hash: text(),
  limits: json<object>(),
  created_at: integer(),
  revoked_at: integer().null(),
  /** Canonical decimal; null until a terminal that was made by an earlier version authenticates again. */
  proving_commitment: text().null(),
  /** By its credential, to the minute; null also for what was seen before this was kept. */
  last_seen_at: integer().null(),
  /** Null where it never told, as all below. */
  queued_count: integer().null(),
  queued_sum: json<QueuedSum[]>().null(),
  version: text().null(),
  /** By how much its clock was ahead. */
  clock_skew_ms: integer().null(),
})

/** What waits of one currency, in major units. */
interface QueuedSum {
  readonly currency: string
  readonly amount: number
}

export type TerminalRow = RowOf<typeof terminals>

export const terminalTokens = table('terminal_tokens', {
  id: text().key(),
  /** SHA-256 of the token, 32 bytes. */
  digest: bytes(),
  terminal: text(),
  /** The API key it was issued to, which checks the terminal's payment MACs. */
  api_key: text(),
  created_at: integer(),
  expires_at: integer(),
})

export type TerminalTokenRow = RowOf<typeof terminalTokens>

/** What a list of terminals is narrowed to. */
export interface TerminalFilter {
  readonly organisation: string
  /** Only this merchant's. */
  readonly merchant?: string
  /** Absent: revoked ones and those in use. */
  readonly status?: 'active' | 'revoked'
  /** Id of the last terminal of the page before. */
  readonly before?: string
  readonly limit: number
}

/** A page of an organisation's terminals, the newest first. */
export const findTerminals = (
  { knex }: Database,
  { organisation, merchant, status, before, limit }: TerminalFilter,
): Promise<TerminalRow[]> => {
  const query = knex<TerminalRow>('terminals').where({ organisation }).orderBy('id', 'desc').limit(limit)
  if (merchant !== undefined) query.where({ merchant })
  if (status === 'active') query.whereNull('revoked_at')
  if (status === 'revoked') query.whereNotNull('revoked_at')
  return before === undefined ? query : query.where('id', '<', before)
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

/** What is known of a terminal since it last told. */
export type TerminalReport = Partial<
  Pick<TerminalRow, 'last_seen_at' | 'queued_count' | 'version' | 'clock_skew_ms'>
> & { readonly queued_sum?: readonly QueuedSum[] }

/** Keeps what a terminal told, and leaves what it didn't. */
export const updateReport = async (
  { knex }: Database,
  id: string,
  { queued_sum: sum, ...report }: TerminalReport,
): Promise<void> => {
  await knex('terminals')
    .where({ id })
    // Passed as text, as arrays would become SQL arrays.
    .update({ ...report, ...(sum && { queued_sum: JSON.stringify(sum) }) })
}

/** A token with what its use depends on. */
export type TokenInUse = TerminalTokenRow &
  Pick<TerminalRow, 'organisation' | 'merchant' | 'revoked_at' | 'last_seen_at'>

export const findTokenInUse = ({ knex }: Database, digest: Uint8Array): Promise<TokenInUse | undefined> =>
  knex<TerminalTokenRow>('terminal_tokens')
    .join('terminals', 'terminals.id', 'terminal_tokens.terminal')
    .where({ digest })
    .first<TokenInUse>(
      'terminal_tokens.*',
      'terminals.organisation',
      'terminals.merchant',
      'terminals.revoked_at',
      'terminals.last_seen_at',
    )

/** Deletes some that have expired. @param now Unix ms @returns how many */
export const deleteExpiredTokens = ({ knex }: Database, now: number, maxRows: number): Promise<number> =>
  knex<TerminalTokenRow>('terminal_tokens')
    .whereIn(
      'id',
      knex<TerminalTokenRow>('terminal_tokens')
        .select('id')
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(maxRows)
        // Another server may be at it too.
        .forUpdate()
        .skipLocked(),
    )
    .delete()
