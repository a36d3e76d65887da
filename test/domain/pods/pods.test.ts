/** Pods, through the real app. */
import { hash, randomUUID } from 'node:crypto'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { compactVerify, createRemoteJWKSet } from 'jose'
import {
  type OwnPod,
  POD_STATUSES,
  type PodInfo,
  type PodStatsAnswer,
} from '../../../src/domain/pods/schemas.ts'
import type { Usage } from '../../../src/domain/usage/schemas.ts'
import type { VerificationResult } from '../../../src/domain/verification/schemas.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { createPod, movePod } from '../../support/domain/pods.ts'
import { precede } from '../../support/precede.ts'
import { freeOrganisation } from '../../support/verification.ts'

type Failure = { error: string; details?: { path: string }[] }
type Verified = VerificationResult & Failure

const ADULTS = { rules: [{ field: 'age', op: 'gte', value: 18 }] }
const UNKNOWN_POD = 'pod_00000000000000000000000000'

const verifyIn = (app: TestApp, podId: string, headers: Record<string, string>, body: object = { age: 36 }) =>
  app.request<Verified>('POST', `/pod/${podId}/verify`, { headers, body })

const chargesOf = (app: TestApp, pod: string): Promise<Record<string, unknown>[]> =>
  app.services.database.knex('pod_charges').where({ pod }).orderBy('verification')

const statsOf = async (app: TestApp, podId: string, key: string) =>
  (await app.request<PodStatsAnswer & Failure>('GET', `/pod/${podId}/stats`, { key })).body.stats

