/** Names that are misspelt on real routes: refused with the one that was meant, where leaving it out would widen something. */
import { expect } from 'chai'
import type { WebhookList } from '../../src/domain/webhooks/schemas.ts'
import { sharedApp, type TestApp } from '../support/app.ts'

interface Refusal {
  error: string
  details?: { path: string; message: string }[]
}

const LATER = '2099-01-01T00:00:00.000Z'

describe('a misspelt name', () => {
  let app: TestApp
  let key: string
  before(async () => {
    app = await sharedApp()
    key = (await app.organisation()).apiKey
  })

  for (const [path, body, meant] of [
    ['/console/api/keys', { scope: ['verify'] }, 'scopes'],
    ['/api/tokens/generate', { subject: 'u', single_use: true }, 'singleUse'],
    ['/console/api/merchants', { name: 'm', limit: { floorLimit: 1 } }, 'limits'],
    ['/verify', { data: { age: 12 }, rules: [] }, 'rules'],
    [
      '/api/consent/log',
      { subjectId: 'u', controller: 'c', purposes: ['p'], expires_at: LATER },
      'expiresAt',
    ],
    ['/v1/agents', { name: 'a', limits: { expiresAt: LATER } }, 'expires_at'],
    ['/v1/agents', { name: 'a', expires_at: LATER }, 'limits'],
    ['/api/tokens/validate', { token: 't', expires_at: LATER }, 'expiresAt'],
    [
      '/api/kyc/verify',
      {
        userId: 'u',
        data: { document: { type: 'passport', number: 'x', country: 'SE', expires_at: LATER } },
      },
      'expiresAt',
    ],
    ['/api/kyc/verify', { userId: 'u', data: { expiresAt: LATER } }, 'data.document'],
  ] as const)
    it(`for \`${meant}\` is refused by ${path}: ${JSON.stringify(body)}`, async () => {
      const answer = await app.request<Refusal>('POST', path, { key, body })
      expect([answer.status, answer.body.error]).to.deep.equal([422, 'unknown_member'])
      expect(answer.body.details?.[0]?.message).to.include(`\`${meant}\``)
    })

  it('for `active` is refused where an endpoint is paused, which goes on', async () => {
    const made = { label: 'a', url: 'https://hooks.shop.example/a', events: ['proof.spent'] }
    const { body: webhook } = await app.request<{ id: string }>('POST', '/api/webhooks', { key, body: made })
    const path = `/api/webhooks/${webhook.id}`
    for (const name of ['activ', 'Active', 'is_active']) {
      const answer = await app.request<Refusal>('PATCH', path, { key, body: { [name]: false } })
      expect([answer.status, answer.body.error], name).to.deep.equal([422, 'unknown_member'])
      expect(answer.body.details?.[0]).to.deep.include({ path: `/${name}` })
      expect(answer.body.details?.[0]?.message, name).to.include('`active`')
    }
    const { body: list } = await app.request<WebhookList>('GET', '/api/webhooks', { key })
    expect(list.webhooks[0]).to.include({ id: webhook.id, active: true })
  })

  it('of a query parameter is refused with a credential, and ignored where none is needed', async () => {
    const refused = await app.request<Refusal>('GET', '/console/api/payments?staus=late', { key })
    expect([refused.status, refused.body.error]).to.deep.equal([400, 'unknown_parameter'])
    expect((await app.request('GET', '/api/messages?utm_source=x')).status).to.equal(200)
    expect((await app.request('GET', '/health?utm_source=x')).status).to.equal(200)
  })

  it('or missing list of scopes gives none: null and an empty list are refused', async () => {
    for (const scopes of [null, []])
      expect((await app.request('POST', '/console/api/keys', { key, body: { scopes } })).status).to.equal(422)
  })
})
