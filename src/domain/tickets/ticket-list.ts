/** All tickets of an organisation, as pages, and their revocation. @module */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { knowsAllSubjects } from '../../keys/unread-subjects.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import { findPlace } from '../../store/pages.ts'
import {
  DEFAULT_PAGE_TICKETS,
  type ListedTicket,
  type RevokeTicket,
  type TicketPage,
  type TicketRevoked,
  type TicketStatus,
  type TicketsQuery,
} from './schemas-list.ts'
import { openTicket, TICKET_SUBJECT, ticketSubject } from './sealed-ticket.ts'
import type { TicketsDeps } from './service.ts'
import * as store from './store.ts'
import { findTicketPage, TICKETS } from './store-list.ts'

const REVOKED = CLAIM_KINDS.ticketRevoked

/** What came last counts. @param now Unix ms */
export const ticketStatus = (
  row: Pick<store.KnownTicket, 'revoked_at' | 'spent_at' | 'expires_at'>,
  now: number,
): TicketStatus => {
  if (row.revoked_at !== null) return 'revoked'
  if (row.spent_at !== null) return 'used'
  return row.expires_at <= now ? 'expired' : 'active'
}

const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

type Deps = Pick<TicketsDeps, 'database' | 'ledger' | 'sealing' | 'subjects' | 'clock'>

export const createTicketList = ({ database, ledger, sealing, subjects, clock }: Deps) => {
  const toListed = (row: store.KnownTicket): ListedTicket => {
    const { subject, claims } = openTicket(sealing, row.id, row.sealed)
    return {
      ticketId: row.id,
      status: ticketStatus(row, clock.now()),
      subject: subject ?? null,
      claims: claims ?? null,
      circuitId: row.circuit_id,
      singleUse: row.single_use,
      digest: Buffer.from(row.digest).toString('hex'),
      issuedAt: iso(row.issued_at),
      expiresAt: iso(row.expires_at),
      usedAt: isoOrNull(row.spent_at),
      revokedAt: isoOrNull(row.revoked_at),
      revocationReason: row.revocation_reason,
    }
  }

  return {
    /** A page of the organisation's tickets, newest first. @throws AppError invalid_query */
    async list({ organisation }: Caller, query: TicketsQuery): Promise<TicketPage> {
      const { cursor, limit = DEFAULT_PAGE_TICKETS, subject: id, status } = query
      const subject = id === undefined ? undefined : await subjects.of(organisation, TICKET_SUBJECT, id)
      const after = await findPlace(database, TICKETS, organisation, cursor)
      const filter = { organisation, subject, status, now: clock.now() }
      const [{ rows, next }, complete] = await Promise.all([
        findTicketPage(database, filter, { after, limit }),
        id === undefined || knowsAllSubjects(database, TICKETS.table, organisation),
      ])
      return { tickets: rows.map(toListed), nextCursor: next?.id ?? null, complete }
    },

    /** Revokes a ticket for good: it is not redeemed any more. Again: the first answer. @throws AppError not_found */
    async revoke(caller: Caller, ticketId: string, { reason }: RevokeTicket): Promise<TicketRevoked> {
      const { organisation } = caller
      const row = (await store.findTicket(database, organisation, ticketId)) ?? fail('not_found')
      const digest = Buffer.from(row.digest).toString('hex')
      const kept = openTicket(sealing, row.id, row.sealed)
      const answer = (at: number): TicketRevoked => ({
        success: true,
        ticketId,
        status: 'revoked',
        revokedAt: iso(at),
      })
      return ledger.append(caller, (tx) => {
        const first = tx.holder(REVOKED, digest)
        if (first) return answer(first.at)
        tx.claim(REVOKED, digest)
        const { index } = tx.append({
          type: 'revoke',
          ...ticketSubject(kept),
          digest,
          data: { event: REVOKED },
        })
        tx.write(
          store.ticketRevocations.row({
            ticket: ticketId,
            organisation,
            entry_index: index,
            reason: reason ?? null,
            revoked_at: tx.at,
          }),
        )
        return answer(tx.at)
      })
    },
  }
}
