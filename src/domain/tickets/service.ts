/** Tickets small enough for a QR code: issued, shown, handed in. @module */
import type { Caller } from '../../caller.ts'
import { findCircuit } from '../../circuits/catalogue.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { drawQrCode, type QrFormat } from '../../http/qr-code.ts'
import { newId } from '../../ids.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Signers } from '../../keys/signers.ts'
import type { SubjectPseudonyms } from '../../keys/subject-pseudonyms.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import { type BatchDeps, createBatch } from './batch.ts'
import { ticketDigest, writePayload } from './payload.ts'
import { DEFAULT_TTL_SECONDS, type NewTicket, type TicketIssued } from './schemas.ts'
import { openTicket, sealTicket, TICKET_SUBJECT, ticketSubject } from './sealed-ticket.ts'
import * as store from './store.ts'
import { createTicketList, ticketStatus } from './ticket-list.ts'

const MS_PER_SECOND = 1000

export interface TicketsDeps extends Omit<BatchDeps, 'ledger' | 'issuedFields'> {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly signers: Pick<Signers, 'current' | 'publicKey'>
  readonly sealing: Sealing
  readonly clock: Clock
  readonly subjects: SubjectPseudonyms
  readonly baseUrl: string
}

const checkCircuit = (circuitId: string | undefined): void => {
  if (circuitId === undefined || findCircuit(circuitId) !== undefined) return
  fail('validation_failed', {
    details: [{ path: '/circuit_id', code: 'unknown', message: 'there is no circuit with this id' }],
  })
}

export type TicketsService = ReturnType<typeof createTickets>

export const createTickets = (deps: TicketsDeps) => {
  const { database, ledger, signers, sealing, clock, subjects, baseUrl } = deps

  const issuedFields = ({
    id,
    digest,
    expires_at,
  }: Pick<store.KnownTicket, 'id' | 'digest' | 'expires_at'>) => ({
    ticket_id: id,
    svg_url: `${baseUrl}/v1/qr/tickets/${id}/qr?format=svg`,
    digest: Buffer.from(digest).toString('hex'),
    expires_at: iso(expires_at),
  })

  return {
    /** Issues a ticket. @throws AppError validation_failed for claims that are too large, or an unknown circuit */
    async issue(caller: Caller, input: NewTicket): Promise<TicketIssued> {
      const { subject, circuit_id, claims, single_use = true, ttl = DEFAULT_TTL_SECONDS } = input
      checkCircuit(circuit_id)
      const { organisation } = caller
      const now = clock.now()
      const id = newId('tkt', now)
      const exp = Math.floor(now / MS_PER_SECOND) + ttl
      const signer = await signers.current('tickets', 'Ed25519')
      const facts = { ticketId: id, organisation, claims, singleUse: single_use, exp }
      const text = writePayload(signer, facts)
      const digest = ticketDigest(text)
      const expiresAt = exp * MS_PER_SECOND
      const pseudonym = subject === undefined ? '' : await subjects.of(organisation, TICKET_SUBJECT, subject)
      const sealed = sealTicket(sealing, id, { text, claims, subject })
      return ledger.append(caller, (tx) => {
        const { index } = tx.append({
          type: 'attest',
          ...ticketSubject({ subject }),
          digest: digest.toString('hex'),
          data: { event: 'ticket.issued', single_use },
          ...(circuit_id !== undefined && { circuitId: circuit_id }),
        })
        tx.write(
          store.tickets.row({
            id,
            organisation,
            entry_index: index,
            digest,
            circuit_id: circuit_id ?? null,
            single_use,
            sealed,
            issued_at: now,
            expires_at: expiresAt,
            subject: pseudonym,
          }),
        )
        return { qr_payload: text, ...issuedFields({ id, digest, expires_at: expiresAt }) }
      })
    },

    /** A ticket's QR code. @throws AppError not_found, token_not_active */
    async qrCode({ organisation }: Caller, id: string, format: QrFormat): Promise<string | Buffer> {
      const row = (await store.findTicket(database, organisation, id)) ?? fail('not_found')
      const status = ticketStatus(row, clock.now())
      if (status !== 'active')
        fail('token_not_active', { reason: `TICKET_${status.toUpperCase()}`, extras: { status } })
      return drawQrCode(openTicket(sealing, id, row.sealed).text, format)
    },

    ...createBatch({ ...deps, issuedFields }),
    ...createTicketList(deps),
  }
}
