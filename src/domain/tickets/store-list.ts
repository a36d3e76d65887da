/** Tickets as an operator looks through them. @module */
import type { Database } from '../../store/database.ts'
import { findPage, joinOne, type PageOf, type Rows } from '../../store/pages.ts'
import type { TicketStatus } from './schemas-list.ts'
import type { KnownTicket } from './store.ts'

/** By the time at which they were issued. */
export const TICKETS = { table: 'tickets', orderedBy: 'issued_at' } as const

const SPENT = 'SELECT spent_at FROM ticket_spends WHERE ticket_spends.ticket = tickets.id'
const REVOKED = `SELECT revoked_at, reason AS revocation_reason FROM ticket_revocations
  WHERE ticket_revocations.ticket = tickets.id`

export interface TicketFilter {
  readonly organisation: string
  /** Pseudonym. */
  readonly subject?: string
  readonly status?: TicketStatus
  /** Unix ms. */
  readonly now: number
}

/** As `ticketStatus`. */
const STATUS = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN spent_at IS NOT NULL THEN 'used'
  WHEN tickets.expires_at <= :now THEN 'expired' ELSE 'active' END`

/** A page of an organisation's tickets. */
export const findTicketPage = (
  database: Database,
  { organisation, subject, status, now }: TicketFilter,
  page: PageOf,
): Promise<Rows<KnownTicket>> =>
  findPage<KnownTicket>(
    database,
    TICKETS,
    {
      within(query) {
        query.where({ 'tickets.organisation': organisation })
        if (subject !== undefined) query.where({ 'tickets.subject': subject })
      },
      select(query) {
        joinOne(query, 'spent', SPENT)
        joinOne(query, 'revoked', REVOKED)
        query.select('tickets.*', 'spent_at', 'revoked_at', 'revocation_reason')
      },
      ...(status !== undefined && {
        search(query) {
          query.whereRaw(`${STATUS} = :status`, { now, status })
        },
      }),
    },
    page,
  )
