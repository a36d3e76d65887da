import { expect } from 'chai'
import { WEBHOOK_EVENTS } from '../../../src/domain/webhooks/events.ts'
import type { WebhookDelivery } from '../../../src/protocol/webhook/webhook.ts'
import type { TestApp } from '../../support/app.ts'
import { ask, createProxy, MEMBERS } from '../../support/domain/hermes.ts'
import { createPod, movePod } from '../../support/domain/pods.ts'
import {
  ADULT,
  asPresented,
  generated,
  PERSON,
  postSimpleVerify,
  postVerifyProof,
} from '../../support/domain/proof-api.ts'
import { keyTill } from '../../support/domain/tills.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { leafHash, rootOf } from '../../support/reference/merkle.ts'
import { json } from '../../support/servers/target-server.ts'
import {
  answer,
  arrivals,
  deliveryOf,
  newPath,
  openSession,
  register,
  requestsTo,
  settled,
  startWebhookApp,
  until,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

const LEAF = 'merkle.leaf_appended'

interface Context {
  readonly app: TestApp
  /** A key of the organisation. */
  readonly apiKey: string
  readonly keyId: string
}

const call = async (app: TestApp, path: string, key: string, body: object, method = 'POST') => {
  const { status, body: told } = await app.request<Record<string, string>>(method, path, { key, body })
  expect(status, `${path}: ${JSON.stringify(told)}`).to.be.within(200, 299)
  return told ?? {}
}

describe('webhook events', () => {
  let context: WebhookApp
  before(async () => {
    context = await startWebhookApp()
  })
  after(() => context.close())

  /** A session's endpoint that wants everything, and a key of the same organisation. */
  const everything = async () => {
    const { app, receiver } = context
    const session = await openSession(app)
    const { apiKey, keyId } = await session.newKey()
    const path = newPath()
    receiver.on(path, answer(204))
    const url = receiver.url + path
    await register(app, { headers: session.headers }, { url, events: WEBHOOK_EVENTS })
    return { app, apiKey, keyId, session, path }
  }

  const deliveries = async (path: string): Promise<WebhookDelivery[]> => {
    await settled(context.app)
    return requestsTo(context.receiver, path).map(deliveryOf)
  }

  /** Operations → the entries they make, with the events that each announces beside its leaf. */
  const operations: readonly (readonly [
    what: string,
    act: (context: Context) => Promise<unknown>,
    announced: readonly (readonly [auditEvent: string, ...events: string[]])[],
  ])[] = [
    [
      'a verification',
      ({ app, apiKey }) => verify(app, apiKey),
      [['verify', 'proof.created', 'proof.verified']],
    ],
    [
      'a verification with a proof',
      ({ app, apiKey }) =>
        call(app, '/verify', apiKey, { data: PERSON, options: { circuit_id: 'yesno', rules: [ADULT] } }),
      [['verify', 'proof.created', 'proof.verified']],
    ],
    [
      'a batch of verifications',
      ({ app, apiKey }) => call(app, '/verify/batch', apiKey, { items: [{ a: 1 }, { a: 2 }] }),
      [
        ['verify', 'proof.verified'],
        ['verify', 'proof.verified'],
      ],
    ],
    [
      'a verification in a pod',
      async ({ app, apiKey }) => {
        const pod = await createPod(app, apiKey)
        const { body } = await app.request<{ organisationId: string }>('GET', '/console/api/me', {
          key: apiKey,
        })
        const path = `/console/api/organisations/${body.organisationId}`
        await call(app, path, app.adminKey, { subscription: 'active' }, 'PATCH')
        await movePod(app, pod.podId, 'ACTIVE')
        await call(app, `/pod/${pod.podId}/verify`, apiKey, { data: PERSON })
      },
      [['account'], ['verify', 'proof.created', 'proof.verified']],
    ],
    [
      'a question to hermes',
      async ({ app, apiKey }) => {
        context.receiver.on('/members', json({ members: MEMBERS }))
        const proxy = await createProxy(app, { destinationUrl: `${context.receiver.url}/members` }, apiKey)
        expect((await ask(app, proxy.slug, { name: 'Ada' }, { bearer: apiKey })).body.verdict).to.equal('YES')
      },
      [['account'], ['verify', 'proof.created', 'proof.verified']],
    ],
    [
      'a verification by policy',
      ({ app, apiKey }) => call(app, '/v1/verify', apiKey, { circuit_id: 'yesno', identifier: 'c' }),
      [['verify', 'proof.created', 'proof.verified']],
    ],
    [
      'a question to a circuit',
      async ({ app, apiKey }) => {
        const { tokenId } = await tokenRoutesOf(app, apiKey).issued()
        await call(app, '/api/circuits/token-validation', apiKey, { tokenId })
      },
      [['attest'], ['verify', 'proof.created', 'proof.verified']],
    ],
    ['a proof, made', ({ app, apiKey }) => generated(app, apiKey), [['prove', 'proof.created']]],
    [
      'a proof, made and verified by either route',
      async ({ app, apiKey }) => {
        const made = await generated(app, apiKey)
        await postVerifyProof(app, apiKey, asPresented(made))
        await postSimpleVerify(app, apiKey, {
          proofId: made.proof_id,
          proof: made.proof,
          publicInputs: made.public_signals,
        })
      },
      [
        ['prove', 'proof.created'],
        ['verify', 'proof.verified'],
        ['verify', 'proof.verified'],
      ],
    ],
    [
      'a proof, made and spent, and refused the second time',
      async ({ app, apiKey }) => {
        const made = asPresented(await generated(app, apiKey))
        await postVerifyProof(app, apiKey, { ...made, consume: true })
        const again = await postVerifyProof(app, apiKey, { ...made, consume: true })
        expect([again.status, again.body.reason]).to.deep.equal([409, 'DOUBLE_SPEND'])
        // The alert about it is logged on the side.
        const { body: me } = await app.request<{ organisationId: string }>('GET', '/console/api/me', {
          key: apiKey,
        })
        const alert = { organisation: me.organisationId, type: 'gate' }
        const { knex } = app.services.database
        await until(
          'the alert is logged',
          async () => (await knex('ledger_entries').where(alert).first('id')) !== undefined,
        )
      },
      [['prove', 'proof.created'], ['verify', 'proof.verified'], ['spend', 'proof.spent'], ['gate']],
    ],
    [
      'a decision by policy',
      ({ app, apiKey }) =>
        call(app, '/v1/nior/policy/decide', apiKey, {
          subject: { type: 'user', id: 'u' },
          action: { name: 'refund' },
          resource: { type: 'order', id: 'A-1' },
        }),
      [['gate']],
    ],
    [
      'a token, issued, presented and revoked',
      async ({ app, apiKey }) => {
        const tokens = tokenRoutesOf(app, apiKey)
        const { token, tokenId } = await tokens.issued({ singleUse: true })
        await tokens.validate({ token, consume: true })
        await tokens.revoke(tokenId)
      },
      [['attest'], ['gate'], ['revoke']],
    ],
    [
      'a revoked API key',
      async ({ app, apiKey, keyId }) => {
        const { status } = await app.request('DELETE', `/console/api/keys/${keyId}`, { key: apiKey })
        expect(status).to.equal(403)
      },
      [],
    ],
  ]
  for (const [what, act, announced] of operations) {
    it(`${what}: ${announced.map(([type, ...events]) => events.join(' + ') || type).join(', ') || 'refused, so nothing'}`, async () => {
      const { app, apiKey, keyId, path } = await everything()
      await act({ app, apiKey, keyId })
      const told = await deliveries(path)
      const own = announced.flatMap(([, ...events]) => events)
      expect(told.map(({ event }) => event)).to.have.members([...own, ...announced.map(() => LEAF)])
      const leaves = told.filter(({ event }) => event === LEAF)
      expect(leaves.map(({ data }) => data.audit_event)).to.have.members(announced.map(([type]) => type))
      expect(new Set(told.map(({ delivery_id }) => delivery_id)).size).to.equal(told.length)
    })
  }

  it('say of one verification the same digest, leaf and root, under three delivery ids, at one moment', async () => {
    const { app, apiKey, path } = await everything()
    await call(app, '/v1/verify', apiKey, { circuit_id: 'yesno', identifier: 'c' })
    const told = await deliveries(path)
    expect(told).to.have.length(3)
    const named = (name: string) => told.find(({ event }) => event === name)
    const [proof, seen, leaf] = ['proof.created', 'proof.verified', LEAF].map(named)
    if (!proof || !seen || !leaf) throw new Error('one of the three is missing')
    expect(new Set(told.map(({ delivery_id }) => delivery_id)).size).to.equal(3)
    expect(proof.created_at).to.equal(leaf.created_at)
    expect(seen.data).to.deep.equal(proof.data)
    expect(leaf.data).to.deep.equal({
      digest: proof.data.digest,
      circuit_id: 'yesno',
      proof_id: proof.data.proof_id,
      audit_event: 'verify',
      leaf_hash: proof.data.merkle_leaf_hash,
      merkle_index: leaf.data.merkle_index,
      merkle_root: proof.data.merkle_root,
    })
    expect(Object.keys(proof.data)).to.deep.equal([
      'digest',
      'circuit_id',
      'proof_id',
      'merkle_root',
      'merkle_leaf_hash',
    ])
    expect(proof.data.proof_id).to.match(/^prf_/)
  })

  it('name the root of the tree that ends with their leaf, also when entries are committed together', async () => {
    const { app, apiKey, path } = await everything()
    await Promise.all(Array.from({ length: 20 }, () => verify(app, apiKey)))
    const told = (await deliveries(path)).filter(({ event }) => event === LEAF)
    expect(told).to.have.length(20)
    const entries: { entry: string }[] = await app.services.database
      .knex('ledger_entries')
      .orderBy('idx')
      .select('entry')
    const leaves = entries.map(({ entry }) => leafHash(Buffer.from(entry)))
    for (const { data } of told) {
      const index = Number(data.merkle_index)
      expect(data.leaf_hash).to.equal(leaves[index]?.toString('hex'))
      expect(data.merkle_root).to.equal(rootOf(leaves.slice(0, index + 1)).toString('hex'))
    }
  })

  it('of payments come too, with nulls for what a payment lacks', async () => {
    const { app, receiver } = context
    const owner = await app.organisation()
    const till = await keyTill(app, owner)
    const path = newPath()
    receiver.on(path, answer(204))
    await register(app, { key: owner.apiKey }, { url: receiver.url + path, events: [LEAF] })
    await till.validate(till.payment())
    const [told] = await deliveries(path)
    expect(told?.data).to.include({ audit_event: 'payment', circuit_id: null, proof_id: null })
  })

  it('of a revoked key, and its leaf, go with its label to the account, to itself and to who revoked it', async () => {
    const { app, receiver } = context
    const { headers } = await openSession(app)
    const { body: doer } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      headers,
      body: { scopes: ['keys', 'webhook', 'verify'] },
    })
    const { body: victim } = await app.request<{ apiKey: string; keyId: string }>(
      'POST',
      '/console/api/keys',
      {
        headers,
        body: { scopes: ['webhook', 'verify'], label: 'old till' },
      },
    )
    const { body: bystander } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      headers,
      body: { scopes: ['webhook', 'verify'] },
    })
    const paths: Record<string, string> = {}
    for (const [name, credential] of Object.entries({
      account: { headers },
      doer: { key: doer.apiKey },
      victim: { key: victim.apiKey },
      bystander: { key: bystander.apiKey },
    })) {
      const path = newPath()
      receiver.on(path, answer(204))
      await register(app, credential, { url: receiver.url + path, events: ['key.revoked', LEAF] })
      paths[name] = path
    }
    await app.request('DELETE', `/console/api/keys/${victim.keyId}`, { key: doer.apiKey })
    await settled(app)
    const toldTo = (name: string) =>
      requestsTo(receiver, paths[name] ?? '')
        .map(deliveryOf)
        .filter(({ event, data }) => event !== LEAF || data.audit_event === 'key.revoked')
    for (const name of ['account', 'doer', 'victim']) {
      const told = toldTo(name)
      expect(told.map(({ event }) => event).sort(), name).to.deep.equal(['key.revoked', LEAF])
      const revoked = told.find(({ event }) => event === 'key.revoked')
      expect(revoked?.data, name).to.deep.equal({ key_id: victim.keyId, label: 'old till' })
    }
    expect(toldTo('bystander')).to.deep.equal([])
  })

  it('of keys and terminals that a key makes or replaces go to that key, and not to another', async () => {
    const { app, receiver } = context
    const { headers, newKey } = await openSession(app)
    const { apiKey: bystander } = await newKey()
    const { body: doer } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      headers,
      body: { scopes: ['keys', 'merchant', 'webhook'] },
    })
    const paths: Record<string, string> = {}
    for (const [name, credential] of Object.entries({
      doer: { key: doer.apiKey },
      bystander: { key: bystander },
      // Last, so that it hears of none of the others.
      account: { headers },
    })) {
      const path = newPath()
      receiver.on(path, answer(204))
      await register(app, credential, { url: receiver.url + path, events: [LEAF] })
      paths[name] = path
    }
    const { keyId = '' } = await call(app, '/console/api/keys', doer.apiKey, { label: 'next' })
    await call(app, `/console/api/keys/${keyId}/rotate`, doer.apiKey, { overlapSeconds: 3600 })
    const { merchantId } = await call(app, '/console/api/merchants', doer.apiKey, { name: 'Corner shop' })
    await call(app, '/console/api/terminals', doer.apiKey, { label: 'till', merchantId })
    const made = async (name: string) =>
      (await deliveries(paths[name] ?? '')).map(({ data }) => data.audit_event)
    expect(await made('doer'), 'of the key that asked').to.deep.equal(await made('account'))
    expect(await made('doer')).to.have.length(4)
    expect(await made('bystander')).to.deep.equal([])
  })

  it('of a key that leaked go to its owner alone, whoever revoked it', async () => {
    const { app, receiver } = context
    const revokers = {
      nobody: undefined,
      stranger: (await app.organisation()).apiKey,
      operator: app.adminKey,
    }
    const bystanders: Record<string, string> = {}
    for (const key of [revokers.stranger, revokers.operator]) {
      const path = newPath()
      receiver.on(path, answer(204))
      await register(app, { key }, { url: receiver.url + path, events: ['key.revoked', LEAF] })
      bystanders[key] = path
    }
    for (const [revoker, key] of Object.entries(revokers)) {
      const { apiKey, keyId, path } = await everything()
      const body = { key: revoker === 'operator' ? keyId : apiKey }
      const { status } = await app.request('POST', '/console/api/keys/revoke', { key, body })
      expect(status).to.equal(200)
      const told = (await deliveries(path)).filter(({ event }) => event === 'key.revoked')
      expect(
        told.map(({ data }) => data),
        revoker,
      ).to.deep.equal([{ key_id: keyId, label: 'shop key' }])
    }
    for (const [key, path] of Object.entries(bystanders))
      expect(await deliveries(path), key).to.deep.equal([])
  })

  it('come to a key only for what that key did, to a session for all keys, to nobody else', async () => {
    const { app, apiKey, session, path } = await everything()
    const other = await session.newKey()
    const [own, foreign] = [newPath(), newPath()]
    for (const each of [own, foreign]) context.receiver.on(each, answer(204))
    const events = ['proof.verified']
    await register(app, { key: apiKey }, { url: context.receiver.url + own, events })
    await register(
      app,
      { key: (await app.organisation()).apiKey },
      { url: context.receiver.url + foreign, events },
    )
    await verify(app, apiKey)
    await verify(app, other.apiKey)
    await verify(app, other.apiKey)
    expect((await deliveries(own)).map(({ event }) => event)).to.deep.equal(events)
    const all = (await deliveries(path)).filter(({ event }) => event === 'proof.verified')
    expect(all).to.have.length(3)
    expect(await deliveries(foreign)).to.deep.equal([])
  })

  it('begin with what follows the registration', async () => {
    const { app, receiver } = context
    const { apiKey } = await app.organisation()
    await verify(app, apiKey)
    const path = newPath()
    receiver.on(path, answer(204))
    await register(app, { key: apiKey }, { url: receiver.url + path, events: WEBHOOK_EVENTS })
    await verify(app, apiKey)
    const told = await deliveries(path)
    expect(told.map(({ event }) => event)).to.have.members(['proof.created', 'proof.verified', LEAF])
    await arrivals(receiver, path, 3)
  })

  it('hold no personal data, whatever was verified', async () => {
    const { app, apiKey, path } = await everything()
    await call(app, '/verify', apiKey, { data: { name: 'Grace Hopper', email: 'grace@navy.example' } })
    const told = JSON.stringify(await deliveries(path))
    expect(told).to.not.match(/grace@|hopper|navy[.]example/i)
  })
})
