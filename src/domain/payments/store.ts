/** The tables of payments: row values to write, and the few reads. @module */
import type { Database } from '../../store/database.ts'
import { bytes, integer, type Row, type RowOf, type Table, table, text } from '../../store/table.ts'
import type { Assurance, Channel, PaymentStatus, RefusalCode } from './payment.ts'

export const payments = table('payments', {
  id: text().key(),
  organisation: text(),
  entry_index: integer(),
  status: text<PaymentStatus>(),
  /** Refusal code; null when accepted. */
  reason: text<RefusalCode>().null(),
  channel: text<Channel>(),
  transaction_id: text(),
  /** Null when the request named no merchant that is the caller's. */
  merchant: text().null(),
  /** The terminal (`ter_…`) or API key (`key_…`) that presented it. */
  origin: text(),
  /** 27 bytes (compact) or 49 (stored); null when malformed: whatever was sent instead is not kept. */
  proof: bytes().null(),
  /** Minor units of `currency`. */
  amount_minor: integer().null(),
  currency: text().null(),
  assurance: text<Assurance>(),
  /** The terminal's clock, Unix ms. */
  stamped_at: integer().null(),
  /** The server's clock, Unix ms. */
  received_at: integer(),
  /** The payment that used the nullifier before, of a conflict. */
  first_payment: text().null(),
  first_transaction_id: text().null(),
  first_origin: text().null(),
  payment_method: text().null(),
  customer_id: text().null(),
  /** When an operator accepted it, Unix ms; null where it was never late or still is. */
  accepted_at: integer().null(),
  /** When an operator rejected it, Unix ms, and why; null as above. */
  rejected_at: integer().null(),
  rejection_reason: text().null(),
})

export type PaymentRow = RowOf<typeof payments>

/** Payments that are there already, and what may change of them. */
const changedPayments: Table = {
  name: payments.name,
  columns: payments.columns,
  merge: {
    key: ['id'],
    columns: { status: 'last', accepted_at: 'last', rejected_at: 'last', rejection_reason: 'last' },
  },
}

/** A late payment that an operator accepts. @param at Unix ms */
export const acceptedLate = (row: PaymentRow, at: number): Row => ({
  table: changedPayments,
  values: { ...row, status: 'accepted', accepted_at: at },
})

/** A late payment that an operator rejects. @param at Unix ms */
export const rejectedLate = (row: PaymentRow, at: number, reason: string): Row => ({
  table: changedPayments,
  values: { ...row, status: 'rejected', rejected_at: at, rejection_reason: reason },
})

export const paymentAcceptances = table('payment_acceptances', {
  payment: text().key(),
  organisation: text(),
  entry_index: integer(),
  /** Id of the session or API key that accepted it. */
  accepted_by: text(),
  /** Unix ms. */
  accepted_at: integer(),
})

export const paymentRejections = table('payment_rejections', {
  payment: text().key(),
  organisation: text(),
  entry_index: integer(),
  /** Id of the session or API key that rejected it. */
  rejected_by: text(),
  /** Unix ms. */
  rejected_at: integer(),
})

export const terminalClocks = table('terminal_clocks', {
  terminal: text().key(),
  nonce: integer().merge('last'),
  /** Unix ms by the terminal's clock. */
  stamped_at: integer().merge('last'),
})

export type TerminalClockRow = RowOf<typeof terminalClocks>

/** One payment of the organisation, or undefined. */
export const findPayment = async (
  { query }: Database,
  organisation: string,
  id: string,
): Promise<PaymentRow | undefined> => {
  const { rows } = await query<PaymentRow>(
    `SELECT ${payments.columns.join(', ')} FROM payments WHERE id = $1 AND organisation = $2`,
    [id, organisation],
    'payments-find',
  )
  return rows[0]
}

/** The last nonce and stamp kept for a terminal, or undefined. */
export const findTerminalClock = async (
  { query }: Database,
  terminal: string,
): Promise<TerminalClockRow | undefined> => {
  const { rows } = await query<TerminalClockRow>(
    `SELECT ${terminalClocks.columns.join(', ')} FROM terminal_clocks WHERE terminal = $1`,
    [terminal],
    'payments-clock',
  )
  return rows[0]
}
