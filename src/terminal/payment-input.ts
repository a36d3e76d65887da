/** Checks what a till hands over, before anything is made of it. @module */
import { exponentOf, isCurrency } from '../protocol/currency.ts'
import { looksLikeCardNumber, toMinorUnits } from '../protocol/payment-proof.ts'
import { PAYMENT_METHODS, type PaymentMethod, TRANSACTION_ID_PATTERN } from '../protocol/sync.ts'

export const MAX_CARD_TOKEN_CHARACTERS = 128
export const MAX_CUSTOMER_ID_CHARACTERS = 128
export const DEFAULT_CURRENCY = 'GBP'

const TRANSACTION_ID = new RegExp(TRANSACTION_ID_PATTERN)

/** A payment whose every field is as it should be. */
export interface CheckedPayment {
  readonly cardToken: string
  readonly amount: number
  /** Minor units, at most 2^53 − 1. */
  readonly amountMinor: number
  readonly currency: string
  readonly customerId?: string
  readonly paymentMethod?: PaymentMethod
  readonly transactionId?: string
}

/** Why an input is refused: `code: field and limit`. */
export interface InputFault {
  readonly error: string
}

const fault = (code: string, message: string): InputFault => ({ error: `${code}: ${message}` })

const characters = (text: string): number => [...text].length

const cardTokenFault = (token: unknown): InputFault | undefined => {
  if (typeof token !== 'string' || token === '') {
    return fault(
      'validation_failed',
      `cardToken is required, a string of 1 to ${MAX_CARD_TOKEN_CHARACTERS} characters.`,
    )
  }
  if (token.length > MAX_CARD_TOKEN_CHARACTERS && characters(token) > MAX_CARD_TOKEN_CHARACTERS) {
    return fault('validation_failed', `cardToken must have at most ${MAX_CARD_TOKEN_CHARACTERS} characters.`)
  }
  // Half a surrogate pair has no UTF-8, so two such tokens could share one hash.
  if (/\p{Surrogate}/u.test(token))
    return fault('validation_failed', 'cardToken must be well-formed Unicode.')
  if (looksLikeCardNumber(token)) {
    return fault('pan_not_allowed', 'cardToken looks like a card number; present a token instead.')
  }
  return undefined
}

const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && (value.length <= max || characters(value) <= max)

const isPaymentMethod = (value: unknown): value is PaymentMethod =>
  PAYMENT_METHODS.some((method) => method === value)

/** Checks the three optional fields. */
const optionalFault = (
  customerId: unknown,
  paymentMethod: unknown,
  transactionId: unknown,
): InputFault | undefined => {
  if (customerId !== undefined && !isText(customerId, MAX_CUSTOMER_ID_CHARACTERS)) {
    return fault(
      'validation_failed',
      `customerId must be a string of at most ${MAX_CUSTOMER_ID_CHARACTERS} characters.`,
    )
  }
  if (customerId !== undefined && /[\p{Surrogate}\0]/u.test(customerId)) {
    return fault('validation_failed', 'customerId must be well-formed Unicode without U+0000.')
  }
  if (paymentMethod !== undefined && !isPaymentMethod(paymentMethod)) {
    return fault('validation_failed', `paymentMethod must be one of ${PAYMENT_METHODS.join(', ')}.`)
  }
  if (
    transactionId !== undefined &&
    !(typeof transactionId === 'string' && TRANSACTION_ID.test(transactionId))
  ) {
    return fault('validation_failed', 'transactionId must have 1 to 128 visible ASCII characters.')
  }
  return undefined
}

/**
 * Checks a payment as the till handed it over; nothing about it is trusted, not even its type. Optional fields that
 * are null count as absent.
 */
export const checkPayment = (input: unknown): CheckedPayment | InputFault => {
  if (typeof input !== 'object' || input === null)
    return fault('validation_failed', 'A payment must be an object.')
  const fields: { readonly [key: string]: unknown } = { ...input }
  const { cardToken, amount } = fields
  const currency = fields.currency ?? DEFAULT_CURRENCY
  const customerId = fields.customerId ?? undefined
  const paymentMethod = fields.paymentMethod ?? undefined
  const transactionId = fields.transactionId ?? undefined

  const found = cardTokenFault(cardToken) ?? optionalFault(customerId, paymentMethod, transactionId)
  if (found) return found
  if (typeof currency !== 'string' || !isCurrency(currency)) {
    return fault('currency_invalid', 'currency must be an ISO 4217 code in upper case, such as GBP.')
  }
  if (typeof amount !== 'number') return fault('validation_failed', 'amount is required, a number.')
  const money = toMinorUnits(amount, currency)
  if (!money.ok) {
    const code = money.reason === 'precision' ? 'amount_precision' : 'validation_failed'
    return fault(code, `amount ${money.message}.`)
  }
  return {
    cardToken: cardToken as string,
    amount,
    amountMinor: money.minor,
    currency,
    customerId: customerId as string | undefined,
    paymentMethod: paymentMethod as PaymentMethod | undefined,
    transactionId: transactionId as string | undefined,
  }
}

/** Exact decimal text of minor units: `formatMinorUnits(1250n, 'GBP')` → `12.50`. @param minor ≥ 0 */
export const formatMinorUnits = (minor: bigint, currency: string): string => {
  const exponent = exponentOf(currency)
  const digits = minor.toString().padStart(exponent + 1, '0')
  return exponent === 0 ? digits : `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}

/** Minor units of an amount that need not fit the currency: what is left over is cut off. @param amount ≥ 0 */
export const minorUnitsOf = (amount: number, currency: string): bigint => {
  const money = toMinorUnits(amount, currency)
  if (money.ok) return BigInt(money.minor)
  const minor = Math.floor(amount * 10 ** exponentOf(currency))
  return BigInt(Math.min(minor, Number.MAX_SAFE_INTEGER))
}
