/** Enrolling agents through the real app: keys, challenges, limits, free proofs. */
import { randomBytes } from 'node:crypto'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import { AppError } from '../../../src/errors.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  type AgentKey,
  agentRoutesOf,
  type ErrorBody,
  newAgentKey,
  newMlDsaKey,
} from '../../support/domain/agents.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

describe('agents', () => {
  let app: TestApp
  let owner: TestOrganisation
  let agents: ReturnType<typeof agentRoutesOf>
  let key: AgentKey
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    agents = agentRoutesOf(app, owner.apiKey)
    key = await newAgentKey()
  })
  const inUse = (kid: string, organisation = owner.organisationId) =>
    app.services.registeredKeys.find(organisation, kid)
  const entries = async () =>
    (
      await app.services.database
        .knex('ledger_entries')
        .where({ organisation: owner.organisationId })
        .orderBy('idx')
    ).map(({ type, entry }) => `${type} ${JSON.parse(entry).data.event}`)
  const detail = ({ details }: ErrorBody) => `${details?.[0]?.path} ${details?.[0]?.code}`

  it('are pending until they answer a challenge, whose message says for whom it is', async () => {
    const made = await agents.pending(key)
    expect(made).to.deep.include({
      status: 'pending',
      trust_level: 'registered',
      trust_reasons: ['possession_not_shown'],
      kid: key.kid,
      pq_kid: null,
      free_allocation: null,
    })
    const { nonce, message, aud, org, message_pq } = made.challenge ?? {}
    expect([aud, org, message_pq]).to.deep.equal([app.url, owner.organisationId, null])
    expect(message).to.equal(`agent-pop/1\n${canonicalize({ aud, org, kid: key.kid, nonce })}`)
    expect(Buffer.from(nonce ?? '', 'base64url').length).to.be.at.least(16)
    expect(await inUse(key.kid)).to.equal(undefined)

    const { status, body, headers } = await agents.answer(made, key)
    expect([status, headers.get('x-feature-version')]).to.deep.equal([201, '1.2.0'])
    expect(body).to.deep.include({
      agent_id: made.agent_id,
      status: 'active',
      trust_level: 'key_verified',
      trust_reasons: ['no_domain'],
      challenge: null,
    })
    expect(await inUse(key.kid)).to.deep.equal({
      kid: key.kid,
      jwk: key.jwk,
      owner: { type: 'agent', id: made.agent_id },
    })
    expect((await entries()).slice(-2)).to.deep.equal(['account agent.enrolled', 'attest agent.activated'])
  })

  it('are what was sent of them, to other services and to their organisation alone', async () => {
    const sent = {
      name: 'Buyer',
      description: 'Buys',
      url: 'https://agents.example/buyer',
      provider: 'Example Ltd',
      agent_card_url: 'https://agents.example/.well-known/agent-card.json',
      capabilities: ['search', 'purchase'],
      principal: { type: 'person', reference: 'Erika Mustermann' },
      limits: {
        currency: 'GBP',
        per_transaction: 12.5,
        per_day: 0,
        allowed_payees: ['shop.example'],
        allowed_actions: [],
        expires_at: new Date(Date.now() + DAY_MS).toISOString(),
      },
    }
    const { agent_id } = await agents.pending(key, sent)
    const { body } = await agents.read(agent_id)
    expect(body).to.deep.include({ ...sent, agent_id, public_key: key.jwk, public_key_pq: null })
    const record = await app.services.agents.find(owner.organisationId, agent_id)
    expect(record).to.deep.include({
      id: agent_id,
      kid: key.kid,
      jwk: key.jwk,
      principal: sent.principal,
      limits: {
        currency: 'GBP',
        perTransactionMinor: 1250,
        perDayMinor: 0,
        allowedPayees: ['shop.example'],
        allowedActions: [],
        expiresAt: Date.parse(sent.limits.expires_at),
      },
    })
    const stranger = await app.organisation()
    expect(await app.services.agents.find(stranger.organisationId, agent_id)).to.equal(undefined)
    expect((await agentRoutesOf(app, stranger.apiKey).read(agent_id)).status).to.equal(404)
    // The person's name is nowhere as it was sent.
    const { knex } = app.services.database
    const row = JSON.stringify(await knex('agents').where({ id: agent_id }).first())
    const log = JSON.stringify(await knex('ledger_entries').where({ organisation: owner.organisationId }))
    for (const text of [row, log]) {
      expect(text).not.to.contain('Erika')
      expect(text).not.to.contain(Buffer.from('Erika').toString('hex'))
    }
  })

  it('may sign with P-256, and with a second, post-quantum key only if that one signs, too', async () => {
    const curve = await newAgentKey('P-256')
    expect((await agents.active(curve)).kid).to.equal(curve.kid)
    const pqKey = await newMlDsaKey()
    const made = await agents.pending(key, { public_key_pq: pqKey.jwk })
    expect(made.pq_kid).to.equal(pqKey.kid)
    expect(made.challenge?.message_pq).to.contain(pqKey.kid)
    const alone = await agents.answer(made, key)
    expect([alone.status, detail(alone.body)]).to.deep.equal([
      422,
      '/proof_of_possession/signature_pq required',
    ])
    const wrong = await agents.answer(made, key, await newMlDsaKey())
    expect(detail(wrong.body)).to.equal('/proof_of_possession/signature_pq signature_invalid')
    expect(await inUse(key.kid)).to.equal(undefined)
    expect((await agents.answer(made, key, pqKey)).status).to.equal(201)
    expect((await inUse(pqKey.kid))?.owner.id).to.equal(made.agent_id)
  })

  it('stay pending while the answer is not that of the key to a challenge for it', async () => {
    const made = await agents.pending(key)
    const other = await newAgentKey()
    const { nonce, message } = made.challenge as NonNullable<typeof made.challenge>
    const answers = async (proof: object) => {
      const { status, body } = await agents.enrol({ agent_id: made.agent_id, proof_of_possession: proof })
      return `${status} ${detail(body)}`
    }
    const signature = '/proof_of_possession/signature'
    expect(await answers({ nonce, signature: other.sign(message) })).to.equal(
      `422 ${signature} signature_invalid`,
    )
    expect(await answers({ nonce, signature: key.sign(`${message} `) })).to.equal(
      `422 ${signature} signature_invalid`,
    )
    expect(await answers({ nonce, signature: '!' })).to.equal(`422 ${signature} signature_invalid`)
    // A nonce of the agent's own, of another key, of another organisation.
    const elsewhere = agentRoutesOf(app, (await app.organisation()).apiKey)
    const foreign = [
      randomBytes(56).toString('base64url'),
      (await agents.pending(other)).challenge?.nonce ?? '',
      (await elsewhere.pending(key)).challenge?.nonce ?? '',
    ]
    for (const wrong of foreign) {
      const proof = { nonce: wrong, signature: key.sign(message.replace(nonce, wrong)) }
      expect(await answers(proof)).to.equal('422 /proof_of_possession/nonce nonce_unknown')
    }
    expect(await inUse(key.kid)).to.equal(undefined)
    expect((await agents.answer(made, key)).status).to.equal(201)
    const again = await agents.answer(made, key)
    expect([again.status, again.body.error]).to.deep.equal([409, 'conflict'])
  })

  it('are active at once with a proof of possession of an earlier challenge, and not with a made-up one', async () => {
    const { challenge } = await agents.pending(key)
    const proof = { nonce: challenge?.nonce, signature: key.sign(challenge?.message ?? '') }
    const enrol = (proof_of_possession: object) =>
      agents.enrol({ name: 'Quick', public_key: key.jwk, proof_of_possession })
    const nonce = randomBytes(56).toString('base64url')
    expect((await enrol({ ...proof, nonce })).status).to.equal(422)
    const { status, body } = await enrol(proof)
    expect([status, body.status, body.trust_level, body.name]).to.deep.equal([
      201,
      'active',
      'key_verified',
      'Quick',
    ])
  })

  it('lapse after an hour without an answer, and then reserve nothing', async () => {
    let now = Date.now()
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey } = await own.organisation()
      const routes = agentRoutesOf(own, apiKey)
      const [early, late] = [await routes.pending(key), await routes.pending(await newAgentKey())]
      now += HOUR_MS - 1
      expect((await routes.answer(early, key)).status).to.equal(201)
      now += 1
      expect((await routes.read(late.agent_id)).body.status).to.equal('expired')
      const answer = await routes.answer(late, key)
      expect([answer.status, answer.body.error]).to.deep.equal([409, 'conflict'])
      // Nor does the old challenge help a new enrolment.
      const fresh = await newAgentKey()
      const { challenge } = await routes.pending(fresh)
      now += HOUR_MS
      const { body } = await routes.enrol({
        name: 'Late',
        public_key: fresh.jwk,
        proof_of_possession: { nonce: challenge?.nonce, signature: fresh.sign(challenge?.message ?? '') },
      })
      expect(detail(body)).to.equal('/proof_of_possession/nonce nonce_expired')
      expect((await routes.active(fresh)).status).to.equal('active')
    } finally {
      await own.close()
    }
  })

  it('expire with their limits, and their keys with them', async () => {
    let now = Date.now()
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey, organisationId } = await own.organisation()
      const routes = agentRoutesOf(own, apiKey)
      const expires_at = new Date(now + DAY_MS).toISOString()
      const { agent_id } = await routes.active(key, { limits: { currency: 'GBP', expires_at } })
      now += DAY_MS - 1
      expect(await own.services.registeredKeys.find(organisationId, key.kid)).to.not.equal(undefined)
      now += 1
      expect(await own.services.registeredKeys.find(organisationId, key.kid)).to.equal(undefined)
      expect((await own.services.agents.find(organisationId, agent_id))?.status).to.equal('expired')
      for (const step of ['suspend', 'resume'] as const)
        expect((await routes.step(agent_id, step)).status).to.equal(409)
      expect((await routes.step(agent_id, 'revoke')).body.status).to.equal('revoked')
      expect((await routes.enrol({ name: 'Again', public_key: key.jwk })).status).to.equal(409)
    } finally {
      await own.close()
    }
  })

  it('of one organisation share no key: the first to become active has it, however many try at once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => agents.pending(key)))
    const answers = await Promise.all(made.map((agent) => agents.answer(agent, key)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array(7).fill(409)])
    expect(answers.filter(({ body }) => body.error === 'key_registered').length).to.equal(7)
    const winner = answers.find(({ status }) => status === 201)?.body.agent_id
    expect((await inUse(key.kid))?.owner.id).to.equal(winner)
    for (const attempt of [
      await agents.enrol({ name: 'Again', public_key: key.jwk }),
      await agents.create({ name: 'Again', public_key: key.jwk }),
      await app.request<ErrorBody>('POST', '/v1/devices', {
        key: owner.apiKey,
        body: { name: 'Again', public_key: key.jwk },
      }),
    ])
      expect([attempt.status, attempt.body.error]).to.deep.equal([409, 'key_registered'])
  })

  it('answered twice at the same moment become active once', async () => {
    const made = await agents.pending(key)
    const answers = await Promise.all(Array.from({ length: 6 }, () => agents.answer(made, key)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array(5).fill(409)])
    expect((await entries()).filter((entry) => entry.endsWith('agent.activated')).length).to.equal(1)
  })

  it('of two organisations may have the same key, each found by its own organisation only', async () => {
    const other = await app.organisation()
    const [mine, theirs] = await Promise.all([
      agents.active(key),
      agentRoutesOf(app, other.apiKey).active(key),
    ])
    expect((await inUse(key.kid))?.owner.id).to.equal(mine.agent_id)
    expect((await inUse(key.kid, other.organisationId))?.owner.id).to.equal(theirs.agent_id)
    const stolen = await agentRoutesOf(app, other.apiKey).answer(
      await agents.pending(await newAgentKey()),
      key,
    )
    expect(stolen.status).to.equal(404)
  })

  it('bring an organisation 150 free proofs for 30 days, once, however many come at once', async () => {
    const keys = await Promise.all(Array.from({ length: 5 }, () => newAgentKey()))
    const before = Date.now()
    const made = await Promise.all(keys.map((each) => agents.active(each)))
    const given = made.flatMap(({ free_allocation }) => free_allocation ?? [])
    expect(given.length).to.equal(1)
    expect(given[0]?.granted).to.equal(150)
    expect(Date.parse(given[0]?.expires_at ?? '')).to.be.at.least(before + 30 * DAY_MS)
    const { body } = await app.request<{ free: { granted: number } }>('GET', '/api/usage', {
      key: owner.apiKey,
    })
    expect(body.free.granted).to.equal(150)
    expect((await agents.active(key)).free_allocation).to.equal(null)
    const { apiKey } = await app.organisation()
    expect((await agentRoutesOf(app, apiKey).active(key)).free_allocation?.granted).to.equal(150)
  })

  it('without a key of their own get one, whose private part is shown once and kept nowhere', async () => {
    interface Created {
      agent_id: string
      kid: string
      status: string
      trust_level: string
      private_key: { d: string; x: string }
      public_key: { x: string }
    }
    const { status, body } = await agents.create<Created>({ name: 'Night-shift buyer' })
    expect(status).to.equal(201)
    expect([body.status, body.trust_level]).to.deep.equal(['active', 'registered'])
    expect(body.private_key.x).to.equal(body.public_key.x)
    expect((await inUse(body.kid))?.owner.id).to.equal(body.agent_id)
    expect((await agents.read(body.agent_id)).body).not.to.have.property('private_key')
    const { knex } = app.services.database
    for (const table of ['agents', 'registered_keys', 'ledger_entries'])
      expect(JSON.stringify(await knex(table).select())).not.to.contain(body.private_key.d)
    const own = await agents.create<Created>({ name: 'Own key', public_key: key.jwk })
    expect([own.status, own.body.status, own.body.private_key]).to.deep.equal([201, 'pending', null])
    // Beside a key of their own they get none: signed for with both, one that was made here would pass for theirs.
    const half = { name: 'Half made', public_key_pq: (await newMlDsaKey()).jwk }
    for (const path of ['/v1/agents', '/v1/devices']) {
      const refused = await app.request<ErrorBody>('POST', path, { key: owner.apiKey, body: half })
      expect([refused.status, detail(refused.body)]).to.deep.equal([422, '/public_key required'])
    }
  })

  it('are refused with the field where the input is wrong', async () => {
    const of = async (input: object) => {
      const { status, body } = await agents.enrol({ name: 'Buyer', public_key: key.jwk, ...input })
      return `${status} ${body.details?.[0]?.path}`
    }
    const weak = { kty: 'OKP', crv: 'Ed25519', x: Buffer.alloc(32).toString('base64url') }
    expect(await of({ name: null })).to.equal('422 /name')
    expect(await of({ name: 'x'.repeat(101) })).to.equal('422 /name')
    expect(await of({ public_key: null })).to.equal('422 /public_key')
    expect(await of({ public_key: weak })).to.equal('422 /public_key')
    expect(await of({ public_key: { ...key.jwk, d: 'AAAA' } })).to.equal('422 /public_key/d')
    expect(await of({ public_key: { ...key.jwk, crv: 'X25519' } })).to.equal('422 /public_key/crv')
    expect(await of({ public_key: { ...key.jwk, x: 'AAAA' } })).to.equal('422 /public_key/x')
    const pqKey = await newMlDsaKey()
    expect(await of({ public_key: pqKey.jwk })).to.equal('422 /public_key/kty')
    expect(await of({ public_key_pq: (await newAgentKey()).jwk })).to.equal('422 /public_key_pq/alg')
    expect(await of({ public_key_pq: { ...pqKey.jwk, pub: 'AAAA' } })).to.equal('422 /public_key_pq/pub')
    expect(await of({ public_key_pq: { ...pqKey.jwk, priv: 'AAAA' } })).to.equal('422 /public_key_pq/priv')
    expect(await of({ capabilities: Array.from({ length: 65 }, (_, i) => `c${i}`) })).to.equal(
      '422 /capabilities',
    )
    for (const url of ['http://agents.example/', 'javascript:alert(1)', 'https://a:b@agents.example/', 'x'])
      for (const field of ['url', 'agent_card_url', 'key_directory_url'])
        expect(await of({ [field]: url }), `${field} ${url}`).to.equal(`422 /${field}`)
    expect(await of({ key_directory_url: 'https://pages.example/~somebody/keys.json' })).to.equal(
      '422 /key_directory_url',
    )
    const limits = (change: object) => of({ limits: { currency: 'GBP', ...change } })
    expect(await limits({ currency: 'XYZ' })).to.equal('422 /limits/currency')
    expect(await limits({ per_transaction: 0.001 })).to.equal('422 /limits/per_transaction')
    expect(await limits({ per_day: -1 })).to.equal('422 /limits/per_day')
    expect(await limits({ per_day: 1e15 })).to.equal('422 /limits/per_day')
    expect(await limits({ expires_at: new Date(Date.now() - 1).toISOString() })).to.equal(
      '422 /limits/expires_at',
    )
    const { agent_id } = await agents.pending(key)
    const bare = await agents.enrol({ agent_id })
    expect(detail(bare.body)).to.equal('/proof_of_possession required')
  })

  it('are enrolled once under one Idempotency-Key', async () => {
    const body = { name: 'Once' }
    const headers = { 'idempotency-key': 'agent-1' }
    const call = () => app.request('POST', '/v1/agents', { key: owner.apiKey, body, headers })
    const [first, second] = [await call(), await call()]
    expect(second.body).to.deep.equal(first.body)
    const { body: list } = await app.request<{ agents: object[] }>('GET', '/console/api/agents', {
      key: owner.apiKey,
    })
    expect(list.agents.length).to.equal(1)
  })

  it('hold up whatever rests on their state when that changes before it is committed', async () => {
    const { agent_id } = await agents.active(key)
    const record = await app.services.agents.find(owner.organisationId, agent_id)
    if (record === undefined) throw new Error('no agent')
    const commit = () =>
      app.services.ledger.append(systemCaller(owner.organisationId, 'test'), (tx) => {
        if (tx.holder(...app.services.agents.changed(record))) throw new AppError('conflict')
        tx.append({ type: 'gate', data: {} })
        return 'committed'
      })
    expect(await commit()).to.equal('committed')
    expect(await commit()).to.equal('committed')
    await agents.step(agent_id, 'suspend')
    const failure = await commit().catch((error: { code: string }) => error.code)
    expect(failure).to.equal('conflict')
  })
})
