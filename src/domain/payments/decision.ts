/**
 * From a judged payment to what the ledger decides: which keys it claims, what is written when it wins them and
 * what when it loses. The claim on the nullifier is the only double-spend check there is.
 *
 * Decisions stand under (terminal or key, transaction id): a repetition gets the first answer. A refusal for
 * form or policy decides nothing, so the same payment may be presented again when the policy has changed.
 * @module
 */
import { hash } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import { AppError } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Claim, Entry, Item, Receipt, Settled } from '../../ledger/item.ts'
import type { ParsedProof } from '../../protocol/payment-proof.ts'
import type { Assurance, RefusalCode } from '../../protocol/sync.ts'
import type { Row } from '../../store/table.ts'
import type { AlertInput } from '../security/service.ts'
import { type Channel, isWellFormed, type Judgement, type Outcome, type PaymentStatus } from './payment.ts'
import { payments } from './store.ts'

/** Kept with a claim on a transaction id: the first answer, and of which content. */
type FirstAnswer = {
  readonly content: string
  readonly status: PaymentStatus
  readonly assurance: Assurance
  readonly reason?: RefusalCode
}

/** Kept with a claim on a nullifier: the payment that used it. */
export type Spender = {
  readonly payment: string
  readonly transactionId: string
  readonly origin: string
  readonly content: string
  readonly assurance: Assurance
}

const TRANSACTION = 'transaction'
/** Kind of the claim that makes a card token pay only once; its holder is a {@link Spender}. */
export const NULLIFIER = 'nullifier'

const CONTENT_HEX_DIGITS = 32

const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')

/** The claim that makes a card token pay only once. */
export const nullifierClaim = ({ nullifier12 }: ParsedProof, spender: Spender): Claim => ({
  kind: NULLIFIER,
  key: hex(nullifier12),
  holder: spender,
  code: 'double_spend',
})

/** Lower-case hex of the compact form (27 bytes), which names a payment in the log. */
export const digestOf = ({ nullifier12, body }: ParsedProof): string => hex(nullifier12) + hex(body)

/**
 * What makes two presentations the same payment: proof, in either form, amount, currency and merchant. 128 bits of
 * SHA-256.
 */
export const contentOf = (
  proof: ParsedProof,
  amountMinor: number,
  currency: string,
  merchantId: string,
): string =>
  hash('sha256', `${digestOf(proof)}|${amountMinor}|${currency}|${merchantId}`).slice(0, CONTENT_HEX_DIGITS)

/** Who presents: a terminal or a key, as the ledger's subject. */
export const originOf = ({ credential }: Caller): readonly [kind: string, id: string] =>
  credential.kind === 'terminal' ? ['terminal', credential.terminalId] : ['key', credential.id]

/** The refusals of payments that may have been accepted when the policy was another, or time was. */
const POLICY_REFUSALS: ReadonlySet<RefusalCode> = new Set(['TOO_OLD', 'LIMIT_EXCEEDED', 'ASSURANCE_TOO_LOW'])

export interface DecisionContext {
  readonly caller: Caller
  readonly channel: Channel
  /** Unix ms: when the request arrived. */
  readonly now: number
  readonly alertRow: (alert: AlertInput) => Row
}

interface Decided {
  readonly status: PaymentStatus
  readonly reason?: RefusalCode
  /** The payment that came first, of a conflict. */
  readonly first?: Spender
}

/** One payment on its way to a decision. */
interface Case {
  readonly context: DecisionContext
  readonly judgement: Judgement
  /** `pay_…` */
  readonly id: string
  readonly subject: readonly [kind: string, id: string]
  /** See {@link contentOf}; empty where something is missing. */
  readonly content: string
  readonly extraRows: readonly Row[]
}

const rowOf = (
  { context, judgement: { payment, assurance }, id, subject }: Case,
  { status, reason, first }: Decided,
  receipt: Receipt,
): Row =>
  payments.row({
    id,
    organisation: context.caller.organisation,
    entry_index: receipt.index,
    status,
    reason: reason ?? null,
    channel: context.channel,
    transaction_id: payment.transactionId,
    merchant: payment.merchantId ?? null,
    origin: subject[1],
    proof: payment.proof?.bytes ?? null,
    amount_minor: payment.amountMinor ?? null,
    currency: payment.currency ?? null,
    assurance,
    stamped_at: payment.stampedAt ?? null,
    received_at: context.now,
    first_payment: first?.payment ?? null,
    first_transaction_id: first?.transactionId ?? null,
    first_origin: first?.origin ?? null,
    payment_method: payment.paymentMethod ?? null,
    customer_id: payment.customerId ?? null,
  })

const alertOf = ({ status, reason }: Decided): AlertInput['type'] | undefined => {
  if (status === 'conflict') return 'double_spend'
  if (reason === 'INVALID_MAC') return 'invalid_mac'
  return reason === 'KEY_REVOKED' ? 'key_revoked_used' : undefined
}

const alertRows = ({ context, subject }: Case, decided: Decided): Row[] => {
  const type = alertOf(decided)
  if (type === undefined) return []
  const { caller, now, alertRow } = context
  return [alertRow({ organisation: caller.organisation, type, subject: subject[1], at: now })]
}

