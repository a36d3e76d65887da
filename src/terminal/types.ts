/** What an application hands to a terminal and gets from it. Types only. @module */
import type { AmountLimit } from '../protocol/payment-limits.ts'
import type { PaymentMethod, RefusalCode } from '../protocol/sync.ts'
import type { Storage } from './storage/storage.ts'

export interface PaymentInput {
  /** One per purchase; 1 to 128 characters. A card number is refused. */
  readonly cardToken: string
  /** Major units, such as 12.5; positive, with at most the decimals of its currency. */
  readonly amount: number
  /** ISO 4217; default GBP. */
  readonly currency?: string | null
  readonly customerId?: string | null
  readonly paymentMethod?: PaymentMethod | null
  /** Replaces the generated id; 1 to 128 visible ASCII characters, used once. */
  readonly transactionId?: string | null
}

export interface PaymentResult {
  /** True only once the payment is durably recorded on this device. */
  readonly accepted: boolean
  /** Empty when the input was refused before an id was made. */
  readonly transactionId: string
  /** Bytes of the stored proof; 0 when nothing was stored. */
  readonly proofBytes: number
  /** The server has it. */
  readonly synced: boolean
  /** It waits on this device for the next upload. */
  readonly queued: boolean
  /**
   * `code: sentence`, when refused. `UNDECIDED`: another payment with this card token is undecided, and has to be presented
   * again first, with its amount.
   */
  readonly error?: string
  /**
   * Not accepted, but the server was asked and may have booked it: nobody knows until the same card token and amount are
   * presented again, which books it once. Take no other card before. It stays so where the server refuses without
   * having looked for the first attempt, such as of a revoked key.
   */
  readonly undecided?: true
}

/**
 * What is asked to hold while the server can't be asked. Amounts are major units and hold for each currency by itself.
 * The server's limits for this terminal are learnt with its token; of two, the stricter one holds.
 */
export interface Limits {
  /** Largest single payment. Default: the server's; 250 until that is known. */
  readonly floorLimit?: AmountLimit
  /** Largest sum of payments that wait for upload. Default: the server's; 5,000 until that is known. */
  readonly storedSumLimit?: AmountLimit
  /** Once a payment has waited this long, no more are accepted offline. Default: 30 days. */
  readonly maxOfflineAgeMs?: number
}

/** The server's limits for a terminal; null: none. */
export interface ServerLimits {
  readonly floorLimit: number | null
  readonly storedSumLimit: number | null
  readonly maxOfflineAgeMs: number | null
}

/** The limits that hold. An amount that is absent has none. */
export interface EffectiveLimits {
  readonly floorLimit?: number
  readonly storedSumLimit?: number
  readonly maxOfflineAgeMs: number
}

/** How long a terminal waits, in ms. */
export interface Timeouts {
  /** How quick the server must be for `pay` to ask it first: of a probe, and of a payment's check. Default: 500. */
  readonly quickMs?: number
  /** The longest that any request may take before it counts as lost. Default: 30,000. */
  readonly requestMs?: number
}

export interface TerminalOptions {
  /** Origin of the server, such as `https://assay.example`. */
  readonly baseUrl: string
  /** Keys the proofs; also the bearer credential unless the terminal has its own. */
  readonly apiKey: string
  readonly merchantId: string
  /** With `terminalSecret`: the terminal asks for a token of its own when it first needs one. */
  readonly terminalId?: string
  readonly terminalSecret?: string
  readonly storage: Storage
  readonly limits?: Limits
  readonly timeouts?: Timeouts
  readonly fetch?: typeof globalThis.fetch
  readonly clock?: { now(): number }
}

/** A payment that waits for upload. No card token, only its proof, is ever kept. */
export interface QueuedPayment {
  readonly transactionId: string
  /** Stored form, 66 characters of base64url. */
  readonly proof: string
  readonly amount: number
  readonly currency: string
  /** Unix ms; covered by the proof. */
  readonly timestamp: number
  /** The application chose the id. */
  readonly ownId: boolean
}

/** A payment that was accepted offline and then refused by the server: somebody has to look at it. */
export interface RejectedPayment extends QueuedPayment {
  readonly status: 'conflict' | 'rejected'
  readonly code: RefusalCode | (string & {})
  readonly message: string
}

export interface Pending {
  readonly count: number
  /** Currency → exact decimal sum in major units, such as `{ GBP: '12.50' }`. */
  readonly sums: Readonly<Record<string, string>>
  readonly transactions: readonly QueuedPayment[]
}

export interface Status {
  /** The server answers quickly, so that payments are checked with it. What waits is uploaded over a slow link too. */
  readonly online: boolean
  readonly pending: number
  /** Oldest first. */
  readonly rejected: readonly RejectedPayment[]
  /** Cards and own transaction ids that this terminal will not take again. */
  readonly nullifiers: number
  readonly limits: EffectiveLimits
  /** Why the last upload did not get through, or not all of it; absent once one does. */
  readonly lastError?: string
}

export interface FlushReport {
  readonly synced: number
  readonly conflicts: number
  readonly rejected: number
  /** Still waiting. */
  readonly pending: number
  /** Why it stopped before the queue was empty. */
  readonly error?: string
}

export interface TerminalEvents {
  online: undefined
  offline: undefined
  /** Accepted and waiting for upload. */
  queued: QueuedPayment
  /** Left the queue: the server has it. `late` waits there for an operator. */
  synced: QueuedPayment & { readonly status: 'synced' | 'duplicate' | 'late' }
  rejected: RejectedPayment
  /** Its card was used elsewhere first. */
  conflict: RejectedPayment
  /** Taken back before the server saw it. */
  voided: QueuedPayment
}

export interface Terminal {
  /** Decides on one payment. Refusals are results; it throws only when closed. @throws TerminalError closed */
  pay(input: PaymentInput): Promise<PaymentResult>
  /** Uploads what waits. A second call joins the running one. @throws TerminalError closed */
  flush(): Promise<FlushReport>
  pending(): Pending
  /**
   * Takes back a payment that has never left this device since the terminal was opened. Its card token stays used here.
   * @returns false when it isn't one: it was sent, may have been sent, or is not waiting
   * @throws TerminalError closed; storage_failed, and then it still waits
   */
  void(transactionId: string): Promise<boolean>
  /** Payments about which the server was asked and whose answer never arrived, oldest first; see {@link PaymentResult.undecided}. */
  undecided(): readonly QueuedPayment[]
  /** Transaction ids of the payments that `void` still takes back, oldest first. */
  voidable(): readonly string[]
  status(): Status
  /** Asks the server now whether it is there, and if so gets ready to ask it about payments. @throws TerminalError closed */
  probe(): Promise<boolean>
  /** @returns a function that ends the subscription */
  on<E extends keyof TerminalEvents>(event: E, listener: (detail: TerminalEvents[E]) => void): () => void
  /** Finishes what has begun, then lets go of the storage. */
  close(): Promise<void>
}
