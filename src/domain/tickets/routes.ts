/** Routes of tickets for QR codes. @module */
import Type from 'typebox'
import { QR_CONTENT_TYPES, qrFormatOf } from '../../http/qr-code.ts'
import { Reply, route } from '../../http/route.ts'
import { QrQuery } from '../tokens/schemas-forms.ts'
import { BatchOutcomes, NewTicket, ProofsBatch, TicketIssued, TicketParams } from './schemas.ts'
import { RevokeTicket, TicketPage, TicketRevoked, TicketsQuery } from './schemas-list.ts'
import type { TicketsService } from './service.ts'

interface Services {
  readonly tickets: TicketsService
}

const tag = 'Tickets'
/** A batch may hold a hundred proofs, each about as costly as a request of its own. */
const BATCH_COST = 10

const issueTicket = route({
  name: 'issueTicket',
  method: 'POST',
  path: '/v1/qr/tickets',
  auth: 'key',
  scope: 'token',
  tag,
  summary: 'Issue a ticket for a QR code',
  description:
    'At most 300 bytes, signed: a gate without a network can verify it with /.well-known/jwks.json. A single-use ticket is used by POST /v1/qr/proofs/batch.',
  body: NewTicket,
  exactNumbers: true,
  response: { 201: TicketIssued },
  errors: [],
  example: {
    body: { subject: 'member-7', claims: { gate: 'B', seat: '12A' }, single_use: true, ttl: 86_400 },
  },
  handler: ({ caller, body }, { tickets }: Services) => tickets.issue(caller, body),
})

const ticketQr = route({
  name: 'ticketQr',
  method: 'GET',
  path: '/v1/qr/tickets/{ticketId}/qr',
  auth: 'key',
  scope: 'token',
  tag,
  summary: 'Get the QR code of a ticket',
  description: 'SVG, or PNG by Accept or `format`. A used or expired ticket has none.',
  params: TicketParams,
  query: QrQuery,
  produces: [QR_CONTENT_TYPES.svg, QR_CONTENT_TYPES.png],
  response: { 200: Type.String() },
  errors: ['token_not_active'],
  handler: async ({ caller, params, query, headers }, { tickets }: Services) => {
    const format = qrFormatOf(query.format, headers.accept)
    const picture = await tickets.qrCode(caller, params.ticketId, format)
    return new Reply(200, picture, { 'Content-Type': QR_CONTENT_TYPES[format], Vary: 'Accept' })
  },
})

const handInProofs = route({
  name: 'handInProofs',
  method: 'POST',
  path: '/v1/qr/proofs/batch',
  auth: 'key',
  scope: 'token',
  tag,
  summary: 'Redeem up to 100 tickets and proofs',
  description:
    'Every item is judged separately; accepted items are spent permanently, in one commit. Send what you `expect` of a ticket or proof with it; an item that differs is `invalid` and not spent. A second use is reported as `DOUBLE_SPEND`, with status 409 if it is the only item. Counts as ten requests.',
  body: ProofsBatch,
  bodyLimit: 'batch',
  cost: BATCH_COST,
  response: { 200: BatchOutcomes },
  errors: ['batch_too_large', 'double_spend', 'proof_service_unavailable'],
  example: {
    body: {
      proofs: [
        { qr_payload: '{qrPayload}', expect: { status: 'active', max_age_seconds: 86_400 } },
        { proof_id: '{proofId}', proof: '{zk1}' },
      ],
    },
  },
  handler: ({ caller, body }, { tickets }: Services) => tickets.handIn(caller, body),
})

const listTickets = route({
  name: 'listTickets',
  method: 'GET',
  path: '/console/api/tickets',
  auth: 'console',
  scope: { all: ['audit', 'token'] },
  tag,
  summary: 'List tickets',
  description: 'All tickets of the organisation, newest first. Never what their QR codes hold.',
  query: TicketsQuery,
  response: { 200: TicketPage },
  errors: [],
  example: { query: { status: 'active' } },
  handler: ({ caller, query }, { tickets }: Services) => tickets.list(caller, query),
})

const revokeTicket = route({
  name: 'revokeTicket',
  method: 'POST',
  path: '/console/api/tickets/{ticketId}/revoke',
  auth: 'console',
  scope: 'token',
  tag,
  summary: 'Revoke a ticket permanently',
  description:
    'It is not redeemed any more: `invalid`, with reason `TICKET_REVOKED`. A gate without a network can not know it. A repeated request returns the first answer.',
  params: TicketParams,
  body: RevokeTicket,
  response: { 200: TicketRevoked },
  errors: ['not_found'],
  example: { body: { reason: 'the event was cancelled' } },
  handler: ({ caller, params, body }, { tickets }: Services) => tickets.revoke(caller, params.ticketId, body),
})

export const ticketRoutes = [issueTicket, ticketQr, handInProofs, listTickets, revokeTicket]
