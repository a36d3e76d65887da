/** Answers that come back whole to the route that checks what they made. */
import { expect } from 'chai'
import type { BatchOutcomes } from '../../src/domain/tickets/schemas.ts'
import type { Webhook, WebhookList } from '../../src/domain/webhooks/schemas.ts'
import { sharedApp, type TestApp } from '../support/app.ts'

interface Verdict {
  verified: boolean
  error?: string
  reason_codes?: string[]
  reasonCodes?: string[]
  details?: { path: string }[]
}

const RULES = [{ field: 'age', op: 'gte', value: 18 }]

describe('an answer that comes back whole', () => {
  let app: TestApp
  let key: string
  before(async () => {
    app = await sharedApp()
    key = (await app.organisation()).apiKey
  })
  const post = async <T>(path: string, body: object) =>
    (await app.request<T>('POST', path, { key, body })).body

  it('is taken by the routes that check a proof, and held against it', async () => {
    const made = await post<{ decision: number }>('/api/proof/generate', {
      userId: 'u',
      rules: RULES,
      data: { age: 36 },
    })
    expect((await post<Verdict>('/api/proof/verify', made)).verified).to.equal(true)
    const other = await post<Verdict>('/api/proof/verify', { ...made, decision: 0 })
    expect([other.verified, other.reasonCodes]).to.deep.equal([false, ['DECISION_MISMATCH']])
    const synced = await post<{ updated: number; errors: object[] }>('/api/proof/sync', { proofs: [made] })
    expect(synced).to.deep.include({ updated: 1, errors: [] })
  })

  it('is taken by /v1 as well: another digest spends nothing, another time is an error', async () => {
    const made = await post<{ proof_id: string }>('/v1/proofs/generate', {
      circuit_id: 'yesno',
      inputs: { data: { age: 36 }, rules: RULES },
    })
    const other = await post<Verdict>('/v1/proofs/verify', { ...made, digest: '0'.repeat(64), consume: true })
    expect([other.verified, other.reason_codes]).to.deep.equal([false, ['DIGEST_MISMATCH']])
    const later = await post<Verdict>('/v1/proofs/verify', {
      ...made,
      created_at: '2020-01-01T00:00:00.000Z',
    })
    expect([later.error, later.details?.[0]?.path]).to.deep.equal(['read_only', '/created_at'])
    const spent = await post<{ consumed: boolean }>('/v1/proofs/verify', { ...made, consume: true })
    expect(spent.consumed).to.equal(true)
  })

  it('an upload of no proofs is answered with zeros', async () => {
    const none = await post('/api/proof/sync', { proofs: [] })
    expect(none).to.deep.equal({ synced: 0, updated: 0, proofs: [], errors: [] })
  })

  const refusedMember = async (method: string, path: string, body: object, by = key) => {
    const answer = await app.request<Verdict>(method, path, { key: by, body })
    return [answer.status, answer.body.error, answer.body.details?.[0]?.path]
  }

  it('of a token is taken where the token is validated', async () => {
    const issued = await post<object>('/api/tokens/generate', { subject: 'u' })
    expect(await post('/api/tokens/validate', issued)).to.include({ valid: true })
    const expiresAt = '2020-01-01T00:00:00.000Z'
    expect(await refusedMember('POST', '/api/tokens/validate', { ...issued, expiresAt })).to.deep.equal([
      422,
      'read_only',
      '/expiresAt',
    ])
  })

  it('of a ticket is taken where it is handed in, and another one is used up by nobody', async () => {
    const ticket = await post<object>('/v1/qr/tickets', {})
    const handIn = async (proof: object) => {
      const { results } = await post<BatchOutcomes>('/v1/qr/proofs/batch', { proofs: [proof] })
      return [results[0]?.status, results[0]?.message?.split(' ')[0]]
    }
    expect(await handIn({ ...ticket, digest: '0'.repeat(64) })).to.deep.equal(['invalid', '/digest'])
    expect(await handIn({ ...ticket, diggest: '' })).to.deep.equal(['invalid', '/diggest'])
    expect(await handIn(ticket)).to.deep.equal(['spent', undefined])
  })

  it('of a result is taken where it is revoked, as it was made and as it is looked up', async () => {
    const made = await post<{ verificationId: string }>('/verify', {
      data: { age: 36 },
      options: { rules: RULES, include_receipt: true },
    })
    const path = `/verify/${made.verificationId}`
    const { body: found } = await app.request<object>('GET', path, { key })
    expect(await refusedMember('POST', '/verify/revoke', { ...made, decision: 'NO' })).to.deep.equal([
      422,
      'read_only',
      '/decision',
    ])
    expect(await post('/verify/revoke', found)).to.include({ status: 'REVOKED' })
    expect(await post('/verify/revoke', made)).to.include({ status: 'REVOKED' })
  })

  it('of an endpoint, an organisation, a policy and the posting state is taken by what changes them', async () => {
    const at = '2020-01-01T00:00:00.000Z'
    await post('/api/webhooks', { label: 'a', url: 'https://hooks.shop.example/a', events: ['proof.spent'] })
    const { body: list } = await app.request<WebhookList>('GET', '/api/webhooks', { key })
    const webhook = list.webhooks[0] as Webhook
    const organisation = { organisationId: (await app.organisation()).organisationId }
    const { body: policy } = await app.request<object>('GET', '/console/api/policies/yesno', { key })
    const { body: posting } = await app.request<{ posting: string }>('GET', '/console/api/posting', {
      key: app.adminKey,
    })
    const changes = [
      ['PATCH', `/api/webhooks/${webhook.id}`, webhook, { createdAt: at }, key],
      [
        'PATCH',
        `/console/api/organisations/${organisation.organisationId}`,
        organisation,
        { createdAt: at },
        app.adminKey,
      ],
      ['PUT', '/console/api/policies/yesno', policy, { seeded: false }, key],
      ['PUT', '/console/api/posting', { ...posting, mode: posting.posting }, { since: at }, app.adminKey],
    ] as const
    for (const [method, path, whole, other, by] of changes) {
      const [name] = Object.keys(other)
      const refused = await refusedMember(method, path, { ...whole, ...other }, by)
      expect(refused, path).to.deep.equal([422, 'read_only', `/${name}`])
      const taken = await app.request<object>(method, path, { key: by, body: whole })
      expect(taken.status, JSON.stringify(taken.body)).to.equal(200)
      if (method === 'PATCH') {
        const again = await app.request<object>(method, path, { key: by, body: taken.body })
        expect(again.body).to.deep.equal(taken.body)
      }
    }
  })

  it('is not asked of queued payments: members that they do not know are named, and ignored', async () => {
    const { results } = await post<{ results: { warnings?: { path: string; message: string }[] }[] }>(
      '/api/merchant/transactions/sync',
      { transactions: [{ proofData: 'x', amount: 1, timestamp: 1, custmerId: 'c', amuont: 2 }, {}] },
    )
    expect(results[0]?.warnings?.map(({ path }) => path)).to.deep.equal(['/custmerId', '/amuont'])
    expect(results[0]?.warnings?.[1]?.message).to.include('did you mean `amount`')
    expect(results[1]).not.to.have.property('warnings')
  })
})
