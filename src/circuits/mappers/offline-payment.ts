/**
 * From a payment that a terminal took offline to the values of `offline_validation`. The terminal and the server come to
 * the same public signals, each from what it has.
 * @module
 */
import { parseProof, toMinorUnits } from '../../protocol/payment-proof.ts'
import { contextElement } from '../../rules/encode.ts'
import { type OfflineValidationValues, offlineValidation } from './offline_validation.ts'
import { cardNullifierElement, terminalSecretElement } from './terminal-secret.ts'

/** As the terminal's `pending()` tells it. */
export interface ProvablePayment {
  readonly transactionId: string
  /** Stored form, 66 characters of base64url. */
  readonly proof: string
  /** In major units, such as 12.5. */
  readonly amount: number
  /** ISO 4217. */
  readonly currency: string
  /** Unix ms. */
  readonly timestamp: number
}

export interface OfflinePaymentStatement {
  readonly payment: ProvablePayment
  /** As it was shown once. */
  readonly terminalSecret: string
  /** Address of the service, as in its `BASE_URL`. */
  readonly baseUrl: string
  /** `org_…` and `mer_…`; POST /api/merchant/terminals/authenticate tells both. */
  readonly organisationId: string
  readonly merchantId: string
  /** Major units: what the proof shows is that the amount is this at most. */
  readonly limit: number
  /** Unix ms, both included; default: the UTC day of the payment. */
  readonly from?: number
  readonly to?: number
}

const SALT_BYTES = 31
const MS_PER_SECOND = 1000
const DAY_MS = 86_400_000

const randomElement = (): bigint =>
  crypto.getRandomValues(new Uint8Array(SALT_BYTES)).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)

const seconds = (unixMs: number): bigint => BigInt(Math.floor(unixMs / MS_PER_SECOND))

/** @throws RangeError */
const minor = (name: string, amount: number, currency: string): bigint => {
  const converted = toMinorUnits(amount, currency)
  if (!converted.ok) throw new RangeError(`${name} ${converted.message}`)
  return BigInt(converted.minor)
}

/**
 * The values of a proof that this terminal took this payment. Each call has a salt of its own.
 * @throws RangeError for a payment whose proof is not in the stored form, an unknown currency, or an amount or a limit
 *   that its currency can't have
 */
export const offlinePaymentValues = ({
  payment,
  terminalSecret,
  baseUrl,
  organisationId,
  merchantId,
  limit,
  from = payment.timestamp - (payment.timestamp % DAY_MS),
  to = from + DAY_MS - 1,
}: OfflinePaymentStatement): OfflineValidationValues => {
  const { transactionId, proof, amount, currency, timestamp } = payment
  const parsed = parseProof(proof)
  if (!parsed.ok || parsed.nullifier === undefined)
    throw new RangeError('payment.proof must be in the stored form of 66 characters')
  return {
    cardNullifier: cardNullifierElement(parsed.nullifier),
    amount: minor('payment.amount', amount, currency),
    time: seconds(timestamp),
    salt: randomElement(),
    terminalSecret: terminalSecretElement(terminalSecret),
    limit: minor('limit', limit, currency),
    from: seconds(from),
    to: seconds(to),
    ctx: contextElement({
      aud: baseUrl,
      org: organisationId,
      circuit: offlineValidation.id,
      statement: { currency, merchantId },
      nonce: transactionId,
    }),
  }
}
