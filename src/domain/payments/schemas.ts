/** Wire shapes of the payment routes. @module */
import Type, { type Static } from 'typebox'
import { NOT_BLANK } from '../../json/patterns.ts'
import {
  askedId,
  DateTime,
  dateTime,
  Nullable,
  orNull,
  pageLimit,
  windowParameters,
} from '../../json/schemas.ts'
import {
  ASSURANCES,
  PAYMENT_METHODS,
  REFUSALS,
  SYNC_STATUSES,
  TRANSACTION_ID_PATTERN,
} from '../../protocol/sync.ts'
import { told } from '../terminals/schemas.ts'
import { PAYMENT_STATUSES } from './payment.ts'

const MAX_CUSTOMER_ID_CHARACTERS = 128
export const MAX_MERCHANT_ID_CHARACTERS = 64
const MAX_PAGE = 200
const DEFAULT_PAGE = 50

const wordOf = <const T extends readonly string[]>(words: T, description: string) =>
  Type.Enum([...words] as T[number][], { description })

const refusalCodes = Object.keys(REFUSALS) as (keyof typeof REFUSALS)[]

const ProofData = Type.String({
  description:
    'base64url without padding: the stored form (66 characters), whose MAC is checked when a timestamp is sent, or the compact form (36 characters).',
})
const Amount = Type.Number({
  exclusiveMinimum: 0,
  description: 'In major units, at most the decimals of the currency.',
})
const Currency = Type.String({ description: 'ISO 4217 code; default GBP.' })
const Timestamp = Type.Union([Type.String(), Type.Number()], {
  description:
    "When the terminal made the proof: ISO 8601 with a zone, Unix seconds or Unix milliseconds, of the years 1970 to 9998. The proof's MAC covers milliseconds.",
})
const TransactionId = Type.String({
  pattern: TRANSACTION_ID_PATTERN,
  description:
    'Identifies the attempt. The same id and content from the same terminal (or key) returns the first answer; other content returns 409.',
})
const MerchantId = Type.String({
  minLength: 1,
  maxLength: MAX_MERCHANT_ID_CHARACTERS,
  description: 'The merchant, if the caller uses an API key; a terminal token determines its own merchant.',
})
const AssuranceWord = wordOf(
  ASSURANCES,
  'What was verified: `mac` the MAC was recomputed, `structural` the proof is well-formed, `none` it is not.',
)
const RefusalWord = wordOf(refusalCodes, 'Why the payment was refused.')

export const ValidatePayment = Type.Object({
  proofData: ProofData,
  amount: Amount,
  currency: Type.Optional(Currency),
  timestamp: Type.Optional(Timestamp),
  transactionId: Nullable(TransactionId),
  merchantId: Type.Optional(MerchantId),
  customerId: Nullable(Type.String({ maxLength: MAX_CUSTOMER_ID_CHARACTERS })),
  paymentMethod: Nullable(wordOf(PAYMENT_METHODS, 'How the card was presented.')),
})
export type ValidatePayment = Static<typeof ValidatePayment>

export const PaymentVerdict = Type.Object({
  valid: Type.Boolean(),
  transactionId: Type.String(),
  doubleSpend: Type.Boolean({ description: 'The card token was used before; implies `valid: false`.' }),
  assurance: AssuranceWord,
  reason: Type.Optional(RefusalWord),
})

/**
 * Items are open: one that is malformed is refused with its code in the answer and leaves the others alone.
 * Their fields are those of {@link ValidatePayment} without customerId and paymentMethod; timestamp is required.
 */
export const SyncTransactions = Type.Object({
  ...told,
  transactions: Type.Array(Type.Unknown(), {
    description:
      'At most 50 objects {proofData, amount, currency?, timestamp, transactionId?, merchantId?}. A larger batch is rejected as a whole. Other members are ignored and listed in `warnings`.',
  }),
})
export type SyncTransactions = Static<typeof SyncTransactions>

