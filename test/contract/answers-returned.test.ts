/** Answers that come back whole to the route that checks what they made. */
import { expect } from 'chai'
import type { OrganisationPage } from '../../src/domain/accounts/schemas.ts'
import type { AuditPage } from '../../src/domain/audit/schemas.ts'
import type { ZkpProof } from '../../src/domain/audit/schemas-zkp.ts'
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

  it('is held against its proof wherever that is shown, and says nothing of an unnamed one', async () => {
    const made = await post<{ proof_id: string }>('/v1/proofs/generate', {
      circuit_id: 'yesno',
      inputs: { data: { age: 36 }, rules: RULES },
    })
    const created_at = '2020-01-01T00:00:00.000Z'
    const { proof_id: _, ...unnamed } = made
    const answer = await post<Verdict>('/v1/proofs/verify', unnamed)
    expect(answer.error).to.equal('validation_failed')
    expect(answer.details?.map(({ path }) => path)).to.include('/proof_id')
    const { results } = await post<BatchOutcomes>('/v1/qr/proofs/batch', {
      proofs: [unnamed, { ...made, created_at }, { ...made, consume: false }, made],
    })
    expect(results.map(({ status, message = '' }) => [status, message.split(' ')[0]])).to.deep.equal([
      ['invalid', '/proof_id'],
      ['invalid', '/created_at'],
      ['invalid', '/consume'],
      ['spent', ''],
    ])
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

  it('of a token is taken where it is revoked, and another one revokes nothing', async () => {
    const issued = await post<{ tokenId: string }>('/api/tokens/generate', { subject: 'u' })
    const other = await post<{ token: string }>('/api/tokens/generate', { subject: 'u' })
    const answered = await post('/api/circuits/token-validation', issued)
    expect(answered).to.include({ token_valid: true })
    for (const path of ['/api/tokens/revoke', '/api/circuits/token-validation'])
      for (const change of [{ type: 'qr' }, { expiresAt: '2020-01-01T00:00:00.000Z' }])
        expect(await refusedMember('POST', path, { ...issued, ...change }), path).to.deep.equal([
          422,
          'read_only',
          `/${Object.keys(change)[0]}`,
        ])
    const swapped = { ...issued, token: other.token }
    expect(await refusedMember('POST', '/api/tokens/revoke', swapped)).to.include('/token')
    expect(await post('/api/tokens/validate', issued)).to.include({ valid: true })
    expect(await post('/api/tokens/revoke', { ...issued, reason: 'lost' })).to.include({ status: 'revoked' })
  })

  it('of a hybrid token is taken where it is revoked, and another one revokes nothing', async () => {
    const issued = await post<{ token_id: string; exp: number }>('/v1/tokens/generate-quantum-safe', {
      subject: 'u',
      claims: { decision: 1, level: 'gold' },
    })
    const path = '/api/tokens/revoke'
    for (const change of [{ exp: issued.exp + 1 }, { subject: 'v' }, { claims: { decision: 1 } }])
      expect(await refusedMember('POST', path, { ...issued, ...change })).to.deep.equal([
        422,
        'read_only',
        `/${Object.keys(change)[0]}`,
      ])
    const named = { tokenId: issued.token_id, type: 'qr' }
    expect(await refusedMember('POST', path, named)).to.deep.equal([422, 'read_only', '/type'])
    expect(await post('/v1/tokens/validate-quantum-safe', issued)).to.include({ valid: true })
    expect(await post(path, issued)).to.include({ status: 'revoked', tokenId: issued.token_id })
  })

  it('of a consent is taken where it is asked about, proved and withdrawn', async () => {
    const logged = await post<object>('/api/consent/log', {
      subjectId: 'whole',
      controller: 'shop',
      purposes: ['news'],
    })
    const paths = ['/api/consent/verify', '/api/circuits/consent-verification', '/api/consent/revoke']
    const asked = (path: string) => ({ ...logged, ...(path.endsWith('revoke') ? {} : { purpose: 'news' }) })
    for (const path of paths)
      for (const change of [{ version: 9 }, { leafHash: '0'.repeat(64) }, { status: 'refused' }])
        expect(await refusedMember('POST', path, { ...asked(path), ...change }), path).to.deep.equal([
          422,
          'read_only',
          `/${Object.keys(change)[0]}`,
        ])
    const [verify = '', circuit = '', revoke = ''] = paths
    expect(await post(verify, asked(verify))).to.include({ valid: true })
    expect(await post(circuit, asked(circuit))).to.include({ consent_verified: true })
    expect(await post(revoke, logged)).to.include({ status: 'withdrawn' })
  })

  it('of the log is taken where an entry is proved, and its proof where that is verified', async () => {
    await post('/console/api/keys', { label: 'an entry' })
    const { body: page } = await app.request<AuditPage>('GET', '/api/audit?limit=1', { key })
    const [entry] = page.entries
    for (const path of ['/api/audit/zkp-proof', '/api/circuits/audit-proof'])
      expect(await refusedMember('POST', path, { ...entry, type: 'gate' }), path).to.deep.equal([
        422,
        'read_only',
        '/type',
      ])
    expect(await post('/api/circuits/audit-proof', { ...entry })).to.include({ integrity_verified: true })
    const made = await post<ZkpProof>('/api/audit/zkp-proof', { ...entry })
    const path = '/api/audit/zkp-verify'
    expect(await post(path, made)).to.include({ integrity_verified: true })
    const moved = { inclusion: { ...made.inclusion, index: made.inclusion.index + 1 } }
    for (const change of [moved, { proofId: `prf_${'0'.repeat(26)}` }])
      expect(await refusedMember('POST', path, { ...made, ...change })).to.deep.equal([
        422,
        'read_only',
        `/${Object.keys(change)[0]}`,
      ])
    expect(await post(path, { ...made, digest: '0'.repeat(64) })).to.include({
      valid: true,
      integrity_verified: false,
      reason: 'DIGEST_MISMATCH',
    })
  })

  it('of a policy is taken where its result is revoked', async () => {
    const made = await post<{ verification_id: string }>('/v1/verify', {
      circuit_id: 'simple_yesno',
      identifier: 'u',
      context: { amount: 10, currency: 'GBP' },
    })
    expect(made, JSON.stringify(made)).to.have.property('verification_id')
    const other = { ...made, issued_at: '2020-01-01T00:00:00.000Z' }
    expect(await refusedMember('POST', '/verify/revoke', other)).to.deep.equal([
      422,
      'read_only',
      '/issued_at',
    ])
    expect(await post('/verify/revoke', made)).to.include({ status: 'REVOKED' })
  })

  it('of the posting state changes nothing, whatever it is', async () => {
    const change = async (body: object) => {
      const answer = await app.request<object>('PUT', '/console/api/posting', { key: app.adminKey, body })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body
    }
    const state = async () =>
      (await app.request<object>('GET', '/console/api/posting', { key: app.adminKey })).body
    for (const set of [{ mode: 'paused', reason: 'Spam.' }, { mode: 'verified_only' }, { mode: 'open' }]) {
      await change(set)
      const found = await state()
      expect(await change(found)).to.deep.equal(found)
      expect(await state()).to.deep.equal(found)
    }
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
    await app.organisation()
    const { body: listed } = await app.request<OrganisationPage>(
      'GET',
      '/console/api/organisations?limit=1',
      { key: app.adminKey },
    )
    const organisation = listed.organisations[0] ?? expect.fail('no organisation')
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
      ['PUT', '/console/api/posting', posting, { since: at }, app.adminKey],
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
