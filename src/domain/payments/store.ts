/** The tables of payments: row values to write, and the few reads. @module */
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'
import type { Assurance, Channel, ListedStatus, PaymentStatus, RefusalCode } from './payment.ts'

export interface PaymentRow {
  id: string
  organisation: string
  entry_index: number
  status: PaymentStatus
  /** Refusal code; null when accepted. */
  reason: RefusalCode | null
  channel: Channel
  transaction_id: string
  /** Null when the request named no merchant that is the caller's. */
  merchant: string | null
  /** The terminal (`ter_…`) or API key (`key_…`) that presented it. */
  origin: string
  /** 27 bytes (compact) or 49 (stored); null when malformed: whatever was sent instead is not kept. */
  proof: Uint8Array | null
  /** Minor units of `currency`. */
  amount_minor: number | null
  currency: string | null
  assurance: Assurance
  /** The terminal's clock, Unix ms. */
  stamped_at: number | null
  /** The server's clock, Unix ms. */
  received_at: number
  /** The payment that used the nullifier before, of a conflict. */
  first_payment: string | null
  first_transaction_id: string | null
  first_origin: string | null
  payment_method: string | null
  customer_id: string | null
}

export const payments = table<PaymentRow>('payments', [
  'id',
  'organisation',
  'entry_index',
  'status',
  'reason',
  'channel',
  'transaction_id',
  'merchant',
  'origin',
  'proof',
  'amount_minor',
  'currency',
  'assurance',
  'stamped_at',
  'received_at',
  'first_payment',
  'first_transaction_id',
  'first_origin',
  'payment_method',
  'customer_id',
])

export interface AcceptanceRow {
  payment: string
  organisation: string
  entry_index: number
  /** Id of the session or API key that accepted it. */
  accepted_by: string
  /** Unix ms. */
  accepted_at: number
}

export const paymentAcceptances = table<AcceptanceRow>('payment_acceptances', [
  'payment',
  'organisation',
  'entry_index',
  'accepted_by',
  'accepted_at',
])

export interface TerminalClockRow {
  terminal: string
  nonce: number
  /** Unix ms by the terminal's clock. */
  stamped_at: number
}

export const terminalClocks = table<TerminalClockRow>(
  'terminal_clocks',
  ['terminal', 'nonce', 'stamped_at'],
  { key: ['terminal'], columns: { nonce: 'last', stamped_at: 'last' } },
)

/** An organisation's payments of one status that no operator has accepted, newest first. @param before id, exclusive */
export const findPayments = async (
  { knex }: Database,
  filter: { organisation: string; status: ListedStatus; before?: string; limit: number },
): Promise<PaymentRow[]> => {
  const query = knex<PaymentRow>('payments')
    .where({ organisation: filter.organisation, status: filter.status })
    .whereNotExists(knex('payment_acceptances').whereRaw('payment_acceptances.payment = payments.id'))
    .orderBy('id', 'desc')
    .limit(filter.limit)
  if (filter.before !== undefined) query.where('id', '<', filter.before)
  return query
}

/** One payment of the organisation, or undefined. */
export const findPayment = async (
  { knex }: Database,
  organisation: string,
  id: string,
): Promise<PaymentRow | undefined> => knex<PaymentRow>('payments').where({ id, organisation }).first()

/** The last nonce and stamp kept for a terminal, or undefined. */
export const findTerminalClock = async (
  { knex }: Database,
  terminal: string,
): Promise<TerminalClockRow | undefined> =>
  knex<TerminalClockRow>('terminal_clocks').where({ terminal }).first()
