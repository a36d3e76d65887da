/**
 * Payments made under a key that is revoked by now. Whoever stole the key could have back-dated them, so they are
 * kept without spending their nullifier until an operator accepts them.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Decide } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { fromMinorUnits, parseProof } from '../../protocol/payment-proof.ts'
import type { Database } from '../../store/database.ts'
import { contentOf, digestOf, nullifierKeyOf, type Spender } from './decision.ts'
import type { AcceptedPayment, ListedPayment, ListPayments } from './schemas.ts'
import { findPayment, findPayments, type PaymentRow, paymentAcceptances } from './store.ts'

interface Deps {
  readonly ledger: Pick<Ledger, 'append'>
  readonly database: Database
  readonly clock: Clock
}

const DEFAULT_PAGE_PAYMENTS = 50

const toListed = (row: PaymentRow): ListedPayment => ({
  paymentId: row.id,
  status: row.status,
  reason: row.reason,
  transactionId: row.transaction_id,
  merchantId: row.merchant,
  origin: row.origin,
  amount:
    row.amount_minor === null || row.currency === null
      ? null
      : fromMinorUnits(row.amount_minor, row.currency),
  currency: row.currency,
  assurance: row.assurance,
  timestamp: row.stamped_at === null ? null : iso(row.stamped_at),
  receivedAt: iso(row.received_at),
  firstPaymentId: row.first_payment,
  firstTransactionId: row.first_transaction_id,
  firstOrigin: row.first_origin,
  paymentMethod: row.payment_method,
  customerId: row.customer_id,
})

/** Members of the organisation, and keys that may administer it. */
const requireOperator = ({ credential, scopes }: Caller): void => {
  if (credential.kind !== 'session' && !scopes.has('keys') && !scopes.has('admin')) {
    fail('insufficient_scope', { message: 'Accepting a payment needs a session or a key with scope "keys".' })
  }
}

/** Spends the nullifier of a late payment. Accepting it again gets the first answer. */
const acceptance = (caller: Caller, row: PaymentRow, now: number): Decide<AcceptedPayment> => {
  const { id, amount_minor: amountMinor, currency, merchant, transaction_id: transactionId } = row
  const proofText = row.proof === null ? '' : Buffer.from(row.proof).toString('base64url')
  const proof = parseProof(proofText)
  if (!proof.ok || amountMinor === null || currency === null || merchant === null) {
    throw new Error(`The late payment ${id} lacks what every late payment has.`)
  }
  const answer = (acceptedAt: number): AcceptedPayment => ({
    paymentId: id,
    transactionId,
    status: 'accepted',
    acceptedAt: iso(acceptedAt),
  })
  const assurance = 'structural'
  const content = contentOf(proof, amountMinor, currency, merchant)
  const spender: Spender = { payment: id, transactionId, origin: row.origin, content, assurance }
  const nullifier = nullifierKeyOf(proof)
  return (tx) => {
    const first = tx.holder(CLAIM_KINDS.paymentAccepted, id)
    // The holder is the time that is claimed with it below.
    if (first) return answer(Number(first.holder))
    const used = tx.holder(CLAIM_KINDS.paymentNullifier, nullifier)
    if (used)
      throw new AppError('double_spend', {
        reason: 'DOUBLE_SPEND',
        message: 'The card token of this payment was used in the meantime.',
        extras: { digest: digestOf(proof), consumed_at: iso(used.at) },
      })
    tx.claim(CLAIM_KINDS.paymentAccepted, id, now)
    tx.claim(CLAIM_KINDS.paymentNullifier, nullifier, spender)
    const { index } = tx.append({
      type: 'payment',
      // Whoever presented it, as in the entry of the payment itself.
      subject: [row.origin.startsWith('ter_') ? 'terminal' : 'key', row.origin],
      digest: digestOf(proof),
      data: {
        decision: 'accepted',
        acceptedLate: true,
        assurance,
        amountMinor,
        currency,
        channel: row.channel,
      },
    })
    tx.write(
      paymentAcceptances.row({
        payment: id,
        organisation: row.organisation,
        entry_index: index,
        accepted_by: caller.credential.id,
        accepted_at: now,
      }),
    )
    return answer(now)
  }
}

export const createLatePayments = ({ ledger, database, clock }: Deps) => ({
  /** The organisation's payments that need attention, newest first; late ones unless the query says otherwise. */
  async list(
    organisation: string,
    query: ListPayments,
  ): Promise<{ payments: ListedPayment[]; nextCursor: string | null }> {
    const limit = query.limit ?? DEFAULT_PAGE_PAYMENTS
    const rows = await findPayments(database, {
      organisation,
      status: query.status ?? 'late',
      before: query.cursor,
      limit: limit + 1,
    })
    const page = rows.slice(0, limit)
    return {
      payments: page.map(toListed),
      nextCursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null,
    }
  },

  /**
   * Accepts a late payment, which spends its nullifier now. Idempotent.
   * @throws AppError not_found, conflict when the payment is not late, double_spend when its card token paid
   *   meanwhile, insufficient_scope
   */
  async accept(caller: Caller, paymentId: string): Promise<AcceptedPayment> {
    requireOperator(caller)
    const row = (await findPayment(database, caller.organisation, paymentId)) ?? fail('not_found')
    if (row.status !== 'late') fail('conflict', { message: `The payment is ${row.status}, not late.` })
    return ledger.append(caller, acceptance(caller, row, clock.now()))
  },
})
