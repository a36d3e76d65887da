/** Free results of an organisation without a subscription: exactly as many as it was given, each counted once. */

import { clientOf, isSuccess } from '../../support/client.ts'
import { signIn, signUp } from '../../support/domain/accounts.ts'
import type { Area, Context } from '../area.ts'
import type { Operation } from '../model.ts'

const FREE_RESULTS = 100
const MAX_ITEMS = 5
/** Batches that are sent when nothing is left. */
const FURTHER_BATCHES = 2

interface Batch {
  readonly results?: readonly { readonly success: boolean }[]
}

interface Usage {
  readonly proofCounts: { readonly total: number }
  readonly free: { readonly used: number; readonly remaining: number }
}

/** Somebody who has signed up and uses free results until none is left. */
interface Customer {
  readonly apiKey: string
  readonly operation: Operation
  accepted: number
  refusedBatches: number
}

export const charges = ({ model, ask, random, url }: Context): Area => {
  let count = 0
  let current: Customer | undefined

  /** Without repetition: an account that exists after all is not used. */
  const begin = async (): Promise<Customer | undefined> => {
    const operation = model.begin('charges', `customer ${count++}`)
    try {
      const client = clientOf(url(), () => ({ connection: 'close', 'x-forwarded-for': random.address() }))
      const { status, headers } = await signIn(client, await signUp(client))
      if (!isSuccess({ status })) return undefined
      const body = { label: 'till', scopes: ['verify'] }
      const made = await ask<{ apiKey: string }>(operation, 'POST', '/console/api/keys', {
        headers: { ...headers, 'idempotency-key': random.name() },
        body,
        answers: [201],
      })
      return { apiKey: made.body.apiKey, operation, accepted: 0, refusedBatches: 0 }
    } catch {
      return undefined
    }
  }

  const usageOf = async ({ apiKey, operation }: Customer): Promise<Usage> =>
    (await ask<Usage>(operation, 'GET', '/api/usage', { key: apiKey, answers: [200] })).body

  const expectExact = async (customer: Customer): Promise<void> => {
    const { accepted, operation } = customer
    const { proofCounts, free } = await usageOf(customer)
    if (
      proofCounts.total !== accepted ||
      free.used !== accepted ||
      accepted + free.remaining !== FREE_RESULTS
    )
      model.broken(
        'charges exact',
        `${accepted} results were accepted; counted are ${proofCounts.total}, charged ${free.used}, left ${free.remaining}`,
        operation,
      )
  }

  return {
    name: 'charges',
    clients: 1,
    pauseMs: 250,
    async step() {
      current ??= await begin()
      if (current === undefined) return
      const customer = current
      const items = Array.from({ length: 1 + random.below(MAX_ITEMS) }, () => ({ order: random.name() }))
      const operation = model.begin('charges', customer.operation.what)
      const { status, body } = await ask<Batch>(operation, 'POST', '/verify/batch', {
        key: customer.apiKey,
        headers: { 'idempotency-key': random.name() },
        body: { items },
        answers: [200, 402],
      })
      customer.operation.attempts.push(...operation.attempts)
      customer.accepted += body.results?.filter(({ success }) => success).length ?? 0
      if (status === 402) customer.refusedBatches++
      if (customer.refusedBatches <= FURTHER_BATCHES) return
      await expectExact(customer)
      if (customer.accepted !== FREE_RESULTS)
        model.broken('charges exact', `${customer.accepted} of ${FREE_RESULTS} were given`, operation)
      current = undefined
    },
    async settle() {
      if (current !== undefined) await expectExact(current)
    },
  }
}
