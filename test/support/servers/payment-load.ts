/** Clients of a shop that pay without end, and remember what was acknowledged. */
import { randomUUID } from 'node:crypto'
import { clientOf, ok, type TestResponse } from '../client.ts'
import { makeProof } from '../domain/payment-proofs.ts'

export interface Merchant {
  readonly apiKey: string
  readonly merchantId: string
}

export interface PaymentLoad {
  /** Transaction ids, in the order in which they were answered. */
  readonly acknowledged: string[]
  /** Statuses of answers that were no success. */
  readonly refused: number[]
  stop(): Promise<void>
}

/** A shop with its key. @param adminKey of the server */
export const openShop = async (url: string, adminKey: string): Promise<Merchant> =>
  ok(clientOf(url), 'POST', '/console/api/organisations', { key: adminKey, body: { name: 'Shop' } })

/** One payment. @throws Error when there is no answer */
export const payOnce = async (
  url: string,
  { apiKey, merchantId }: Merchant,
  transactionId = `txn_${randomUUID()}`,
): Promise<TestResponse<{ transactionId: string }>> => {
  const timestampMs = Date.now()
  const input = { key: apiKey, cardToken: `tok_${randomUUID()}`, currency: 'GBP', merchantId, timestampMs }
  const { stored } = makeProof({ ...input, amountMinor: 1250, nonce: 1 })
  const body = { proofData: stored, amount: 12.5, currency: 'GBP', timestamp: timestampMs, transactionId }
  return clientOf(url).request('POST', '/api/merchant/payments/validate', { bearer: apiKey, body })
}

/** @param url asked for anew with each payment: servers may be started over */
export const startPayments = (url: () => string, merchant: Merchant, clients = 8): PaymentLoad => {
  const [acknowledged, refused]: [string[], number[]] = [[], []]
  let stopped = false
  const client = async (): Promise<void> => {
    while (!stopped) {
      const answer = await payOnce(url(), merchant).catch(() => undefined)
      if (answer?.status === 200) acknowledged.push(answer.body.transactionId)
      else {
        if (answer) refused.push(answer.status)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  const running = Promise.all(Array.from({ length: clients }, client))
  return {
    acknowledged,
    refused,
    async stop() {
      stopped = true
      await running
    },
  }
}
