/** Invitations. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../../store/database.ts'
import { bytes, integer, type RowOf, table, text } from '../../../store/table.ts'

export const invitations = table('invitations', {
  id: text().key(),
  organisation: text(),
  /** SHA-256 of the text of the invitation, 32 bytes. */
  digest: bytes(),
  /** Lower case. */
  email: text(),
  role: text(),
  /** `acc_…` or `key_…` */
  inviter: text(),
  created_at: integer(),
  expires_at: integer(),
})

export type InvitationRow = RowOf<typeof invitations>

const open = (knex: Knex, now: number) => knex<InvitationRow>('invitations').where('expires_at', '>', now)

/** The invitation of a digest, while it is open. */
export const findInvitation = (
  knex: Knex,
  digest: Uint8Array,
  now: number,
): Promise<InvitationRow | undefined> => open(knex, now).where({ digest }).first()

/** An organisation's invitation, while it is open. */
export const findInvitationById = (
  knex: Knex,
  invitation: Pick<InvitationRow, 'id' | 'organisation'>,
  now: number,
): Promise<InvitationRow | undefined> =>
  open(knex, now)
    .where({ ...invitation })
    .first()

/** A page of an organisation's open invitations, the newest first. */
export const findInvitations = (
  { knex }: Database,
  organisation: string,
  { now, before, limit }: { readonly now: number; readonly before?: string; readonly limit: number },
): Promise<InvitationRow[]> => {
  const query = open(knex, now).where({ organisation }).orderBy('id', 'desc').limit(limit)
  return before === undefined ? query : query.where('id', '<', before)
}

export const countInvitations = async (trx: Knex, organisation: string): Promise<number> => {
  const row = await trx('invitations').where({ organisation }).count<{ count: string | number }>().first()
  return Number(row?.count)
}

export const insertInvitation = async (trx: Knex, row: InvitationRow): Promise<void> => {
  await trx('invitations').insert(row)
}

export const deleteInvitation = async (trx: Knex, id: string): Promise<void> => {
  await trx<InvitationRow>('invitations').where({ id }).delete()
}

/** All to one address, so that none lets in somebody again who was removed. */
export const deleteInvitationsTo = async (
  trx: Knex,
  { organisation, email }: Pick<InvitationRow, 'organisation' | 'email'>,
): Promise<void> => {
  await trx<InvitationRow>('invitations').where({ organisation, email }).delete()
}

/** Of all organisations: nobody's address is kept for longer than it is needed. */
export const deleteExpiredInvitations = (trx: Knex, now: number): Promise<number> =>
  trx<InvitationRow>('invitations').where('expires_at', '<=', now).delete()
