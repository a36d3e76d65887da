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
import { parseProof } from '../../protocol/payment-proof.ts'
import type { Database } from '../../store/database.ts'
import { contentOf, digestOf, nullifierKeyOf, type Spender } from './decision.ts'
import type { AcceptedPayment } from './schemas.ts'
import { acceptedLate, findPayment, type PaymentRow, paymentAcceptances } from './store.ts'

interface Deps {
  readonly ledger: Pick<Ledger, 'append'>
  readonly database: Database
  readonly clock: Clock
}

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
    tx.write(acceptedLate(row, now))
    return answer(now)
  }
}

export const createLatePayments = ({ ledger, database, clock }: Deps) => ({
  /**
   * Accepts a late payment, which spends its nullifier now. Idempotent.
   * @throws AppError not_found, conflict when the payment is not late, double_spend when its card token paid
   *   meanwhile, insufficient_scope
   */
  async accept(caller: Caller, paymentId: string): Promise<AcceptedPayment> {
    requireOperator(caller)
    const row = (await findPayment(database, caller.organisation, paymentId)) ?? fail('not_found')
    // One that was accepted late gets the first answer below.
    if (row.status !== 'late' && row.accepted_at === null)
      fail('conflict', { message: `The payment is ${row.status}, not late.` })
    return ledger.append(caller, acceptance(caller, row, clock.now()))
  },
})
