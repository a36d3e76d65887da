/** Payments that nobody has made before, as bytes of requests: proofs in the stored form with everything that lets the MAC be checked. @module */
import { randomUUID } from 'node:crypto'
import { makeProof } from '../../test/support/domain/payment-proofs.ts'
import { requestBytes } from '../../test/support/servers/http-load.ts'

export const PAYMENT_PATH = '/api/merchant/payments/validate'

export const paymentRequest = (key: string, merchantId: string, nonce = 1): Buffer => {
  const timestamp = Date.now()
  const { stored } = makeProof({
    key,
    cardToken: `tok_${randomUUID()}`,
    amountMinor: 1250,
    currency: 'GBP',
    nonce,
    timestampMs: timestamp,
    merchantId,
  })
  const body = {
    proofData: stored,
    amount: 12.5,
    currency: 'GBP',
    timestamp,
    transactionId: `txn_${randomUUID()}`,
  }
  return requestBytes(PAYMENT_PATH, JSON.stringify(body), { Authorization: `Bearer ${key}` })
}