export const SyncReport = Type.Object({
  synced: Type.Integer({ minimum: 0, description: 'Results that are synced, duplicate or late.' }),
  failed: Type.Integer({ minimum: 0, description: 'Results that are conflict or rejected.' }),
  errors: Type.Array(
    Type.Object({
      index: Type.Integer({ minimum: 0 }),
      transactionId: Type.String(),
      code: RefusalWord,
      message: Type.String(),
      retryable: Type.Boolean({ description: 'Whether sending the same item again can succeed.' }),
    }),
  ),
  results: Type.Array(
    Type.Object({
      index: Type.Integer({ minimum: 0 }),
      transactionId: Type.String(),
      status: wordOf(SYNC_STATUSES, 'The result of the item.'),
      assurance: AssuranceWord,
      warnings: Type.Optional(
        Type.Array(Type.Object({ path: Type.String(), code: Type.String(), message: Type.String() }), {
          description: 'Unknown members of the item, which were ignored; at most ten.',
        }),
      ),
    }),
  ),
})

const Money = Type.Number({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'In major units of the currency of each payment.',
})

const filters = {
  status: Type.Optional(
    wordOf(
      PAYMENT_STATUSES,
      'Default: all. `late` payments wait for an operator; then they are `accepted` or `rejected`.',
    ),
  ),
  terminalId: Type.Optional(askedId('ter', { description: 'Only those that this terminal presented.' })),
  merchantId: Type.Optional(askedId('mer', { description: 'Only those of this merchant.' })),
  ...windowParameters,
  minAmount: Type.Optional(Money),
  maxAmount: Type.Optional(Money),
}

export const PaymentsFilter = Type.Object(filters)
export type PaymentsFilter = Static<typeof PaymentsFilter>

export const PaymentQuery = Type.Object({
  ...filters,
  cursor: Type.Optional(askedId('pay', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE, DEFAULT_PAGE),
})
export type PaymentQuery = Static<typeof PaymentQuery>

const nullableString = orNull(Type.String())

export const ListedPayment = Type.Object({
  paymentId: Type.String(),
  status: wordOf(PAYMENT_STATUSES, 'What was decided; of a late payment what it is by now.'),
  reason: orNull(RefusalWord),
  transactionId: Type.String(),
  merchantId: nullableString,
  origin: Type.String({ description: 'The terminal (`ter_…`) or API key (`key_…`) that presented it.' }),
  amount: orNull(Type.Number()),
  currency: nullableString,
  assurance: AssuranceWord,
  timestamp: orNull(dateTime('By the clock of the terminal.')),
  receivedAt: dateTime('By the clock of the service; lists and windows go by it.'),
  acceptedAt: orNull(dateTime('When an operator accepted it, of a payment that was late.')),
  firstPaymentId: orNull(Type.String(), {
    description: 'Of a conflict: the payment that used the card token first.',
  }),
  firstTransactionId: nullableString,
  firstOrigin: nullableString,
  paymentMethod: nullableString,
  customerId: nullableString,
  rejectedAt: orNull(dateTime('When an operator rejected it, of a payment that was late.')),
  rejectionReason: orNull(Type.String(), { description: 'Why, in the words of the operator.' }),
})
export type ListedPayment = Static<typeof ListedPayment>

export const PaymentPage = Type.Object({
  payments: Type.Array(ListedPayment),
  nextCursor: orNull(Type.String(), {
    description:
      'Null on the last page. With `minAmount` or `maxAmount` a page may have fewer payments than its limit, even none, and not be the last.',
  }),
})
export type PaymentPage = Static<typeof PaymentPage>

export const PaymentPath = Type.Object({ paymentId: Type.String() })

export const AcceptedPayment = Type.Object({
  paymentId: Type.String(),
  transactionId: Type.String(),
  status: Type.Literal('accepted'),
  acceptedAt: DateTime,
})
export type AcceptedPayment = Static<typeof AcceptedPayment>

const MAX_REASON_CHARACTERS = 500

export const PaymentRejection = Type.Object(
  {
    reason: Type.String({
      minLength: 1,
      maxLength: MAX_REASON_CHARACTERS,
      pattern: NOT_BLANK,
      description: 'Why, in your words. Kept with the payment, not in the log.',
    }),
  },
  { title: 'PaymentRejection' },
)
export type PaymentRejection = Static<typeof PaymentRejection>

export const RejectedPayment = Type.Object({
  paymentId: Type.String(),
  transactionId: Type.String(),
  status: Type.Literal('rejected'),
  rejectedAt: DateTime,
})
export type RejectedPayment = Static<typeof RejectedPayment>
