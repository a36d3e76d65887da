/**
 * From a judged payment to what the ledger decides: whether it was presented before, and what is written if not. The claim
 * on the nullifier is the only double-spend check there is.
 *
 * Decisions stand under (terminal or key, transaction id): a repetition gets the first answer. A refusal for
 * form or policy decides nothing, so the same payment may be presented again when the policy has changed. A card token that
 * was spent is a conflict whether or not the policy would take the payment.
 * @module
 */
import { hash } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import { AppError } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Entry, Tx } from '../../ledger/decision.ts'
import type { ParsedProof } from '../../protocol/payment-proof.ts'
import { type Assurance, MAX_PUT_OFF_MS, type RefusalCode } from '../../protocol/sync.ts'
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

const { paymentTransaction: TRANSACTION, paymentNullifier: NULLIFIER } = CLAIM_KINDS

const CONTENT_HEX_DIGITS = 32

const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')

/** The key whose claim makes a card token pay only once; its holder is a {@link Spender}. */
export const nullifierKeyOf = ({ nullifier12 }: Pick<ParsedProof, 'nullifier12'>): string => hex(nullifier12)

/** Lower-case hex of the compact form (27 bytes), which names a payment in the log. */
export const digestOf = ({ nullifier12, body }: ParsedProof): string => hex(nullifier12) + hex(body)

/**
 * What makes two presentations the same payment: proof, in either form, amount, currency and merchant. 128 bits of
 * SHA-256.
 * @param digest of the proof, see {@link digestOf}
 */
export const contentOf = (
  digest: string,
  amountMinor: number,
  currency: string,
  merchantId: string,
): string => hash('sha256', `${digest}|${amountMinor}|${currency}|${merchantId}`).slice(0, CONTENT_HEX_DIGITS)

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
  /** The key of the transaction id; undefined where the request brought none. */
  readonly transaction: string | undefined
  /** See {@link nullifierKeyOf} and {@link digestOf}; undefined without a proof. */
  readonly nullifier: string | undefined
  readonly digest: string | undefined
  /** See {@link contentOf}; empty where something is missing. */
  readonly content: string
  readonly extraRows: readonly Row[]
  /** Those that were made: their ids are random, and each run of the decision has to write the same. */
  readonly alerts: Map<AlertInput['type'], Row>
}

const rowOf = (
  { context, judgement: { payment, assurance }, id, subject }: Case,
  { status, reason, first }: Decided,
  index: number,
): Row =>
  payments.row({
    id,
    organisation: context.caller.organisation,
    entry_index: index,
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
    accepted_at: null,
    rejected_at: null,
    rejection_reason: null,
  })

const alertOf = ({ status, reason }: Decided): AlertInput['type'] | undefined => {
  if (status === 'conflict') return 'double_spend'
  if (reason === 'INVALID_MAC') return 'invalid_mac'
  return reason === 'KEY_REVOKED' ? 'key_revoked_used' : undefined
}

const alertRows = ({ context, subject, alerts }: Case, decided: Decided): Row[] => {
  const type = alertOf(decided)
  if (type === undefined) return []
  const { caller, now, alertRow } = context
  const row =
    alerts.get(type) ?? alertRow({ organisation: caller.organisation, type, subject: subject[1], at: now })
  alerts.set(type, row)
  return [row]
}

const entryOf = (
  { context: { channel }, judgement: { payment, assurance }, subject, digest }: Case,
  { status, reason }: Decided,
): Entry => {
  const { amountMinor, currency } = payment
  return {
    type: 'payment',
    subject,
    digest,
    data: { decision: status, reason, assurance, amountMinor, currency, channel },
  }
}

const repeated = ({ judgement }: Case, { status, assurance, reason }: FirstAnswer): Outcome => {
  const { transactionId } = judgement.payment
  return { transactionId, status, assurance, reason, repeated: true }
}

/** Writes what was decided. */
const book = (self: Case, tx: Tx, decided: Decided): Outcome => {
  const { index } = tx.append(entryOf(self, decided))
  tx.write(rowOf(self, decided, index))
  for (const row of alertRows(self, decided)) tx.write(row)
  for (const row of self.extraRows) tx.write(row)
  const { payment, assurance } = self.judgement
  const { status, reason } = decided
  return { transactionId: payment.transactionId, status, assurance, reason, repeated: false }
}

