/** Console sessions. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../store/database.ts'
import { bytes, integer, type RowOf, table, text } from '../../store/table.ts'
import type { AccountRow } from './store.ts'

/** Sessions that a list shows. */
const MAX_LISTED = 1000

export const sessions = table('sessions', {
  id: text().key(),
  /** SHA-256 of the cookie, 32 bytes. */
  digest: bytes(),
  account: text(),
  organisation: text(),
  created_at: integer(),
  expires_at: integer(),
  /** What it was opened with; null also for those from before it was kept, as is the time below. */
  device: text().null(),
  /** To the minute. */
  last_seen_at: integer().null(),
})

export type SessionRow = RowOf<typeof sessions>

/** A session with what its use depends on. */
export type SessionInUse = SessionRow & Pick<AccountRow, 'role'>

export const findSession = ({ knex }: Database, digest: Uint8Array): Promise<SessionInUse | undefined> =>
  knex<SessionRow>('sessions')
    .join('accounts', 'accounts.id', 'sessions.account')
    .where({ digest })
    .first<SessionInUse>('sessions.*', 'accounts.role')

export const findSessionById = (knex: Knex, id: string): Promise<SessionRow | undefined> =>
  knex<SessionRow>('sessions').where({ id }).first()

/** An account's sessions that are valid at a time, the newest first. */
export const findSessionsOfAccount = (
  { knex }: Database,
  account: string,
  now: number,
): Promise<SessionRow[]> =>
  knex<SessionRow>('sessions')
    .where({ account })
    .where('expires_at', '>', now)
    .orderBy('id', 'desc')
    .limit(MAX_LISTED)

export const insertSession = async (trx: Knex, row: SessionRow): Promise<void> => {
  await trx('sessions').insert(row)
}

/** Ends the sessions of an account. @param kept the one that goes on, if any @returns the digests of their cookies */
export const deleteSessions = async (
  trx: Knex,
  account: string,
  kept?: string,
): Promise<readonly Uint8Array[]> => {
  const sessions = trx<SessionRow>('sessions').where({ account })
  if (kept !== undefined) sessions.whereNot({ id: kept })
  const ended = await sessions.delete('digest')
  return ended.map(({ digest }) => digest)
}

/** @returns the digest of the session's cookie; undefined when it had ended already */
export const deleteSession = async (
  trx: Knex,
  session: Pick<SessionRow, 'id' | 'account'>,
): Promise<Uint8Array | undefined> => {
  const [row] = await trx<SessionRow>('sessions')
    .where({ ...session })
    .delete('digest')
  return row?.digest
}

export const deleteExpiredSessions = ({ knex }: Database, now: number): Promise<number> =>
  knex<SessionRow>('sessions').where('expires_at', '<=', now).delete()

/** Says that a session was used. */
export const touchSession = async ({ knex }: Database, id: string, now: number): Promise<void> => {
  await knex<SessionRow>('sessions').where({ id }).update({ last_seen_at: now })
}
