/** The words of this domain: what is presented, what is decided. @module */
import type { ParsedProof } from '../../protocol/payment-proof.ts'
import type { Assurance, PaymentMethod, RefusalCode } from '../../protocol/sync.ts'

export type { Assurance, RefusalCode }

/** Which route a payment came by: asked before it is accepted, or told afterwards. */
export type Channel = 'validate' | 'sync'

/** `late`: made under a revoked key, waits for an operator to accept or reject it; its nullifier is free until then. */
export const PAYMENT_STATUSES = ['accepted', 'conflict', 'rejected', 'late'] as const
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number]

/** A payment as it was presented, read and checked as far as it could be. */
export interface Presented {
  readonly transactionId: string
  /** Whether the id recognises a repetition. False where the server had to make one up. */
  readonly named: boolean
  readonly merchantId?: string
  readonly proof?: ParsedProof
  /** base64url text of `proof`. */
  readonly proofText?: string
  /** Minor units, 1..2^53−1. */
  readonly amountMinor?: number
  readonly currency?: string
  /** The terminal's clock, Unix ms. */
  readonly stampedAt?: number
  readonly customerId?: string
  readonly paymentMethod?: PaymentMethod
  /** What is wrong with it, whoever presents it. */
  readonly refusal?: RefusalCode
}

/** A payment with nothing wrong in its form. */
export type WellFormed = Presented &
  Required<Pick<Presented, 'merchantId' | 'proof' | 'proofText' | 'amountMinor' | 'currency'>>

/** Narrows to payments that may go on to the checks of key and policy. */
export const isWellFormed = (payment: Presented): payment is WellFormed => payment.refusal === undefined

/** What the key and the policy say of a payment; only its nullifier is left to decide. */
export interface Judgement {
  readonly payment: Presented
  readonly assurance: Assurance
  /** Set: refused, whatever its nullifier. */
  readonly refusal?: RefusalCode
  /** The key behind the proof is revoked. */
  readonly keyRevoked?: boolean
}

/** What was decided, now or the first time. */
export interface Outcome {
  readonly transactionId: string
  readonly status: PaymentStatus
  readonly assurance: Assurance
  readonly reason?: RefusalCode
  /** The first answer to a repeated request: nothing was written. */
  readonly repeated: boolean
  /** Nothing was decided nor written: the same is taken once its time has come. */
  readonly isPutOff?: true
}
