/** Tickets and their uses. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { boolean, bytes, integer, type RowOf, table, text } from '../../store/table.ts'

export const tickets = table('tickets', {
  id: text().key(),
  organisation: text(),
  entry_index: integer(),
  /** SHA-256 of what its QR code holds, 32 bytes. */
  digest: bytes(),
  circuit_id: text().null(),
  single_use: boolean(),
  /** See service.ts. */
  sealed: bytes(),
  issued_at: integer(),
  expires_at: integer(),
  /** Permanent pseudonym, 64 lower-case hex digits; empty where none is named, null until it was read where an earlier version kept it sealed alone. */
  subject: text().null(),
})

type TicketRow = RowOf<typeof tickets>

export const ticketSpends = table('ticket_spends', {
  ticket: text().key(),
  organisation: text(),
  entry_index: integer(),
  spent_at: integer(),
})

export const ticketRevocations = table('ticket_revocations', {
  ticket: text().key(),
  organisation: text(),
  entry_index: integer(),
  reason: text().null(),
  revoked_at: integer(),
})

/** A ticket, with what became of it. */
export type KnownTicket = TicketRow & {
  spent_at: number | null
  revoked_at: number | null
  revocation_reason: string | null
}

const known = ({ knex }: Database) =>
  knex<TicketRow>('tickets')
    .leftJoin('ticket_spends', 'ticket_spends.ticket', 'tickets.id')
    .leftJoin('ticket_revocations', 'ticket_revocations.ticket', 'tickets.id')
    .select(
      'tickets.*',
      'ticket_spends.spent_at',
      'ticket_revocations.revoked_at',
      'ticket_revocations.reason AS revocation_reason',
    )

/** A ticket of the organisation, or undefined. */
export const findTicket = (
  database: Database,
  organisation: string,
  id: string,
): Promise<KnownTicket | undefined> =>
  known(database)
    .where({ 'tickets.id': id, 'tickets.organisation': organisation })
    .first<KnownTicket | undefined>()

/** The same by what its QR code holds. @param digest 32 bytes */
export const findTicketByDigest = (
  database: Database,
  organisation: string,
  digest: Uint8Array,
): Promise<KnownTicket | undefined> =>
  known(database)
    .where({ 'tickets.digest': digest, 'tickets.organisation': organisation })
    .first<KnownTicket | undefined>()
