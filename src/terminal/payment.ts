/**
 * What one payment goes through: input, proof, nullifier, journal, server. It is recorded before the server is asked
 * and again when its fate is known, so that neither a crash nor a lost answer makes it two, or none.
 * @module
 */
import type { ProofKey } from '../core/index.ts'
import { STORED_BYTES, transactionIdFor } from '../protocol/payment-proof.ts'
import { REFUSALS, type RefusalCode, type ValidateAnswer } from '../protocol/sync.ts'
import { type Book, nullifierTextOf } from './book.ts'
import type { Connectivity } from './connectivity.ts'
import { TerminalError } from './errors.ts'
import type { Events } from './events.ts'
import type { Flusher } from './flush.ts'
import { offlineRefusal } from './limits.ts'
import { type MerchantApi, Refusal, ServerFault, wireOf } from './merchant-api.ts'
import { type CheckedPayment, checkPayment } from './payment-input.ts'
import { type JournalRecord, NONCE_COUNT } from './storage/records.ts'
import type { EffectiveLimits, PaymentInput, PaymentResult, QueuedPayment } from './types.ts'

interface Deps {
  /** Holds the API key. */
  readonly prover: ProofKey
  readonly merchantId: string
  readonly lastNonce: number
  readonly book: Book
  readonly api: Pick<MerchantApi, 'validate'>
  readonly clock: { now(): number }
  readonly events: Pick<Events, 'emit'>
  readonly record: (records: readonly JournalRecord[], apply: () => void) => Promise<void>
  readonly connectivity: Pick<Connectivity, 'online' | 'lost'>
  readonly uploads: Pick<Flusher, 'wake' | 'hold'>
  readonly limits: () => EffectiveLimits
}

export interface Cashier {
  readonly lastNonce: number
  pay(input: PaymentInput): Promise<PaymentResult>
  /** Waits for payments that have begun, then wipes the key. */
  close(): Promise<void>
}

const ID_UNDECIDED =
  'TRANSACTION_CONFLICT: A payment under this transaction id is undecided: the server was asked and did not answer. ' +
  'Present it again, with the same card token and amount, once the server is back; another payment needs another id.'

/** What a card token may not pay while another payment with it is undecided: that one could be settled no more. */
const cardUndecided = ({ amount, currency, ownId, transactionId }: QueuedPayment): string =>
  `UNDECIDED: A payment of ${amount} ${currency} with this card token${ownId ? `, under the transaction id ${transactionId},` : ''} is undecided: ` +
  'the server was asked and did not answer. Present that one again once the server is back, which charges it once.'

const SAYS_NOTHING =
  ' This says nothing of the attempt before it, which the server may have booked: it stays undecided. Look there whether it was.'

const refused = (transactionId: string, error: string): PaymentResult => ({
  accepted: false,
  transactionId,
  proofBytes: 0,
  synced: false,
  queued: false,
  error,
})

const accepted = (transactionId: string, synced: boolean): PaymentResult => ({
  accepted: true,
  transactionId,
  proofBytes: STORED_BYTES,
  synced,
  queued: !synced,
})

/** The server's word on a payment; undefined when it could not be had. */
type Word =
  | { readonly valid: true }
  | {
      readonly valid: false
      readonly spent: boolean
      readonly known: boolean
      /** It holds of earlier attempts, too: the server has looked whether it knows them. */
      readonly lookedUp: boolean
      readonly error: string
    }
  | undefined

/** Refusals that the server makes once it has looked for an earlier attempt. Others, such as of a revoked key, come before that. */
const LOOKED_UP: ReadonlySet<string> = new Set<RefusalCode>([
  'DOUBLE_SPEND',
  'TRANSACTION_CONFLICT',
  'TOO_OLD',
  'LIMIT_EXCEEDED',
  'ASSURANCE_TOO_LOW',
])
const CONFLICT = 409

