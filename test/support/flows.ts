/** What clients do that changes something: one request each, which may be sent again as it was. */
import { randomUUID } from 'node:crypto'
import type { Posted } from '../../src/domain/chat/schemas.ts'
import type { TestApp, TestOrganisation } from './app.ts'
import { ok, type RequestOptions, type TestResponse } from './client.ts'
import { consentRoutesOf } from './domain/consents.ts'
import { makeProof } from './domain/payment-proofs.ts'
import { asPresented, generated } from './domain/proof-api.ts'
import { tokenRoutesOf } from './domain/tokens.ts'

/** A request whose inputs are there, to be sent as often as one likes. */
export type Send = () => Promise<TestResponse<{ readonly error?: string }>>

export interface Flow {
  readonly name: string
  /** Entries that it leaves in the log of the organisation, sent once or many times. */
  readonly entries: number
  /** Codes of answers to a repetition that tell that the first one, whose answer was lost, did it. */
  readonly doneBefore?: readonly string[]
  /** Whether its entries are made one after the other: a repetition finds those that were, and makes the others. */
  readonly isEach?: boolean
  /** Whether it is done once more each time that it is sent after a success. */
  readonly addsUp?: boolean
  /** Makes what it needs. */
  prepare(app: TestApp, owner: TestOrganisation): Promise<Send> | Send
}

/** A text of which nobody may post the same. */
const LONG = 'It is long enough that somebody who had the very same one would be told so.'
const QUESTION = { data: { age: 36 }, rules: [{ field: 'age', op: 'gte', value: 18 }] }

const sending =
  (app: TestApp, method: string, path: string, options: RequestOptions): Send =>
  () =>
    app.request(method, path, options)

/** With an Idempotency-Key, which each repetition has. */
const posting = (app: TestApp, key: string, path: string, body: object): Send =>
  sending(app, 'POST', path, { key, body, headers: { 'idempotency-key': randomUUID() } })

const payment = ({ apiKey, merchantId }: TestOrganisation) => {
  const timestamp = Date.now()
  const { stored } = makeProof({
    key: apiKey,
    cardToken: `tok_${randomUUID()}`,
    currency: 'GBP',
    merchantId,
    timestampMs: timestamp,
    amountMinor: 1250,
    nonce: 1,
  })
  return {
    proofData: stored,
    amount: 12.5,
    currency: 'GBP',
    timestamp,
    transactionId: `txn_${randomUUID()}`,
  }
}

const PAYMENTS: readonly Flow[] = [
  {
    name: 'a payment is validated',
    entries: 1,
    prepare: (app, owner) =>
      sending(app, 'POST', '/api/merchant/payments/validate', { key: owner.apiKey, body: payment(owner) }),
  },
  {
    name: 'payments are uploaded',
    entries: 2,
    prepare: (app, owner) =>
      sending(app, 'POST', '/api/merchant/transactions/sync', {
        key: owner.apiKey,
        body: { transactions: [payment(owner), payment(owner)] },
      }),
  },
]

const PROOFS: readonly Flow[] = [
  {
    name: 'a proof is generated',
    entries: 1,
    prepare: (app, { apiKey }) =>
      posting(app, apiKey, '/v1/proofs/generate', { circuit_id: 'simple_yesno', inputs: QUESTION }),
  },
  {
    name: 'a proof is spent',
    entries: 2,
    async prepare(app, { apiKey }) {
      const made = await generated(app, apiKey, { circuit_id: 'simple_yesno', inputs: QUESTION })
      return posting(app, apiKey, '/v1/proofs/verify', { ...asPresented(made), consume: true })
    },
  },
  {
    name: 'results are signed',
    entries: 2,
    isEach: true,
    prepare: (app, { apiKey }) => posting(app, apiKey, '/verify/batch', { items: [{ a: 1 }, { b: 2 }] }),
  },
]

const TOKENS: readonly Flow[] = [
  {
    name: 'a token is issued',
    entries: 1,
    prepare: (app, { apiKey }) =>
      posting(app, apiKey, '/api/tokens/generate', { subject: 'ada', singleUse: true }),
  },
  {
    name: 'a token is used up',
    entries: 1,
    async prepare(app, { apiKey }) {
      const { token } = await tokenRoutesOf(app, apiKey).issued({ singleUse: true })
      return posting(app, apiKey, '/api/tokens/validate', { token, consume: true })
    },
  },
  {
    name: 'a token is revoked',
    entries: 1,
    async prepare(app, { apiKey }) {
      const { tokenId } = await tokenRoutesOf(app, apiKey).issued()
      return posting(app, apiKey, '/api/tokens/revoke', { tokenId })
    },
  },
]

const CONSENTS: readonly Flow[] = [
  {
    name: 'a consent is recorded',
    entries: 1,
    prepare: (app, { apiKey }) =>
      posting(app, apiKey, '/api/consent/log', {
        subjectId: 'ada',
        controller: 'https://shop.example',
        purposes: ['newsletter'],
      }),
  },
  {
    name: 'a consent is withdrawn',
    entries: 1,
    async prepare(app, { apiKey }) {
      const { consentId } = await consentRoutesOf(app, apiKey).logged()
      return posting(app, apiKey, '/api/consent/revoke', { consentId })
    },
  },
]

const ADMINISTRATION: readonly Flow[] = [
  {
    name: 'a webhook is registered',
    entries: 1,
    prepare: (app, { apiKey }) =>
      posting(app, apiKey, '/api/webhooks', {
        label: 'Receiver',
        url: 'https://hooks.shop.example/',
        events: ['proof.spent'],
      }),
  },
  {
    name: 'a key is made',
    entries: 1,
    prepare: (app, { apiKey }) => posting(app, apiKey, '/console/api/keys', { label: 'spare' }),
  },
  {
    name: 'a key is revoked',
    entries: 1,
    async prepare(app, { apiKey: key }) {
      const body = { label: 'spare' }
      const { keyId } = await ok<{ keyId: string }>(app, 'POST', '/console/api/keys', { key, body })
      return sending(app, 'DELETE', `/console/api/keys/${keyId}`, { key })
    },
  },
  {
    name: 'a policy is changed',
    entries: 1,
    prepare: (app, { apiKey: key }) =>
      sending(app, 'PUT', `/console/api/policies/p-${randomUUID().slice(0, 8)}`, {
        key,
        body: { rules: [] },
      }),
  },
  {
    name: 'an organisation is made',
    entries: 0,
    prepare: (app) => posting(app, app.adminKey, '/console/api/organisations', { name: 'Shop' }),
  },
]

/** An answer to another message, so that everything is looked up that a post may need. */
const CHAT: readonly Flow[] = [
  {
    name: 'a message is posted',
    entries: 0,
    doneBefore: ['duplicate_message'],
    async prepare(app) {
      const post = (fields: object) => ({
        body: { agent_name: 'Ada', text: `A thought, number ${randomUUID()}. ${LONG}`, ...fields },
        headers: { 'x-forwarded-for': '10.1.2.3' },
      })
      const { message } = await ok<Posted>(app, 'POST', '/api/messages', post({}))
      return sending(
        app,
        'POST',
        '/api/messages',
        post({ reply_to: message.id, prompt_id: 'everyday-better-by-one-centimetre' }),
      )
    },
  },
]

export const FLOWS: readonly Flow[] = [
  ...PAYMENTS,
  ...PROOFS,
  ...TOKENS,
  ...CONSENTS,
  ...ADMINISTRATION,
  ...CHAT,
]
