/** Names that are misspelt on real routes: refused with the one that was meant, where leaving it out would widen something. */
import { expect } from 'chai'
import { sharedApp, type TestApp } from '../support/app.ts'

interface Refusal {
  error: string
  details?: { path: string; message: string }[]
}

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
  ] as const)
    it(`for \`${meant}\` is refused by ${path}`, async () => {
      const answer = await app.request<Refusal>('POST', path, { key, body })
      expect([answer.status, answer.body.error]).to.deep.equal([422, 'unknown_member'])
      expect(answer.body.details?.[0]?.message).to.include(`\`${meant}\``)
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
