/** Tickets and their uses. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'

interface TicketRow {
  id: string
  organisation: string
  entry_index: number
  /** SHA-256 of what its QR code holds, 32 bytes. */
  digest: Uint8Array
  circuit_id: string | null
  single_use: boolean
  /** See service.ts. */
  sealed: Uint8Array
  issued_at: number
  expires_at: number
}

export const tickets = table<TicketRow>('tickets', [
  'id',
  'organisation',
  'entry_index',
  'digest',
  'circuit_id',
  'single_use',
  'sealed',
  'issued_at',
  'expires_at',
])

interface SpendRow {
  ticket: string
  organisation: string
  entry_index: number
  spent_at: number
}

export const ticketSpends = table<SpendRow>('ticket_spends', [
  'ticket',
  'organisation',
  'entry_index',
  'spent_at',
])

/** A ticket, with when it was used up. */
export type KnownTicket = TicketRow & { spent_at: number | null }

const known = ({ knex }: Database) =>
  knex<TicketRow>('tickets')
    .leftJoin('ticket_spends', 'ticket_spends.ticket', 'tickets.id')
    .select('tickets.*', 'ticket_spends.spent_at')

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
