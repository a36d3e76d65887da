/**
 * What is written to a terminal's journal, and what a terminal knows after reading it back.
 * A card token is never among it: only the proof, which begins with the hash of the token.
 * @module
 */
import type { QueuedPayment, RejectedPayment, ServerLimits } from '../types.ts'

/** One fact. Records are read in the order in which they were written; a later version only adds kinds and fields. */
export type JournalRecord =
  /** Whose journal this is. */
  | { readonly kind: 'terminal'; readonly merchantId: string }
  /** A proof was made. `undecided`: the server is being asked, so nobody has been told yet. */
  | ({ readonly kind: 'payment'; readonly undecided?: true } & QueuedPayment)
  /** An undecided payment was accepted offline. */
  | { readonly kind: 'queued'; readonly transactionId: string }
  /** The server has it. */
  | { readonly kind: 'synced'; readonly transactionId: string }
  /**
   * The server refused an undecided payment, or the till took back one that waited: `spent` its card is used up,
   * `known` its id is.
   */
  | {
      readonly kind: 'void'
      readonly transactionId: string
      readonly spent: boolean
      readonly known: boolean
    }
  /** The server refused a payment that had been accepted offline. */
  | ({ readonly kind: 'rejected' } & RejectedPayment)
  /** The last nonce that was used, for a journal whose payments are gone. */
  | { readonly kind: 'nonce'; readonly last: number }
  /** The server's limits for this terminal. */
  | { readonly kind: 'limits'; readonly limits: ServerLimits }

/** A payment that waited was taken back: neither its card nor its id is free. */
export const voidRecord = (transactionId: string): JournalRecord => ({
  kind: 'void',
  transactionId,
  spent: true,
  known: true,
})

/** All that a storage holds. */
export interface Contents {
  /** Snapshot of the nullifier set at the last rewrite; absent while there was none. */
  readonly nullifiers?: Uint8Array
  readonly records: readonly JournalRecord[]
}

/** What the records amount to. */
export interface Restored {
  readonly merchantId?: string
  readonly queue: Map<string, QueuedPayment>
  readonly undecided: Map<string, QueuedPayment>
  readonly rejected: RejectedPayment[]
  /** Payments whose nullifier is used up and may be missing from the snapshot. */
  readonly spent: QueuedPayment[]
  /** Transaction ids that no other payment may be given. */
  readonly usedIds: string[]
  readonly lastNonce: number
  /** The server's; absent while it hasn't said any. */
  readonly limits?: ServerLimits
}

/** Nonces are u16 and wrap. */
export const NONCE_COUNT = 65_536

/** Reads records in order. @param nonceOf reads the nonce out of a stored proof */
export const restore = (
  records: readonly JournalRecord[],
  nonceOf: (proof: string) => number | undefined,
): Restored => {
  const queue = new Map<string, QueuedPayment>()
  const undecided = new Map<string, QueuedPayment>()
  const rejected: RejectedPayment[] = []
  const spent: QueuedPayment[] = []
  const usedIds: string[] = []
  let merchantId: string | undefined
  let lastProof: string | undefined
  let lastNonce = NONCE_COUNT - 1
  let limits: ServerLimits | undefined

  /** Takes a payment out of wherever it waits. */
  const take = (id: string): QueuedPayment | undefined => {
    const payment = queue.get(id) ?? undecided.get(id)
    queue.delete(id)
    undecided.delete(id)
    return payment
  }
  for (const record of records) {
    if (record.kind === 'payment') {
      const { kind, undecided: asked, ...payment } = record
      ;(asked ? undecided : queue).set(payment.transactionId, payment)
      lastProof = payment.proof
    } else if (record.kind === 'queued') {
      const payment = take(record.transactionId)
      if (payment) queue.set(record.transactionId, payment)
    } else if (record.kind === 'synced') {
      const payment = take(record.transactionId)
      if (payment) spent.push(payment)
    } else if (record.kind === 'void') {
      const payment = take(record.transactionId)
      if (payment && record.spent) spent.push(payment)
      if (payment && record.known && (record.spent || payment.ownId)) usedIds.push(record.transactionId)
    } else if (record.kind === 'rejected') {
      take(record.transactionId)
      const { kind, ...payment } = record
      rejected.push(payment)
    } else if (record.kind === 'terminal') merchantId = record.merchantId
    else if (record.kind === 'limits') {
      // Earlier versions wrote an empty object while they knew none.
      if (Object.keys(record.limits).length > 0) limits = record.limits
    } else if (record.kind === 'nonce') {
      lastNonce = record.last
      lastProof = undefined
    }
  }
  spent.push(...queue.values(), ...rejected)
  if (lastProof !== undefined) lastNonce = nonceOf(lastProof) ?? lastNonce
  for (const { ownId, transactionId } of spent) if (ownId) usedIds.push(transactionId)
  return { merchantId, queue, undecided, rejected, spent, usedIds, lastNonce, limits }
}
