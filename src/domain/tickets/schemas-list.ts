/** Wire shapes of the list of tickets, and of their revocation. @module */
import Type, { type Static } from 'typebox'
import {
  askedId,
  Complete,
  DateTime,
  dateTime,
  idOf,
  orNull,
  pageLimit,
  SearchedCursor,
} from '../../json/schemas.ts'
import { TicketIssued } from './schemas.ts'

const MAX_PAGE_TICKETS = 200
export const DEFAULT_PAGE_TICKETS = 50
const MAX_REASON_CHARACTERS = 200
const TICKET_STATUSES = ['active', 'used', 'expired', 'revoked'] as const
export type TicketStatus = (typeof TICKET_STATUSES)[number]

export const TicketsQuery = Type.Object({
  subject: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Only those of this subject.',
    }),
  ),
  status: Type.Optional(Type.Enum([...TICKET_STATUSES], { description: 'Default: all.' })),
  cursor: Type.Optional(askedId('tkt', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_TICKETS, DEFAULT_PAGE_TICKETS),
})
export type TicketsQuery = Static<typeof TicketsQuery>

export const ListedTicket = Type.Object(
  {
    ticketId: idOf('tkt'),
    status: Type.Enum([...TICKET_STATUSES]),
    subject: orNull(Type.String()),
    claims: orNull(Type.Record(Type.String(), Type.Unknown()), {
      description: 'What anyone can read who scans it.',
    }),
    circuitId: orNull(Type.String()),
    singleUse: Type.Boolean(),
    digest: TicketIssued.properties.digest,
    issuedAt: dateTime('Lists go by it.'),
    expiresAt: DateTime,
    usedAt: orNull(DateTime),
    revokedAt: orNull(DateTime),
    revocationReason: orNull(Type.String()),
  },
  { title: 'ListedTicket' },
)
export type ListedTicket = Static<typeof ListedTicket>

export const TicketPage = Type.Object(
  { tickets: Type.Array(ListedTicket), nextCursor: SearchedCursor, complete: Complete },
  { title: 'TicketPage' },
)
export type TicketPage = Static<typeof TicketPage>

export const RevokeTicket = Type.Object(
  {
    reason: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_REASON_CHARACTERS,
        description: 'Why, in your words. Stored as it is: name nobody.',
      }),
    ),
  },
  { title: 'RevokeTicket' },
)
export type RevokeTicket = Static<typeof RevokeTicket>

export const TicketRevoked = Type.Object(
  {
    success: Type.Literal(true),
    ticketId: idOf('tkt'),
    status: Type.Literal('revoked'),
    revokedAt: DateTime,
  },
  { title: 'TicketRevoked' },
)
export type TicketRevoked = Static<typeof TicketRevoked>
