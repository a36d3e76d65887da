/**
 * Payments made under a key that is revoked by now. Whoever stole the key could have back-dated them, so they are
 * kept without spending their nullifier until an operator accepts or rejects them.
 * @module
 */
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Decide, Entry, Tx } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { parseProof } from '../../protocol/payment-proof.ts'
import type { Database } from '../../store/database.ts'
import { contentOf, digestOf, nullifierKeyOf, type Spender } from './decision.ts'
import type { AcceptedPayment, PaymentRejection, RejectedPayment } from './schemas.ts'
import {
  acceptedLate,
  findPayment,
  type PaymentRow,
  paymentAcceptances,
  paymentRejections,
  rejectedLate,
} from './store.ts'

interface Deps {
  readonly ledger: Pick<Ledger, 'append'>
  readonly database: Database
  readonly clock: Clock
}

/** Members of the organisation, and keys that may administer it. */
const requireOperator = ({ credential, scopes }: Caller): void => {
  if (credential.kind !== 'session' && !scopes.has('keys') && !scopes.has('admin')) {
    fail('insufficient_scope', {
      message: 'Deciding a late payment needs a session or a key with scope "keys".',
    })
  }
}

/** What every late payment has. */
const lateOf = ({ id, amount_minor: amountMinor, currency, merchant, proof: bytes }: PaymentRow) => {
  const proof = parseProof(bytes === null ? '' : Buffer.from(bytes).toString('base64url'))
  if (!proof.ok || amountMinor === null || currency === null || merchant === null) {
    throw new Error(`The late payment ${id} lacks what every late payment has.`)
  }
  return { proof, amountMinor, currency, merchant }
}

/** The time at which a late payment was decided, Unix ms, as its claim holds it. */
type Decided = number | { readonly rejectedAt: number }

const decidedOf = (tx: Tx, paymentId: string): Decided | undefined =>
  // The holder is what is claimed below.
  tx.holder(CLAIM_KINDS.paymentDecided, paymentId)?.holder as Decided | undefined

const assurance = 'structural'

const entryOf = (row: PaymentRow, decided: Entry['data']): Entry => {
  const { proof, amountMinor, currency } = lateOf(row)
  return {
    type: 'payment',
    // Whoever presented it, as in the entry of the payment itself.
    subject: [row.origin.startsWith('ter_') ? 'terminal' : 'key', row.origin],
    digest: digestOf(proof),
    data: { ...decided, assurance, amountMinor, currency, channel: row.channel },
  }
}

/** Spends the nullifier of a late payment. Accepting it again gets the first answer. */
const acceptance = (caller: Caller, row: PaymentRow, now: number): Decide<AcceptedPayment> => {
  const { id, transaction_id: transactionId } = row
  const { proof, amountMinor, currency, merchant } = lateOf(row)
  const answer = (acceptedAt: number): AcceptedPayment => ({
    paymentId: id,
    transactionId,
    status: 'accepted',
    acceptedAt: iso(acceptedAt),
  })
  const content = contentOf(digestOf(proof), amountMinor, currency, merchant)
  const spender: Spender = { payment: id, transactionId, origin: row.origin, content, assurance }
  const nullifier = nullifierKeyOf(proof)
  const entry = entryOf(row, { decision: 'accepted', acceptedLate: true })
  return (tx) => {
    const first = decidedOf(tx, id)
    if (typeof first === 'number') return answer(first)
    if (first) return fail('conflict', { message: 'The payment was rejected.' })
    const used = tx.holder(CLAIM_KINDS.paymentNullifier, nullifier)
    if (used)
      throw new AppError('double_spend', {
        reason: 'DOUBLE_SPEND',
        message: 'The card token of this payment was used in the meantime.',
        extras: { digest: digestOf(proof), consumed_at: iso(used.at) },
      })
    tx.claim(CLAIM_KINDS.paymentDecided, id, now)
    tx.claim(CLAIM_KINDS.paymentNullifier, nullifier, spender)
    const { index } = tx.append(entry)
    const { organisation } = row
    const by = { accepted_by: caller.credential.id, accepted_at: now }
    tx.write(paymentAcceptances.row({ payment: id, organisation, entry_index: index, ...by }))
    tx.write(acceptedLate(row, now))
    return answer(now)
  }
}

/** Leaves the nullifier of a late payment free. Rejecting it again gets the first answer. */
const rejection = (caller: Caller, row: PaymentRow, reason: string, now: number): Decide<RejectedPayment> => {
  const { id, transaction_id: transactionId } = row
  const answer = (rejectedAt: number): RejectedPayment => ({
    paymentId: id,
    transactionId,
    status: 'rejected',
    rejectedAt: iso(rejectedAt),
  })
  // The reason is the operator's free text, which stays out of the log.
  const entry = entryOf(row, { decision: 'rejected', rejectedLate: true, reason: 'KEY_REVOKED' })
  return (tx) => {
    const first = decidedOf(tx, id)
    if (typeof first === 'number') return fail('conflict', { message: 'The payment was accepted.' })
    if (first) return answer(first.rejectedAt)
    tx.claim(CLAIM_KINDS.paymentDecided, id, { rejectedAt: now })
    const { index } = tx.append(entry)
    const { organisation } = row
    const by = { rejected_by: caller.credential.id, rejected_at: now }
    tx.write(paymentRejections.row({ payment: id, organisation, entry_index: index, ...by }))
    tx.write(rejectedLate(row, now, reason))
    return answer(now)
  }
}

export const createLatePayments = ({ ledger, database, clock }: Deps) => {
  /**
   * One that is late, or that was decided as somebody wants it now and gets the first answer.
   * @throws AppError not_found, conflict, insufficient_scope
   */
  const decidable = async (
    caller: Caller,
    paymentId: string,
    decidedAt: 'accepted_at' | 'rejected_at',
  ): Promise<PaymentRow> => {
    requireOperator(caller)
    const row = (await findPayment(database, caller.organisation, paymentId)) ?? fail('not_found')
    if (row.status !== 'late' && row[decidedAt] === null)
      fail('conflict', { message: `The payment is ${row.status}, not late.` })
    return row
  }

  return {
    /**
     * Accepts a late payment, which spends its nullifier now. Idempotent.
     * @throws AppError not_found, conflict when the payment is not late, double_spend when its card token paid
     *   meanwhile, insufficient_scope
     */
    async accept(caller: Caller, paymentId: string): Promise<AcceptedPayment> {
      const row = await decidable(caller, paymentId, 'accepted_at')
      return ledger.append(caller, acceptance(caller, row, clock.now()))
    },

    /**
     * Rejects a late payment, whose nullifier stays free. Idempotent.
     * @throws AppError not_found, conflict when the payment is not late, insufficient_scope
     */
    async reject(caller: Caller, paymentId: string, { reason }: PaymentRejection): Promise<RejectedPayment> {
      const row = await decidable(caller, paymentId, 'rejected_at')
      return ledger.append(caller, rejection(caller, row, reason, clock.now()))
    },
  }
}
