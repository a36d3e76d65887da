/** Routes of payments. @module */
import Type from 'typebox'
import { fail } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import {
  AcceptedPayment,
  PaymentPage,
  PaymentPath,
  PaymentQuery,
  PaymentRejection,
  PaymentsFilter,
  PaymentVerdict,
  RejectedPayment,
  SyncReport,
  SyncTransactions,
  ValidatePayment,
} from './schemas.ts'
import type { PaymentsService } from './service.ts'

interface Services {
  readonly payments: PaymentsService
}

const EXAMPLE_COMPACT_PROOF = '1-G_E31gJBF1PaGvrfFEbSNMsF17t4ejjZ4e'

const validatePayment = route({
  name: 'validatePayment',
  method: 'POST',
  path: '/api/merchant/payments/validate',
  auth: 'merchant',
  scope: 'merchant',
  tag: 'Payments',
  summary: 'Validate a payment',
  description:
    'Spends the nullifier of a valid payment. A card token that was used before returns `doubleSpend: true`. A refused payment returns 200 with `valid: false` and a `reason`.',
  body: ValidatePayment,
  response: { 200: PaymentVerdict },
  errors: [
    'amount_precision',
    'currency_invalid',
    'pan_not_allowed',
    'forbidden',
    'not_found',
    'transaction_conflict',
  ],
  example: {
    body: { proofData: EXAMPLE_COMPACT_PROOF, amount: 12.5, currency: 'GBP', paymentMethod: 'contactless' },
  },
  handler: ({ caller, body }, { payments }: Services) => payments.validate(caller, body),
})

const syncTransactions = route({
  name: 'syncTransactions',
  method: 'POST',
  path: '/api/merchant/transactions/sync',
  auth: 'merchant',
  scope: 'merchant',
  tag: 'Payments',
  summary: 'Upload payments that were accepted offline',
  description:
    'At most 50 per request. Every item has its own result, and a batch can safely be sent again. A payment made under a revoked key is `late`: stored until an operator accepts it.',
  body: SyncTransactions,
  bodyLimit: 'batch',
  response: { 200: SyncReport },
  errors: ['batch_too_large'],
  example: {
    body: {
      transactions: [
        {
          ...{ proofData: EXAMPLE_COMPACT_PROOF, amount: 12.5, currency: 'GBP' },
          ...{ timestamp: '{paymentTime}', transactionId: 'txn_01kahnq7x8e4w3v5f6t2s9r0pm' },
        },
      ],
    },
  },
  handler: ({ caller, body }, { payments }: Services) => payments.sync(caller, body),
})

const submitOfflineTransactions = route({
  name: 'submitOfflineTransactions',
  method: 'POST',
  path: '/v1/offline/transactions',
  auth: 'key',
  scope: 'merchant',
  tag: 'Payments',
  summary: 'Not implemented',
  description:
    'Always answers 501: use POST /api/merchant/transactions/sync, named in `use`, to upload payments that were accepted offline. The body is not read.',
  response: { 200: SyncReport },
  errors: ['not_implemented'],
  handler: () => fail('not_implemented', { extras: { use: '/api/merchant/transactions/sync' } }),
})

const listPayments = route({
  name: 'listPayments',
  method: 'GET',
  path: '/console/api/payments',
  auth: 'console',
  scope: 'audit',
  tag: 'Payments',
  summary: 'List payments',
  description:
    'All payments of the organisation, whatever was decided, newest first. `status=late` are those that wait for an operator.',
  query: PaymentQuery,
  response: { 200: PaymentPage },
  errors: [],
  example: { query: { status: 'late' } },
  handler: ({ caller, query }, { payments }: Services) => payments.list(caller, query),
})

const exportPayments = route({
  name: 'exportPayments',
  method: 'GET',
  path: '/console/api/payments.csv',
  auth: 'console',
  scope: 'export',
  tag: 'Payments',
  summary: 'Download payments as CSV',
  description:
    'All payments that `GET /console/api/payments` lists with the same filters, newest first, as a file for spreadsheets, streamed. One file per organisation at a time; a second one returns 429.',
  query: PaymentsFilter,
  response: { 200: Type.String() },
  produces: 'text/csv; charset=utf-8; header=present',
  errors: [],
  example: { query: { status: 'accepted', from: '2026-01-01', to: '2026-01-31' } },
  handler: async ({ caller, query }, { payments }: Services) => {
    const { filename, body } = await payments.file(caller, query)
    return new Reply(200, body, { 'Content-Disposition': `attachment; filename="${filename}"` })
  },
})

const acceptPayment = route({
  name: 'acceptPayment',
  method: 'POST',
  path: '/console/api/payments/{paymentId}/accept',
  auth: 'console',
  // The service asks keys for `keys` all the same, which no till has.
  scope: ['keys', 'merchant'],
  tag: 'Payments',
  summary: 'Accept a late payment',
  description:
    'For members who are owners or operators, and for API keys with scope `keys`, which terminals do not have. Spends the nullifier; returns 409 `double_spend` if the card token was used in the meantime, and `conflict` if the payment was rejected. The request can safely be repeated.',
  params: PaymentPath,
  response: { 200: AcceptedPayment },
  errors: ['conflict', 'double_spend'],
  handler: ({ caller, params }, { payments }: Services) => payments.accept(caller, params.paymentId),
})

const rejectPayment = route({
  name: 'rejectPayment',
  method: 'POST',
  path: '/console/api/payments/{paymentId}/reject',
  auth: 'console',
  scope: ['keys', 'merchant'],
  tag: 'Payments',
  summary: 'Reject a late payment',
  description:
    'For the same callers as accepting one. The card token stays free. A late payment is decided once: accepting it then returns 409. The request can safely be repeated; the first reason stays.',
  params: PaymentPath,
  body: PaymentRejection,
  response: { 200: RejectedPayment },
  errors: ['conflict'],
  example: { body: { reason: 'The till was stolen before this was made.' } },
  handler: ({ caller, params, body }, { payments }: Services) =>
    payments.reject(caller, params.paymentId, body),
})

export const paymentRoutes = [
  validatePayment,
  syncTransactions,
  submitOfflineTransactions,
  listPayments,
  exportPayments,
  acceptPayment,
  rejectPayment,
]
