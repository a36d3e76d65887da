/**
 * What the terminal knows: payments that wait, that are being decided, that were refused, and which cards and ids are
 * used up. It changes only in step with the journal.
 * @module
 */
import type { Core, NullifierSet } from '../core/index.ts'
import { NULLIFIER_FRAGMENT_BYTES } from '../protocol/payment-proof.ts'
import { TerminalError } from './errors.ts'
import { minorUnitsOf } from './payment-input.ts'
import type { Contents, JournalRecord, Restored } from './storage/records.ts'
import type { QueuedPayment, RejectedPayment } from './types.ts'

/** Base64url characters of the 12-byte nullifier fragment with which every proof begins. */
const NULLIFIER_CHARACTERS = 16
const OWN_ID_LABEL = 'transaction-id/1:'

/** The part of a proof that names its card. */
export const nullifierTextOf = (proof: string): string => proof.slice(0, NULLIFIER_CHARACTERS)

export interface Book {
  /** Waits for upload, in the order in which it was taken; one that was undecided before may be older than those in front of it. */
  readonly queue: ReadonlyMap<string, QueuedPayment>
  /** The earliest stamp of the queue, Unix ms; Infinity where nothing waits. */
  readonly oldestStamp: number
  /** Asked the server, and not told by it; by nullifier. The same card may take it up again. */
  unsettled(nullifier: string): QueuedPayment | undefined
  /** All of these, oldest first. */
  undecided(): QueuedPayment[]
  readonly rejected: readonly RejectedPayment[]
  /** Number of entries of the nullifier set. */
  readonly nullifiers: number
  /** Currency → minor units that wait or are about to; see {@link Book.hold}. */
  readonly sums: ReadonlyMap<string, bigint>
  /** Counts a payment that is about to be accepted offline, so that two at once can't both use up a limit. */
  hold(currency: string, amountMinor: number): void
  /** Takes back a {@link Book.hold}. */
  letGo(currency: string, amountMinor: number): void
  isSpent(proof: string): boolean
  /** Whether an own id is taken: by a payment that waits, was refused or was taken back, or by any other that was given its id. */
  isUsedId(transactionId: string): boolean
  /** Being decided: nobody has been told. */
  addUndecided(payment: QueuedPayment): void
  /** Accepted offline. Its amount is held already. @param asked the server was, and may have it */
  addQueued(payment: QueuedPayment, asked: boolean): void
  /** Waiting payments that have never left this device since it was opened: nobody else can have them. */
  readonly unsent: ReadonlySet<string>
  /** What is uploaded next, at most so many, and none of those put off; from now on they count as sent. */
  nextBatch(max: number, putOff: Pick<ReadonlySet<string>, 'has'>): QueuedPayment[]
  /** Keeps an unsent payment from being uploaded. @returns undefined when it isn't one */
  takeBack(transactionId: string): QueuedPayment | undefined
  /** Undoes {@link Book.takeBack}. */
  putBack(payment: QueuedPayment): void
  /** The server has it. */
  settle(payment: QueuedPayment): void
  /** The server refused it before anybody was told, or the till took it back before the server saw it. */
  void(payment: QueuedPayment, spent: boolean, known: boolean): void
  /** The server refused it after it was accepted here. */
  reject(payment: RejectedPayment): void
  /** Everything, for a fresh journal. */
  contents(own: readonly JournalRecord[]): Contents
}