const wordOf = ({ valid, doubleSpend, reason }: ValidateAnswer): Word => {
  if (valid) return { valid }
  const code = reason ?? (doubleSpend ? 'DOUBLE_SPEND' : 'rejected')
  const sentence = Object.hasOwn(REFUSALS, code)
    ? REFUSALS[code as keyof typeof REFUSALS]
    : 'The server refused the payment.'
  const lookedUp = doubleSpend || LOOKED_UP.has(code)
  return { valid, spent: doubleSpend, known: true, lookedUp, error: `${code}: ${sentence}` }
}

export const createCashier = (deps: Deps): Cashier => {
  const { prover, merchantId, book, api, clock, events, record, connectivity, uploads, limits } = deps
  let nonce = deps.lastNonce
  /** Cards (nullifiers) and own transaction ids of payments that are being decided. */
  const presented = new Set<string>()
  let deciding = 0
  let onIdle: (() => void) | undefined

  const prove = ({
    cardToken,
    amount,
    amountMinor,
    currency,
    transactionId,
  }: CheckedPayment): QueuedPayment => {
    nonce = (nonce + 1) % NONCE_COUNT
    const timestamp = clock.now()
    const { stored } = prover.prove({
      cardToken,
      amountMinor,
      currency,
      nonce,
      timestampMs: timestamp,
      merchantId,
    })
    return {
      transactionId: transactionId ?? transactionIdFor(stored),
      proof: stored,
      amount,
      currency,
      timestamp,
      ownId: transactionId !== undefined,
    }
  }

  /** The attempt that this repeats: same card and content, and the server's answer to it never arrived. */
  const repeated = (fresh: QueuedPayment): QueuedPayment | undefined => {
    const earlier = book.unsettled(nullifierTextOf(fresh.proof))
    const same =
      earlier &&
      earlier.amount === fresh.amount &&
      earlier.currency === fresh.currency &&
      (!fresh.ownId || earlier.transactionId === fresh.transactionId)
    return same ? earlier : undefined
  }

  const askServer = async (payment: QueuedPayment, input: CheckedPayment): Promise<Word> => {
    const { customerId, paymentMethod } = input
    const optional = {
      ...(customerId !== undefined && { customerId }),
      ...(paymentMethod && { paymentMethod }),
    }
    try {
      return wordOf(await api.validate({ ...wireOf(payment, merchantId), ...optional }))
    } catch (error) {
      if (error instanceof Refusal) {
        const spent = error.code === 'double_spend'
        const known = error.status === CONFLICT
        return { valid: false, spent, known, lookedUp: known, error: `${error.code}: ${error.message}` }
      }
      if (!(error instanceof ServerFault)) throw error
      if (!error.reached) connectivity.lost()
      if (error.retryAfterMs !== undefined) uploads.hold(error.retryAfterMs)
      return undefined
    }
  }

  /**
   * When the payment was made that has waited longest: one of the queue, or this one, which may repeat an old attempt; Infinity where
   * that is unknown. A stamp of a clock ahead tells nothing; where the earliest is one, all are.
   */
  const oldestStamp = ({ timestamp }: QueuedPayment, now: number): number => {
    const oldest = Math.min(book.oldestStamp, timestamp)
    return oldest <= now ? oldest : Number.POSITIVE_INFINITY
  }

  /** Accepts a payment without the server. @param recorded it stands in the journal as undecided */
  const acceptOffline = async (
    payment: QueuedPayment,
    amountMinor: number,
    recorded: boolean,
  ): Promise<PaymentResult> => {
    const { transactionId, amount, currency } = payment
    const now = clock.now()
    const situation = {
      amount,
      amountMinor,
      currency,
      storedMinor: book.sums.get(currency) ?? 0n,
      oldest: oldestStamp(payment, now),
      now,
    }
    const refusal = offlineRefusal(limits(), situation)
    if (refusal !== undefined) {
      const unknown =
        ' The server was asked and did not answer: present the same payment again once it is back.'
      return recorded
        ? { ...refused(transactionId, refusal + unknown), undecided: true }
        : refused(transactionId, refusal)
    }
    book.hold(currency, amountMinor)
    try {
      await record([recorded ? { kind: 'queued', transactionId } : { kind: 'payment', ...payment }], () =>
        book.addQueued(payment, recorded),
      )
    } catch (error) {
      book.letGo(currency, amountMinor)
      throw error
    }
    events.emit('queued', payment)
    if (connectivity.online) uploads.wake()
    return accepted(transactionId, false)
  }

  const decide = async (payment: QueuedPayment, input: CheckedPayment): Promise<PaymentResult> => {
    const { transactionId } = payment
    const isRepeat = book.unsettled(nullifierTextOf(payment.proof)) === payment
    if (!connectivity.online) return acceptOffline(payment, input.amountMinor, isRepeat)
    if (!isRepeat) {
      await record([{ kind: 'payment', undecided: true, ...payment }], () => book.addUndecided(payment))
    }
    const word = await askServer(payment, input)
    if (!word) return acceptOffline(payment, input.amountMinor, true)
    if (word.valid) {
      await record([{ kind: 'synced', transactionId }], () => book.settle(payment))
      return accepted(transactionId, true)
    }
    const { spent, known, lookedUp, error } = word
    if (isRepeat && !lookedUp) return { ...refused(transactionId, error + SAYS_NOTHING), undecided: true }
    await record([{ kind: 'void', transactionId, spent, known }], () => book.void(payment, spent, known))
    return refused(transactionId, error)
  }

  /** Whether the server may know a payment by this id. */
  const isUnsettledId = (id: string): boolean =>
    book.undecided().some(({ transactionId }) => transactionId === id)

  /** Why a payment may not even be tried. @param isRepeat its id is that of the attempt it repeats */
  const refusalOf = (
    { proof, ownId, transactionId }: QueuedPayment,
    isRepeat: boolean,
  ): string | undefined => {
    if (book.isSpent(proof)) return `DOUBLE_SPEND: ${REFUSALS.DOUBLE_SPEND}`
    if (presented.has(nullifierTextOf(proof))) return 'DOUBLE_SPEND: The card token is just being presented.'
    if (ownId && (presented.has(transactionId) || book.isUsedId(transactionId)))
      return 'TRANSACTION_CONFLICT: This transaction id was used before.'
    if (isRepeat) return undefined
    if (ownId && isUnsettledId(transactionId)) return ID_UNDECIDED
    const undecided = book.unsettled(nullifierTextOf(proof))
    return undecided && cardUndecided(undecided)
  }

  const pay = async (input: PaymentInput): Promise<PaymentResult> => {
    const checked = checkPayment(input)
    if ('error' in checked) return refused('', checked.error)
    const fresh = prove(checked)
    const earlier = repeated(fresh)
    const refusal = refusalOf(fresh, earlier !== undefined)
    if (refusal !== undefined) return refused(fresh.transactionId, refusal)
    const card = nullifierTextOf(fresh.proof)
    const payment = earlier ?? fresh
    presented.add(card)
    if (payment.ownId) presented.add(payment.transactionId)
    deciding++
    try {
      return await decide(payment, checked)
    } catch (error) {
      // What isn't recorded isn't accepted. The card stays free: the same payment may be presented again.
      if (!(error instanceof TerminalError)) throw error
      const result = refused(payment.transactionId, `${error.code}: ${error.message}`)
      return book.unsettled(card) === payment ? { ...result, undecided: true } : result
    } finally {
      presented.delete(card)
      presented.delete(payment.transactionId)
      if (--deciding === 0) onIdle?.()
    }
  }

  return {
    get lastNonce() {
      return nonce
    },
    pay,
    close: async () => {
      if (deciding > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
      }
      prover.dispose()
    },
  }
}
