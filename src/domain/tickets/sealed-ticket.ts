/** What is kept of a ticket, sealed. @module */

import type { Sealing } from '../../keys/sealing.ts'
import type { Entry } from '../../ledger/decision.ts'

/** A ticket as its issuer knows it. */
export interface KeptTicket {
  /** What its QR code holds. */
  readonly text: string
  readonly claims: Readonly<Record<string, unknown>> | undefined
  readonly subject: string | undefined
}

const PURPOSE = 'ticket'
/** Keeps the pseudonyms of subjects apart from those of other records; tokens have the same. */
export const TICKET_SUBJECT = 'token-subject'
const place = (id: string) => ({ table: 'tickets', column: 'sealed', row: id })

export const sealTicket = (sealing: Sealing, id: string, kept: KeptTicket): Uint8Array =>
  sealing.seal(PURPOSE, place(id), Buffer.from(JSON.stringify(kept)))

/** @throws SealingError when it was altered, moved, or sealed under another master key */
export const openTicket = (sealing: Sealing, id: string, sealed: Uint8Array): KeptTicket =>
  JSON.parse(Buffer.from(sealing.open(PURPOSE, place(id), sealed)).toString()) as KeptTicket

/** Who an entry is about: the same as that of tokens of the same subject. */
export const ticketSubject = ({ subject }: Pick<KeptTicket, 'subject'>): Pick<Entry, 'subject'> =>
  subject === undefined ? {} : { subject: [TICKET_SUBJECT, subject] }
