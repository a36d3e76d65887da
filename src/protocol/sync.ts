/**
 * What a terminal and the server say to each other about payments: the shapes of `payments/validate` and
 * `transactions/sync`, their limits, and the words for a refusal. Types and constants only.
 * @module
 */

/** Most transactions one sync request may carry. */
export const MAX_SYNC_ITEMS = 50

/** A stamp may be this far ahead of the server's clock before it is refused as `CLOCK_SKEW`. */
export const MAX_CLOCK_AHEAD_MS = 5 * 60_000

/**
 * An upload that is refused as `CLOCK_SKEW` is only put off while its stamp is at most this far ahead: it is taken once its time has
 * come. Farther ahead, it is refused for good, since nobody waits that long.
 */
export const MAX_PUT_OFF_MS = 24 * 3_600_000

/** How old an offline payment may be when it arrives, unless the terminal's policy says otherwise: 30 days. */
export const DEFAULT_MAX_OFFLINE_AGE_MS = 30 * 24 * 3_600_000

/** Transaction ids: 1 to 128 visible ASCII characters. */
export const TRANSACTION_ID_PATTERN = '^[!-~]{1,128}$'

/** Why a payment was refused, with a sentence for people. Sending the same again helps only where {@link SyncError.retryable} says so. */
export const REFUSALS = {
  DOUBLE_SPEND: 'The card token of this payment was used before.',
  INVALID_MAC: 'The MAC of the proof does not match this key and these values.',
  PROOF_MALFORMED: 'The proof is neither a compact (36 characters) nor a stored one (66 characters).',
  CLOCK_SKEW: 'The timestamp is more than five minutes in the future.',
  TOO_OLD: 'The payment is older than the policy allows.',
  TIMESTAMP_INVALID:
    'The timestamp is neither ISO 8601 with a zone nor Unix seconds nor milliseconds of the years 1970 to 9998.',
  AMOUNT_INVALID: 'The amount is not a positive number with at most the decimals of its currency.',
  CURRENCY_INVALID: 'The currency is not an ISO 4217 code.',
  LIMIT_EXCEEDED: 'The amount is above the floor limit for offline payments.',
  ASSURANCE_TOO_LOW: 'The policy requires a proof with a verifiable MAC: stored form and timestamp.',
  KEY_REVOKED: 'The proof was made with a revoked key.',
  MERCHANT_INVALID: 'The merchant does not belong to the caller.',
  TRANSACTION_CONFLICT: 'This transaction id was used with other content.',
  TRANSACTION_ID_INVALID: 'A transaction id must have 1 to 128 visible ASCII characters.',
} as const satisfies Record<string, string>

export type RefusalCode = keyof typeof REFUSALS

/** What stands behind a decision: nothing, a well-formed proof, or a MAC that the server recomputed. */
export const ASSURANCES = ['none', 'structural', 'mac'] as const
export type Assurance = (typeof ASSURANCES)[number]

/**
 * `synced` stored now · `duplicate` stored before · `late` kept until an operator accepts it (made under a key that
 * is revoked) · `conflict` its nullifier was used by another payment · `rejected` refused.
 */
export const SYNC_STATUSES = ['synced', 'duplicate', 'conflict', 'rejected', 'late'] as const
export type SyncStatus = (typeof SYNC_STATUSES)[number]

/** One payment that a terminal accepted while offline. */
export interface QueuedTransaction {
  /** base64url: 66 characters (stored form) or 36 (compact form). */
  readonly proofData: string
  /** In major units, such as 12.5. */
  readonly amount: number
  /** ISO 4217; default GBP. */
  readonly currency?: string
  /** ISO 8601 with a zone, Unix seconds or Unix milliseconds. The MAC covers milliseconds. */
  readonly timestamp: string | number
  /** Default: derived from the proof, so that a repeated upload is recognised. */
  readonly transactionId?: string
  /** Which of its merchants a caller with an API key means; default: that of the key. */
  readonly merchantId?: string
}

/** Every member of a {@link QueuedTransaction}. */
export const QUEUED_MEMBERS = [
  'proofData',
  'amount',
  'currency',
  'timestamp',
  'transactionId',
  'merchantId',
] as const satisfies readonly (keyof QueuedTransaction)[]

/** What a terminal tells of itself with an upload, and when it authenticates. */
export interface TerminalState {
  /** What waits on it, besides the transactions of the same request. */
  readonly queued: {
    readonly count: number
    /** In major units, by currency. */
    readonly sum: readonly { readonly currency: string; readonly amount: number }[]
  }
  readonly version: string
  /** Unix ms. */
  readonly clock: number
}

export interface SyncWarning {
  /** JSON Pointer into the item. */
  readonly path: string
  readonly code: string
  readonly message: string
}

export interface SyncResult {
  /** Place in the request. */
  readonly index: number
  readonly transactionId: string
  readonly status: SyncStatus
  readonly assurance: Assurance
  /** Members of the item that are not known, and were ignored. Absent where there are none. */
  readonly warnings?: readonly SyncWarning[]
}

export interface SyncError {
  readonly index: number
  readonly transactionId: string
  readonly code: RefusalCode
  readonly message: string
  /** Whether sending the same again could help: see {@link MAX_PUT_OFF_MS}. */
  readonly retryable: boolean
}

/** `synced` counts synced, duplicate and late results; `failed` counts conflict and rejected ones. */
export interface SyncAnswer {
  readonly synced: number
  readonly failed: number
  readonly errors: readonly SyncError[]
  readonly results: readonly SyncResult[]
}

export interface ValidateRequest {
  readonly proofData: string
  readonly amount: number
  readonly currency?: string
  readonly timestamp?: string | number
  /** Names the attempt: the same id and content get the first answer again. */
  readonly transactionId?: string
  readonly merchantId?: string
  readonly customerId?: string
  readonly paymentMethod?: PaymentMethod
}

export const PAYMENT_METHODS = ['chip', 'contactless', 'nfc', 'qr'] as const
export type PaymentMethod = (typeof PAYMENT_METHODS)[number]

export interface ValidateAnswer {
  readonly valid: boolean
  readonly transactionId: string
  /** True implies `valid: false`. */
  readonly doubleSpend: boolean
  readonly assurance: Assurance
  /** Present when `valid` is false. */
  readonly reason?: RefusalCode
}