describe('pods', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })
  const list = async (key = owner.apiKey) =>
    (await app.request<{ pods: OwnPod[] }>('GET', '/console/api/pods', { key })).body.pods
  const patch = (podId: string, body: object, key = owner.apiKey) =>
    app.request<OwnPod & Failure>('PATCH', `/console/api/pods/${podId}`, { key, body })

  it('come with a key that is shown once and kept as a hash', async () => {
    const { podId, podKey, status } = await createPod(app, owner.apiKey)
    expect(podId).to.match(/^pod_[0-9a-z]{26}$/)
    expect(podKey).to.match(/^pk_pod_[0-9A-Za-z]{43}$/)
    expect(status).to.equal('ACTIVE')
    const row = await app.services.database.knex('pods').where({ id: podId }).first()
    expect(JSON.stringify({ ...row, key_digest: row.key_digest.toString() })).to.not.contain(podKey.slice(7))
    expect(JSON.stringify(await list())).to.not.contain(podKey)
  })

  it('cost 0.35 GBP a verification unless they say otherwise, to the penny', async () => {
    await createPod(app, owner.apiKey)
    await createPod(app, owner.apiKey, { chargePerVerification: 1.1, ...ADULTS })
    await createPod(app, owner.apiKey, { chargePerVerification: 0.35 })
    const pods = await list()
    expect(pods.map((pod) => pod.chargePerVerification)).to.deep.equal([0.35, 1.1, 0.35])
    expect(pods.map((pod) => pod.rules)).to.deep.equal([null, ADULTS.rules, null])
    expect(pods[0]).to.include({ currency: 'GBP', name: 'Age check', status: 'ACTIVE', logic: null })
    for (const charge of [0.355, 1e-9, 0.1 + 0.2]) {
      const body = { name: 'x', chargePerVerification: charge }
      const answer = await app.request<Failure>('POST', '/console/api/pods', { key: owner.apiKey, body })
      expect([answer.status, answer.body.error], String(charge)).to.deep.equal([422, 'amount_precision'])
    }
  })

  it('charge less than that only where the operator says so', async () => {
    for (const chargePerVerification of [0, 0.34]) {
      const body = { name: 'x', chargePerVerification }
      const refused = await app.request<Failure>('POST', '/console/api/pods', { key: owner.apiKey, body })
      expect([refused.status, refused.body.error]).to.deep.equal([403, 'insufficient_scope'])
      expect(refused.body.details?.[0]?.path).to.equal('/chargePerVerification')
    }
    expect(await list()).to.deep.equal([])
    const { podId } = await createPod(app, app.adminKey, { chargePerVerification: 0 })
    const pods = await list(app.adminKey)
    expect(pods.find((pod) => pod.podId === podId)?.chargePerVerification).to.equal(0)
  })

  it('refuse a policy that is none', async () => {
    const deep = { op: 'AND', children: Array(17).fill(ADULTS.rules[0]) }
    for (const [policy, error] of [
      [{ rules: [{ field: 'age', op: 'near', value: 1 }] }, 'validation_failed'],
      [{ rules: [{ field: 'age', op: 'gte', value: 'old' }] }, 'validation_failed'],
      [{ rules: [] }, 'validation_failed'],
      [{ rules: Array(17).fill(ADULTS.rules[0]) }, 'tree_too_large'],
      [{ logic: deep }, 'tree_too_large'],
    ] as const) {
      const body = { name: 'x', ...policy }
      const answer = await app.request<Failure>('POST', '/console/api/pods', { key: owner.apiKey, body })
      expect([answer.status, answer.body.error], JSON.stringify(policy)).to.deep.equal([422, error])
    }
    expect(await list()).to.deep.equal([])
  })

  it('are PENDING while the subscription is inactive, and verify nothing until an operator activates them', async () => {
    await app.request('PATCH', `/console/api/organisations/${owner.organisationId}`, {
      key: app.adminKey,
      body: { subscription: 'inactive' },
    })
    const { podId, podKey, status } = await createPod(app, owner.apiKey)
    expect(status).to.equal('PENDING')
    const refused = await verifyIn(app, podId, { 'x-pod-key': podKey })
    expect([refused.status, refused.body.error]).to.deep.equal([403, 'pod_pending'])
    expect(await movePod(app, podId, 'ACTIVE')).to.equal(200)
    const unpaid = await verifyIn(app, podId, { 'x-pod-key': podKey })
    expect([unpaid.status, unpaid.body.error]).to.deep.equal([402, 'subscription_inactive'])
    expect(await chargesOf(app, podId)).to.deep.equal([])
  })

  it('charge subscribers only, and never use up free proofs', async () => {
    const { apiKey } = await freeOrganisation(app)
    const { podId, podKey } = await createPod(app, apiKey)
    await movePod(app, podId, 'ACTIVE')
    const refused = await verifyIn(app, podId, { 'x-pod-key': podKey })
    expect([refused.status, refused.body.error]).to.deep.equal([402, 'subscription_inactive'])
    const usage = await app.request<Usage>('GET', '/api/usage', { key: apiKey })
    expect(usage.body.free?.used).to.equal(0)
  })

  it('are shown to anyone, without their key, policy or owner', async () => {
    const { podId } = await createPod(app, owner.apiKey, ADULTS)
    const { status, body } = await app.request<PodInfo>('GET', `/pod/${podId}`)
    expect(status).to.equal(200)
    const info = `${app.url}/pod/${podId}`
    expect(body).to.deep.equal({
      success: true,
      pod: {
        id: podId,
        name: 'Age check',
        status: 'ACTIVE',
        customDomain: null,
        verificationCount: 0,
        createdAt: body.pod.createdAt,
        endpoints: { verify: `${info}/verify`, info },
      },
    })
    const unknown = await app.request<Failure>('GET', `/pod/${UNKNOWN_POD}`)
    expect(unknown.status).to.equal(404)
    expect(unknown.body).to.include({ success: false, error: 'not_found' })
  })

  it('sign, prove and charge a NO like a YES, in the same commit', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey, ADULTS)
    const yes = await verifyIn(app, podId, { 'x-pod-key': podKey })
    const no = await verifyIn(app, podId, { authorization: `Bearer ${podKey}` }, { age: 17 })
    const missing = await verifyIn(app, podId, { 'x-api-key': owner.apiKey }, { name: 'Ada' })
    expect([yes.status, no.status, missing.status], JSON.stringify(yes.body)).to.deep.equal([200, 200, 200])
    expect([yes.body.success, no.body.success, missing.body.success]).to.deep.equal([true, false, false])
    expect([no.body.decision, missing.body.reason]).to.deep.equal(['NO', 'missing_data'])
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
    const policy = hash('sha256', canonicalize(ADULTS) ?? '')
    for (const { body } of [yes, no, missing]) {
      const { payload } = await compactVerify(body.jws, keys)
      const claims = JSON.parse(Buffer.from(payload).toString())
      expect(claims).to.include({ jti: body.verificationId, org: owner.organisationId })
      expect(body.proof).to.match(/^zk1\./)
      expect(body.rulesHash).to.equal(policy)
    }
    const charges = await chargesOf(app, podId)
    expect(charges.map(({ verification }) => verification)).to.deep.equal(
      [yes, no, missing].map(({ body }) => body.verificationId).sort(),
    )
    for (const charge of charges)
      expect(charge).to.include({ amount_minor: 35, currency: 'GBP', organisation: owner.organisationId })
    const { verificationCount } = (await app.request<PodInfo>('GET', `/pod/${podId}`)).body.pod
    expect(verificationCount).to.equal(3)
    // What counts by day and week has a clock of its own below.
    const { todayVerifications: _, weeklyCharges: __, ...stats } = await statsOf(app, podId, owner.apiKey)
    expect(stats).to.deep.equal({
      podId,
      podName: 'Age check',
      totalVerifications: 3,
      successfulVerifications: 1,
      successRate: '33.33%',
      currency: 'GBP',
      status: 'ACTIVE',
    })
  })

  it('charge once for a request that is repeated under its Idempotency-Key', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey)
    const headers = { 'x-pod-key': podKey, 'idempotency-key': randomUUID() }
    const first = await verifyIn(app, podId, headers)
    const again = await verifyIn(app, podId, headers)
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    expect(await chargesOf(app, podId)).to.have.length(1)
    const other = await verifyIn(app, podId, headers, { age: 37 })
    expect([other.status, other.body.error]).to.deep.equal([422, 'idempotency_key_reused'])
  })

  it('repeat their answer to an Idempotency-Key also when they no longer verify', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey)
    const headers = { 'x-pod-key': podKey, 'idempotency-key': randomUUID() }
    const first = await verifyIn(app, podId, headers)
    await movePod(app, podId, 'SUSPENDED')
    const again = await verifyIn(app, podId, headers)
    expect([again.status, again.body]).to.deep.equal([200, first.body])
    expect((await verifyIn(app, podId, { 'x-pod-key': podKey })).body.error).to.equal('pod_suspended')
    expect(await chargesOf(app, podId)).to.have.length(1)
  })

  it('count exactly what was signed, however many come at once', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey, ADULTS)
    const ages = Array.from({ length: 8 }, (_, index) => 14 + index)
    const answers = await Promise.all(
      ages.map((age) => verifyIn(app, podId, { 'x-pod-key': podKey }, { age })),
    )
    const signed = answers.filter(({ status }) => status === 200)
    expect(signed.length, JSON.stringify(answers.map(({ body }) => body.error))).to.be.greaterThan(0)
    expect(answers.filter(({ status }) => status !== 200 && status !== 503)).to.deep.equal([])
    const charges = await chargesOf(app, podId)
    expect(charges.map(({ verification }) => verification)).to.deep.equal(
      signed.map(({ body }) => body.verificationId).sort(),
    )
    const stats = await statsOf(app, podId, owner.apiKey)
    expect(stats.totalVerifications).to.equal(signed.length)
    expect(stats.successfulVerifications).to.equal(signed.filter(({ body }) => body.success).length)
    expect(stats.weeklyCharges).to.equal((signed.length * 35) / 100)
  })

  it('charge nothing for an error', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey)
    for (const body of ['{}', '{', '[]', '1', '{"__proto__":{}}', '{"a":12345678901234567890}', '{"a":"']) {
      const answer = await app.request('POST', `/pod/${podId}/verify`, {
        headers: { 'x-pod-key': podKey },
        body,
      })
      expect(answer.status, body).to.be.within(400, 422)
    }
    const tooMany = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`k${index}`, 1]))
    expect((await verifyIn(app, podId, { 'x-pod-key': podKey }, tooMany)).status).to.be.within(400, 422)
    expect(await chargesOf(app, podId)).to.deep.equal([])
    expect((await statsOf(app, podId, owner.apiKey)).successRate).to.equal('0.00%')
  })

  it('open to their own key and their owner’s, and to nothing else', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey)
    const stranger = await app.organisation()
    const neighbour = await createPod(app, owner.apiKey)
    const narrow = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { scopes: ['verify'] },
    })
    for (const [headers, status] of [
      [{}, 401],
      [{ 'x-pod-key': `${podKey}x` }, 401],
      [{ 'x-pod-key': `pk_pod_${'0'.repeat(43)}` }, 401],
      [{ 'x-pod-key': owner.apiKey }, 401],
      [{ 'x-api-key': `pk_pod_${'0'.repeat(43)}` }, 401],
      [{ 'x-pod-key': neighbour.podKey }, 404],
      [{ 'x-api-key': stranger.apiKey }, 404],
      [{ 'x-api-key': narrow.body.apiKey }, 403],
      [{ 'x-pod-key': podKey, 'x-api-key': owner.apiKey }, 400],
      [{ 'x-pod-key': podKey, authorization: `Bearer ${neighbour.podKey}` }, 400],
    ] as const) {
      const answer = await verifyIn(app, podId, { ...headers })
      expect(answer.status, JSON.stringify(Object.keys(headers))).to.equal(status)
    }
    expect(await chargesOf(app, podId)).to.deep.equal([])
    const same = await verifyIn(app, podId, { 'x-pod-key': podKey, authorization: `Bearer ${podKey}` })
    expect(same.status).to.equal(200)
  })

  it('have keys that open nothing but their own verification', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey)
    for (const [method, path] of [
      ['GET', `/pod/${podId}/stats`],
      ['GET', '/console/api/pods'],
      ['GET', '/console/api/me'],
      ['GET', '/api/usage'],
    ] as const) {
      const asBearer = await app.request(method, path, { bearer: podKey })
      expect(asBearer.status, path).to.equal(403)
      const asPodKey = await app.request(method, path, { headers: { 'x-pod-key': podKey } })
      expect(asPodKey.status, path).to.equal(403)
    }
  })

  it('show their statistics to their owner alone', async () => {
    const { podId } = await createPod(app, owner.apiKey)
    const path = `/pod/${podId}/stats`
    const stranger = await app.organisation()
    const refused = await app.request<Failure>('GET', path, { key: stranger.apiKey })
    expect([refused.status, refused.body.error]).to.deep.equal([403, 'forbidden'])
    expect((await app.request('GET', path)).status).to.equal(401)
    const unknown = await app.request('GET', `/pod/${UNKNOWN_POD}/stats`, { key: owner.apiKey })
    expect(unknown.status).to.equal(404)
    expect((await app.request('GET', path, { key: owner.apiKey })).status).to.equal(200)
  })

  it('belong to one organisation: others neither see nor change them', async () => {
    const { podId } = await createPod(app, owner.apiKey)
    const stranger = await app.organisation()
    expect(await list(stranger.apiKey)).to.deep.equal([])
    expect((await patch(podId, { name: 'mine' }, stranger.apiKey)).status).to.equal(404)
    expect((await patch(podId, { status: 'ARCHIVED' }, stranger.apiKey)).status).to.equal(404)
    expect((await list())[0]).to.include({ podId, name: 'Age check', status: 'ACTIVE' })
  })

  it('get another name and policy from their owner, another status and charge only from the operator', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey, ADULTS)
    const older = [{ field: 'age', op: 'gte', value: 65 }]
    const changed = await patch(podId, { name: 'Pensioners', rules: older })
    expect(changed.status).to.equal(200)
    expect(changed.body).to.deep.include({ name: 'Pensioners', rules: older, logic: null })
    expect((await verifyIn(app, podId, { 'x-pod-key': podKey })).body.decision).to.equal('NO')
    const logic = { op: 'NOT', child: older[0] }
    expect((await patch(podId, { logic })).body).to.deep.include({ rules: null, logic })
    expect((await verifyIn(app, podId, { 'x-pod-key': podKey })).body.decision).to.equal('YES')
    for (const body of [
      { status: 'ARCHIVED' },
      { chargePerVerification: 0 },
      { status: 'SUSPENDED', name: 'x' },
    ]) {
      const refused = await patch(podId, body)
      expect([refused.status, refused.body.error]).to.deep.equal([403, 'insufficient_scope'])
    }
    expect((await patch(podId, { rules: [], logic })).status).to.equal(422)
    expect((await patch(podId, { rules: null, logic: null })).status).to.equal(422)
    expect((await patch(podId, { rules: null, logic })).body).to.deep.include({ rules: null, logic })
    // Half of a policy is never kept, whichever half comes as it was.
    expect((await patch(podId, { rules: older, logic })).body).to.deep.include({ rules: older, logic })
    expect((await patch(podId, { rules: older })).body).to.deep.include({ rules: older, logic: null })
    await patch(podId, { rules: older, logic })
    expect((await patch(podId, { logic })).body).to.deep.include({ rules: null, logic })
    const dearer = await patch(podId, { chargePerVerification: 2 }, app.adminKey)
    expect(dearer.body).to.include({ chargePerVerification: 2, name: 'Pensioners' })
    expect((await patch(podId, {})).body).to.deep.equal(dearer.body)
    expect((await patch(podId, dearer.body)).body).to.deep.equal(dearer.body)
    const moved = await patch(podId, { ...dearer.body, createdAt: '2020-01-01T00:00:00.000Z' })
    expect([moved.status, moved.body.error]).to.deep.equal([422, 'read_only'])
  })

  it('lose their policy by an empty list of rules', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey, ADULTS)
    const decide = async () =>
      (await verifyIn(app, podId, { 'x-pod-key': podKey }, { age: 17 })).body.decision
    expect(await decide()).to.equal('NO')
    const freed = await patch(podId, { rules: [] })
    expect(freed.status).to.equal(200)
    expect(freed.body).to.include({ rules: null, logic: null })
    expect((await list())[0]).to.deep.equal(freed.body)
    expect(await decide()).to.equal(null)
    const logic = { op: 'NOT', child: ADULTS.rules[0] }
    await patch(podId, { logic })
    expect((await patch(podId, { rules: [] })).body).to.include({ rules: null, logic: null })
  })

  it('can’t be changed any more once they are ARCHIVED, by anybody', async () => {
    const { podId } = await createPod(app, owner.apiKey, ADULTS)
    await movePod(app, podId, 'ARCHIVED')
    const before = await list()
    for (const [body, key] of [
      [{ name: 'x' }, owner.apiKey],
      [{ rules: [] }, owner.apiKey],
      [{ chargePerVerification: 1 }, app.adminKey],
      [{ status: 'ARCHIVED', name: 'x' }, app.adminKey],
    ] as const) {
      const refused = await patch(podId, body, key)
      expect([refused.status, refused.body.error], JSON.stringify(body)).to.deep.equal([409, 'conflict'])
    }
    expect(await list()).to.deep.equal(before)
  })

  for (const from of POD_STATUSES) {
    it(`that are ${from} go only where the table says`, async () => {
      const roads = {
        PENDING: [],
        ACTIVE: ['ACTIVE'],
        SUSPENDED: ['ACTIVE', 'SUSPENDED'],
        ARCHIVED: ['ARCHIVED'],
      }
      const next = {
        PENDING: ['PENDING', 'ACTIVE', 'ARCHIVED'],
        ACTIVE: ['ACTIVE', 'SUSPENDED', 'ARCHIVED'],
        SUSPENDED: ['ACTIVE', 'SUSPENDED', 'ARCHIVED'],
        ARCHIVED: ['ARCHIVED'],
      }[from] as readonly string[]
      for (const to of POD_STATUSES) {
        const { podId } = await createPod(app, owner.apiKey)
        if (from === 'PENDING')
          await app.services.database.knex('pods').where({ id: podId }).update({ status: from })
        for (const step of roads[from]) expect(await movePod(app, podId, step)).to.equal(200)
        expect(await movePod(app, podId, to), to).to.equal(next.includes(to) ? 200 : 409)
        expect((await list())[0]?.status).to.equal(next.includes(to) ? to : from)
      }
    })
  }

  it('that are suspended or archived refuse at once, say so, and are still there to look at', async () => {
    const { podId, podKey } = await createPod(app, owner.apiKey)
    expect((await verifyIn(app, podId, { 'x-pod-key': podKey })).status).to.equal(200)
    await movePod(app, podId, 'SUSPENDED')
    const suspended = await verifyIn(app, podId, { 'x-pod-key': podKey })
    expect([suspended.status, suspended.body.error]).to.deep.equal([403, 'pod_suspended'])
    await movePod(app, podId, 'ACTIVE')
    expect((await verifyIn(app, podId, { 'x-pod-key': podKey })).status).to.equal(200)
    await movePod(app, podId, 'ARCHIVED')
    const archived = await verifyIn(app, podId, { 'x-api-key': owner.apiKey })
    expect([archived.status, archived.body.error]).to.deep.equal([410, 'pod_archived'])
    const { body } = await app.request<PodInfo>('GET', `/pod/${podId}`)
    expect(body.pod).to.include({ status: 'ARCHIVED', verificationCount: 2 })
    expect(await statsOf(app, podId, owner.apiKey)).to.include({ totalVerifications: 2, status: 'ARCHIVED' })
  })

  it('that are changed while a proof is made sign and charge nothing by what they were', async () => {
    const age17 = { rules: [{ field: 'age', op: 'gte', value: 17 }] }
    for (const [act, status, error] of [
      [(podId: string) => movePod(app, podId, 'SUSPENDED'), 403, 'pod_suspended'],
      [(podId: string) => movePod(app, podId, 'ARCHIVED'), 410, 'pod_archived'],
      [(podId: string) => patch(podId, age17), 409, 'conflict'],
      [(podId: string) => patch(podId, { rules: [] }), 409, 'conflict'],
      [(podId: string) => patch(podId, { chargePerVerification: 2 }, app.adminKey), 409, 'conflict'],
    ] as const) {
      const { podId, podKey } = await createPod(app, owner.apiKey, ADULTS)
      precede(app.services.prover, 'prove', () => act(podId))
      const { status: answered, body } = await verifyIn(app, podId, { 'x-pod-key': podKey })
      expect([answered, body.error]).to.deep.equal([status, error])
      expect(await chargesOf(app, podId)).to.deep.equal([])
    }
    const { podId, podKey } = await createPod(app, owner.apiKey, ADULTS)
    // Another server changes it, and this one hears nothing of it: whoever asks again at once is answered.
    precede(app.services.prover, 'prove', () =>
      app.services.database.knex('pods').where({ id: podId }).update({ charge_minor: 200 }),
    )
    expect((await verifyIn(app, podId, { 'x-pod-key': podKey })).status).to.equal(409)
    expect((await verifyIn(app, podId, { 'x-pod-key': podKey })).status).to.equal(200)
    // What is no reason to ask again.
    precede(app.services.prover, 'prove', () => patch(podId, { name: 'Another' }))
    expect((await verifyIn(app, podId, { 'x-pod-key': podKey })).status).to.equal(200)
  })

  it('are limited by address for themselves, and not counted by the organisation', async () => {
    await app.request('PATCH', `/console/api/organisations/${owner.organisationId}`, {
      key: app.adminKey,
      body: { rateLimitPerMinute: 3 },
    })
    const { podId, podKey } = await createPod(app, owner.apiKey)
    const address = { 'x-forwarded-for': '198.51.100.7' }
    for (let call = 1; call <= 4; call++) {
      const { status, headers } = await verifyIn(app, podId, { ...address, 'x-api-key': owner.apiKey }, {})
      expect(status).to.equal(422)
      expect(headers.get('ratelimit-policy')).to.equal('"default";q=1000;w=3600')
      expect(headers.get('x-ratelimit-remaining')).to.equal(String(1000 - call))
    }
    const byPodKey = await verifyIn(app, podId, { ...address, 'x-pod-key': podKey }, {})
    expect(byPodKey.headers.get('x-ratelimit-remaining')).to.equal('995')
    const elsewhere = await verifyIn(app, podId, { 'x-pod-key': podKey }, {})
    expect(elsewhere.headers.get('x-ratelimit-remaining')).to.equal('999')
  })

  it('count by UTC day and ISO week', async () => {
    let now = Date.parse('2026-11-22T23:59:58Z')
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey } = await own.organisation()
      const { podId, podKey } = await createPod(own, apiKey)
      const verify = async () => {
        expect((await verifyIn(own, podId, { 'x-pod-key': podKey })).status).to.equal(200)
      }
      const stats = async () => {
        const { totalVerifications, todayVerifications, weeklyCharges } = await statsOf(own, podId, apiKey)
        return [totalVerifications, todayVerifications, weeklyCharges]
      }
      await verify()
      expect(await stats()).to.deep.equal([1, 1, 0.35])
      // Monday begins.
      now = Date.parse('2026-11-23T00:00:00Z')
      expect(await stats()).to.deep.equal([1, 0, 0])
      await verify()
      expect(await stats()).to.deep.equal([2, 1, 0.35])
      now = Date.parse('2026-11-29T23:59:59.999Z')
      expect(await stats()).to.deep.equal([2, 0, 0.35])
      await verify()
      expect(await stats()).to.deep.equal([3, 1, 0.7])
      now += 1
      expect(await stats()).to.deep.equal([3, 0, 0])
      expect(await own.services.database.knex('pod_days').where({ pod: podId })).to.have.length(3)
    } finally {
      await own.close()
    }
  })
})
