/** Tills for tests of payments: a terminal or a bare API key of an organisation, and the payments it makes. @module */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { SyncAnswer, ValidateAnswer } from '../../../src/protocol/sync.ts'
import { type Client, ok } from '../client.ts'
import { makeProof } from './payment-proofs.ts'

export interface Owner {
  readonly organisationId: string
  readonly merchantId: string
  readonly apiKey: string
}

/** A payment as both routes take it. */
export interface TestPayment {
  proofData: string
  amount: number
  currency: string
  timestamp: string | number
  transactionId: string
}

export interface PaymentWishes {
  cardToken?: string
  /** Minor units; default 1250. */
  amountMinor?: number
  currency?: string
  /** Unix ms; default now. */
  at?: number
  nonce?: number
  transactionId?: string
  /** The key that makes the proof; default the till's. */
  key?: string
  merchantId?: string
  form?: 'stored' | 'compact'
}

/** Any error body, or the route's answer. */
export type Answer<T> = { status: number; body: T & { error?: string; details?: { path: string }[] } }

export interface Till {
  /** Terminal or key id, as rows and alerts name the till. */
  readonly origin: string
  readonly bearer: string
  /** Text of the API key behind its proofs. */
  readonly key: string
  readonly keyId: string
  readonly merchantId: string
  /** Of a terminal, as it was shown once. */
  readonly terminalSecret?: string
  /** A fresh payment of a fresh card token. */
  payment(wishes?: PaymentWishes): TestPayment
  validate(body: object, headers?: Record<string, string>): Promise<Answer<ValidateAnswer>>
  sync(transactions: readonly unknown[], headers?: Record<string, string>): Promise<Answer<SyncAnswer>>
}

const EXPONENTS: Readonly<Record<string, number>> = { GBP: 2, JPY: 0, KWD: 3 }

const newTill = (
  shop: Client,
  {
    bearer,
    key,
    merchantId,
    origin,
    keyId,
    terminalSecret,
  }: Pick<Till, 'bearer' | 'key' | 'merchantId' | 'origin' | 'keyId' | 'terminalSecret'>,
): Till => {
  let payments = 0
  const post = <T>(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer<T>> =>
    shop.request('POST', path, { body, bearer, headers })
  return {
    origin,
    bearer,
    key,
    keyId,
    merchantId,
    terminalSecret,
    payment(wishes = {}) {
      const { amountMinor = 1250, currency = 'GBP', at = Date.now(), form = 'stored' } = wishes
      const proof = makeProof({
        key: wishes.key ?? key,
        cardToken: wishes.cardToken ?? `tok_${randomUUID()}`,
        amountMinor,
        currency,
        nonce: wishes.nonce ?? ++payments,
        timestampMs: at,
        merchantId: wishes.merchantId ?? merchantId,
      })
      return {
        proofData: proof[form],
        amount: amountMinor / 10 ** (EXPONENTS[currency] ?? 2),
        currency,
        timestamp: at,
        transactionId: wishes.transactionId ?? `txn_${randomUUID()}`,
      }
    },
    validate: (body, headers) => post('/api/merchant/payments/validate', body, headers),
    sync: (transactions, headers) => post('/api/merchant/transactions/sync', { transactions }, headers),
  }
}

type Fields = Record<string, string>

/** The id of an API key of the organisation. */
const keyIdOf = async (shop: Client, owner: Owner, apiKey: string): Promise<string> => {
  const { keys } = await ok<{ keys: { keyId: string; hint: string }[] }>(shop, 'GET', '/console/api/keys', {
    key: owner.apiKey,
  })
  const id = keys.find(({ hint }) => hint !== '' && apiKey.startsWith(hint))?.keyId
  return id ?? expect.fail('the key is not in the list')
}

/** A till that calls with an API key. */
export const keyTill = async (shop: Client, owner: Owner): Promise<Till> => {
  const { apiKey, merchantId } = owner
  const keyId = await keyIdOf(shop, owner, apiKey)
  return newTill(shop, { bearer: apiKey, key: apiKey, merchantId, origin: keyId, keyId })
}

/** A till that calls with a terminal token. */
export const terminalTill = async (
  shop: Client,
  owner: Owner,
  limits?: Record<string, unknown>,
  merchant?: string,
): Promise<Till> => {
  const made = await ok<Fields>(shop, 'POST', '/console/api/terminals', {
    key: owner.apiKey,
    body: { label: 'till', ...(limits && { limits }), ...(merchant && { merchantId: merchant }) },
  })
  const { terminalId = '', terminalSecret, merchantId = '', apiKey = '' } = made
  const { token = '' } = await ok<Fields>(shop, 'POST', '/api/merchant/terminals/authenticate', {
    bearer: apiKey,
    body: { terminalId, terminalSecret },
  })
  const keyId = await keyIdOf(shop, owner, apiKey)
  return newTill(shop, { bearer: token, key: apiKey, merchantId, origin: terminalId, keyId, terminalSecret })
}