const entryOf = (
  { context: { channel }, judgement: { payment, assurance }, subject }: Case,
  { status, reason }: Decided,
): Entry => ({
  type: 'payment',
  subject,
  ...(payment.proof && { digest: digestOf(payment.proof) }),
  data: {
    decision: status,
    ...(reason && { reason }),
    assurance,
    ...(payment.amountMinor !== undefined && { amountMinor: payment.amountMinor }),
    ...(payment.currency !== undefined && { currency: payment.currency }),
    channel,
  },
})

/** The claim on the transaction id; none where the request brought none. */
const transactionClaims = (
  { judgement: { payment, assurance }, subject, content }: Case,
  { status, reason }: Decided,
): Claim[] => {
  if (!payment.named) return []
  const holder: FirstAnswer = { content, status, assurance, ...(reason && { reason }) }
  const key = `${subject[1]}/${payment.transactionId}`
  return [{ kind: TRANSACTION, key, holder, code: 'transaction_conflict' }]
}

const nullifierClaims = ({ judgement: { payment, assurance }, id, subject, content }: Case): Claim[] => {
  const { transactionId, proof } = payment
  return proof
    ? [nullifierClaim(proof, { payment: id, transactionId, origin: subject[1], content, assurance })]
    : []
}

const asLooks = (claims: readonly Claim[]): Claim[] => claims.map((claim) => ({ ...claim, look: true }))

const repeated = ({ judgement }: Case, { status, assurance, reason }: FirstAnswer): Settled<Outcome> => {
  const { transactionId } = judgement.payment
  return { settled: { transactionId, status, assurance, ...(reason && { reason }), repeated: true } }
}

const itemOf = (self: Case, decided: Decided, claims: readonly Claim[]): Item<Outcome> => ({
  claims,
  entry: entryOf(self, decided),
  rows: (receipt) => [rowOf(self, decided, receipt), ...alertRows(self, decided), ...self.extraRows],
  result: () => ({
    transactionId: self.judgement.payment.transactionId,
    status: decided.status,
    assurance: self.judgement.assurance,
    ...(decided.reason && { reason: decided.reason }),
    repeated: false,
  }),
  // The holders are what the claims above carry.
  lost: ({ claim, holder }) =>
    claim.kind === TRANSACTION
      ? lostTransaction(self, holder as FirstAnswer)
      : lostNullifier(self, decided, claims, holder as Spender),
})

/** The transaction id was used by the same terminal or key before. */
const lostTransaction = (self: Case, first: FirstAnswer): Item<Outcome> | Settled<Outcome> => {
  if (first.content === self.content) return repeated(self, first)
  if (self.context.channel === 'validate') throw new AppError('transaction_conflict')
  return itemOf(self, { status: 'rejected', reason: 'TRANSACTION_CONFLICT' }, [])
}

/** The card token paid before: with this very payment, or with another. */
const lostNullifier = (
  self: Case,
  decided: Decided,
  claims: readonly Claim[],
  first: Spender,
): Item<Outcome> | Settled<Outcome> => {
  const { context, judgement, subject, content } = self
  const { payment } = judgement
  const isSame = first.origin === subject[1] && first.content === content
  // An upload tells what happened, so the same payment under another id is no second use; asking again is.
  if (
    isSame &&
    (context.channel === 'sync' || (payment.named && first.transactionId === payment.transactionId))
  )
    return repeated(self, { content, status: 'accepted', assurance: first.assurance })
  if (decided.status !== 'accepted') {
    return itemOf(
      self,
      decided,
      claims.filter(({ kind }) => kind === TRANSACTION),
    )
  }
  const conflict: Decided = { status: 'conflict', reason: 'DOUBLE_SPEND', first }
  return itemOf(self, conflict, transactionClaims(self, conflict))
}

/**
 * The ledger item of one payment.
 * @param extraRows rows that are written whatever is decided, such as the terminal's clock
 */
export const decide = (
  context: DecisionContext,
  judgement: Judgement,
  extraRows: readonly Row[] = [],
): Item<Outcome> => {
  const { payment, keyRevoked } = judgement
  const self: Case = {
    context,
    judgement,
    id: newId('pay', context.now),
    subject: originOf(context.caller),
    content: isWellFormed(payment)
      ? contentOf(payment.proof, payment.amountMinor, payment.currency, payment.merchantId)
      : '',
    extraRows,
  }
  const accepted: Decided = { status: 'accepted' }
  const reason = payment.refusal ?? judgement.refusal
  if (reason) {
    // What was accepted while the policy was another stays accepted.
    const known = [...transactionClaims(self, accepted), ...nullifierClaims(self)]
    return itemOf(self, { status: 'rejected', reason }, POLICY_REFUSALS.has(reason) ? asLooks(known) : [])
  }
  if (!keyRevoked)
    return itemOf(self, accepted, [...transactionClaims(self, accepted), ...nullifierClaims(self)])
  if (context.channel === 'validate') {
    return itemOf(self, { status: 'rejected', reason: 'KEY_REVOKED' }, [])
  }
  const late: Decided = { status: 'late', reason: 'KEY_REVOKED' }
  return itemOf(self, late, [...transactionClaims(self, late), ...asLooks(nullifierClaims(self))])
}