export const createBook = (
  core: Core,
  spent: NullifierSet,
  restored: Pick<Restored, 'queue' | 'undecided' | 'rejected' | 'spent' | 'usedIds'>,
): Book => {
  const queue = new Map(restored.queue)
  /** By card. Journals of earlier versions may hold two of one card, of which only the later can still be taken up. */
  const undecided = new Map<string, QueuedPayment>()
  const rejected = [...restored.rejected]
  const sums = new Map<string, bigint>()
  const unsent = new Set<string>()
  /** Undefined: to be looked for when it is asked for. */
  let oldestStamp: number | undefined
  /** About to be void. */
  const takenBack = new Set<string>()

  const cardKey = (proof: string): Uint8Array => {
    const nullifier = core.base64urlDecode(nullifierTextOf(proof))
    // Proofs are made here or read back under a checksum.
    if (nullifier?.length !== NULLIFIER_FRAGMENT_BYTES)
      throw new TerminalError('journal_damaged', 'A proof is malformed.')
    return nullifier
  }
  const idKey = (id: string): Uint8Array =>
    core.sha256(OWN_ID_LABEL + id).subarray(0, NULLIFIER_FRAGMENT_BYTES)
  const burnId = (id: string): void => {
    spent.add(idKey(id))
  }
  const burn = ({ proof, ownId, transactionId }: QueuedPayment): void => {
    spent.add(cardKey(proof))
    if (ownId) burnId(transactionId)
  }
  const dropUndecided = ({ proof, transactionId }: QueuedPayment): void => {
    const card = nullifierTextOf(proof)
    if (undecided.get(card)?.transactionId === transactionId) undecided.delete(card)
  }
  const add = (currency: string, minor: bigint): void => {
    const sum = (sums.get(currency) ?? 0n) + minor
    if (sum === 0n) sums.delete(currency)
    else sums.set(currency, sum)
  }
  const leaveQueue = ({ transactionId, currency, amount, timestamp }: QueuedPayment): void => {
    if (!queue.delete(transactionId)) return
    if (timestamp === oldestStamp) oldestStamp = undefined
    add(currency, -minorUnitsOf(amount, currency))
  }
  const findOldestStamp = (): number => {
    let oldest = Number.POSITIVE_INFINITY
    for (const { timestamp } of queue.values()) oldest = Math.min(oldest, timestamp)
    return oldest
  }

  for (const payment of restored.undecided.values()) undecided.set(nullifierTextOf(payment.proof), payment)
  for (const { proof } of restored.spent) spent.add(cardKey(proof))
  for (const id of restored.usedIds) burnId(id)
  for (const { currency, amount } of queue.values()) add(currency, minorUnitsOf(amount, currency))

  return {
    queue,
    get oldestStamp() {
      oldestStamp ??= findOldestStamp()
      return oldestStamp
    },
    rejected,
    get nullifiers() {
      return spent.size
    },
    unsettled: (nullifier) => undecided.get(nullifier),
    undecided: () => [...undecided.values()],
    sums,
    hold: (currency, amountMinor) => add(currency, BigInt(amountMinor)),
    letGo: (currency, amountMinor) => add(currency, -BigInt(amountMinor)),
    isSpent: (proof) => spent.has(cardKey(proof)),
    // Generated ids are not burnt, which would double the set: only those are known whose payments are kept.
    isUsedId: (id) =>
      queue.has(id) || rejected.some(({ transactionId }) => transactionId === id) || spent.has(idKey(id)),
    addUndecided: (payment) => {
      undecided.set(nullifierTextOf(payment.proof), payment)
    },
    addQueued: (payment, asked) => {
      dropUndecided(payment)
      queue.set(payment.transactionId, payment)
      if (oldestStamp !== undefined) oldestStamp = Math.min(oldestStamp, payment.timestamp)
      if (!asked) unsent.add(payment.transactionId)
      burn(payment)
    },
    unsent,
    nextBatch: (max, putOff) => {
      const batch: QueuedPayment[] = []
      for (const payment of queue.values()) {
        if (takenBack.has(payment.transactionId) || putOff.has(payment.transactionId)) continue
        unsent.delete(payment.transactionId)
        if (batch.push(payment) === max) break
      }
      return batch
    },
    takeBack: (transactionId) => {
      if (!unsent.delete(transactionId)) return undefined
      takenBack.add(transactionId)
      return queue.get(transactionId)
    },
    putBack: ({ transactionId }) => {
      takenBack.delete(transactionId)
      unsent.add(transactionId)
    },
    settle: (payment) => {
      dropUndecided(payment)
      leaveQueue(payment)
      burn(payment)
    },
    void: (payment, isSpent, isKnown) => {
      dropUndecided(payment)
      leaveQueue(payment)
      takenBack.delete(payment.transactionId)
      if (isSpent) spent.add(cardKey(payment.proof))
      if (isKnown && (isSpent || payment.ownId)) burnId(payment.transactionId)
    },
    reject: (payment) => {
      leaveQueue(payment)
      rejected.push(payment)
    },
    contents: (own) => ({
      nullifiers: spent.snapshot(),
      records: [
        ...rejected.map((payment): JournalRecord => ({ kind: 'rejected', ...payment })),
        ...Array.from(
          undecided.values(),
          (payment): JournalRecord => ({ kind: 'payment', undecided: true, ...payment }),
        ),
        ...Array.from(queue.values(), (payment): JournalRecord => ({ kind: 'payment', ...payment })),
        // Behind the payments, since the newest of them need not carry the newest nonce.
        ...own,
      ],
    }),
  }
}