/** Whether the card token paid before with this very payment. */
const isRepetition = ({ context, judgement: { payment }, subject, content }: Case, first: Spender): boolean =>
  first.origin === subject[1] &&
  first.content === content &&
  // An upload tells what happened, so the same payment under another id is no second use; asking again is.
  (context.channel === 'sync' || (payment.named && first.transactionId === payment.transactionId))

/** What a payment comes to that nobody was before. */
const wantedOf = ({ context, judgement }: Case): Decided => {
  const reason = judgement.payment.refusal ?? judgement.refusal
  if (reason) return { status: 'rejected', reason }
  if (!judgement.keyRevoked) return { status: 'accepted' }
  return { status: context.channel === 'validate' ? 'rejected' : 'late', reason: 'KEY_REVOKED' }
}

/** Whether an upload comes again and may then be taken. @param reason why it is refused now */
const isPutOff = ({ context, judgement }: Case, reason: RefusalCode | undefined): boolean => {
  const { stampedAt = Number.POSITIVE_INFINITY } = judgement.payment
  return context.channel === 'sync' && reason === 'CLOCK_SKEW' && stampedAt - context.now <= MAX_PUT_OFF_MS
}

const decideCase = (self: Case, tx: Tx): Outcome => {
  const { context, judgement, id, subject, transaction, nullifier, content } = self
  const { transactionId } = judgement.payment
  const { assurance } = judgement
  const wanted = wantedOf(self)
  // Written, each attempt would be listed, and the payment as rejected beside accepted.
  if (isPutOff(self, wanted.reason))
    return { transactionId, ...wanted, assurance, repeated: false, isPutOff: true }
  // What was accepted while the policy was another stays accepted.
  const mayBeKnown =
    wanted.reason === undefined || POLICY_REFUSALS.has(wanted.reason) || wanted.status === 'late'
  if (!mayBeKnown) return book(self, tx, wanted)

  // The holders are what is claimed below. Both are asked for before either counts: of the payments of an upload that share
  // an id, each could otherwise name a key of its own only when the one before it is decided.
  const answered = transaction === undefined ? undefined : tx.holder(TRANSACTION, transaction)
  const spent = nullifier === undefined ? undefined : tx.holder(NULLIFIER, nullifier)
  if (answered) {
    const first = answered.holder as FirstAnswer
    if (first.content === content) return repeated(self, first)
    if (context.channel === 'validate') throw new AppError('transaction_conflict')
    return book(self, tx, { status: 'rejected', reason: 'TRANSACTION_CONFLICT' })
  }
  const spender = spent?.holder as Spender | undefined
  if (spender && isRepetition(self, spender))
    return repeated(self, { content, status: 'accepted', assurance: spender.assurance })

  // Of a spent card token it is said whatever the policy allows. What comes under a revoked key is an operator's to judge.
  const isConflict = spender !== undefined && !judgement.keyRevoked
  const decided: Decided = isConflict
    ? { status: 'conflict', reason: 'DOUBLE_SPEND', first: spender }
    : wanted
  const { status, reason } = decided
  if (transaction !== undefined && status !== 'rejected') {
    const first = { content, status, assurance }
    tx.claim(TRANSACTION, transaction, reason === undefined ? first : { ...first, reason })
  }
  if (nullifier !== undefined && status === 'accepted')
    tx.claim(NULLIFIER, nullifier, {
      payment: id,
      transactionId,
      origin: subject[1],
      content,
      assurance,
    })
  return book(self, tx, decided)
}

/**
 * Decides one payment.
 * @param extraRows rows that are written whatever is decided, such as the terminal's clock
 */
export const decide = (
  context: DecisionContext,
  judgement: Judgement,
  extraRows: readonly Row[] = [],
): ((tx: Tx) => Outcome) => {
  const { payment } = judgement
  const { proof } = payment
  const digest = proof && digestOf(proof)
  const subject = originOf(context.caller)
  const self: Case = {
    context,
    judgement,
    id: newId('pay', context.now),
    subject,
    transaction: payment.named ? `${subject[1]}/${payment.transactionId}` : undefined,
    nullifier: proof && nullifierKeyOf(proof),
    digest,
    content:
      digest !== undefined && isWellFormed(payment)
        ? contentOf(digest, payment.amountMinor, payment.currency, payment.merchantId)
        : '',
    extraRows,
    alerts: new Map(),
  }
  return (tx) => decideCase(self, tx)
}
