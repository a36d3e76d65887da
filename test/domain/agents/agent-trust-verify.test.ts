/** Agents recognised by what they present, through the real app. */
import { generateKeyPairSync } from 'node:crypto'
import { AgentCard as Card, generateAgentCardSignature } from '@a2a-js/sdk'
import { expect } from 'chai'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { signatureHeaders } from 'web-bot-auth'
import { systemCaller } from '../../../src/caller.ts'
import { systemClock } from '../../../src/clock.ts'
import { toWireLimits } from '../../../src/domain/agents/enrol/limits.ts'
import { createAgentAuthorisations } from '../../../src/domain/agents/trust/authorise.ts'
import { createAgentVerification } from '../../../src/domain/agents/trust/verify.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  agentJws,
  agentRequestJws,
  agentTrustOf,
  contentDigest,
  freshNonce,
  newTrustedAgent,
  signedHttp,
} from '../../support/domain/agent-trust.ts'
import {
  type AgentKey,
  agentKeyOf,
  type agentRoutesOf,
  newAgentKey,
  newMlDsaKey,
} from '../../support/domain/agents.ts'

const CARD = {
  name: 'Route planner',
  description: 'Plans routes.',
  version: '1.0.0',
  supportedInterfaces: [
    { url: 'https://planner.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'plan', name: 'Plan', description: 'Plans a route', tags: ['maps'] }],
}

describe('agents are recognised', () => {
  let app: TestApp
  let owner: TestOrganisation
  let key: AgentKey
  let agentId: string
  let trust: ReturnType<typeof agentTrustOf>
  let agents: ReturnType<typeof agentRoutesOf>
  beforeEach(async () => {
    app = await sharedApp()
    ;({ owner, trust, agents, key, agentId } = await newTrustedAgent(app))
  })
  const proof = (claims: object = {}, header: object = {}) => agentJws(key, app.url, claims, header)
  const reasonsOf = async (body: object) => {
    const answer = await trust.verify(body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    expect(answer.body.verified).to.equal(answer.body.reasons.length === 0)
    return answer.body.reasons
  }
  const refusalOf = async (body: object) => {
    const answer = await trust.verify(body)
    return `${answer.status} ${answer.body.error} ${answer.body.details?.[0]?.path ?? ''}`
  }

  it('by a JWS that their key signed, in a verdict that anybody can check', async () => {
    const { status, headers, body } = await trust.verify({ jws: proof() })
    expect([status, headers.get('x-feature-version')]).to.deep.equal([200, '1.2.0'])
    expect({ ...body, jws: '', created: '', expires: '' }).to.deep.equal({
      verified: true,
      agent_id: agentId,
      kid: key.kid,
      method: 'jws',
      tag: null,
      signature_agent: null,
      trust_level: 'key_verified',
      status: 'active',
      reasons: [],
      created: '',
      expires: '',
      nonce_fresh: true,
      jws: '',
    })
    expect(Date.parse(body.expires ?? '') - Date.parse(body.created ?? '')).to.equal(60_000)
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
    const { payload } = await jwtVerify(body.jws, keys, {
      issuer: app.url,
      typ: 'agent-verdict+jws',
      algorithms: ['EdDSA'],
    })
    const { jws: _, ...said } = body
    expect(payload).to.deep.include({ ...said, org: owner.organisationId, audience: app.url })
    const entry = await app.services.database
      .knex('ledger_entries')
      .where({ leaf_hash: Buffer.from(String(payload.leaf_hash), 'hex') })
      .first()
    expect(entry).to.include({ type: 'attest', organisation: owner.organisationId, digest: payload.evidence })
    expect(JSON.parse(entry.entry).data).to.deep.equal({
      event: 'agent.verified',
      method: 'jws',
      outcome: 'verified',
      reasons: [],
    })
  })

  it('by requests that http-message-signatures signed, with and without a body', async () => {
    const url = `${app.url}/orders?page=1`
    expect(await reasonsOf({ http: await signedHttp(key, { url }) })).to.deep.equal([])
    const withBody = await signedHttp(key, { url, body: 'größer' })
    expect(await reasonsOf({ http: withBody })).to.deep.equal([])
    const { body, ...rest } = await signedHttp(key, { url, body: 'größer' })
    const encoded = { ...rest, body_base64: Buffer.from(body ?? '').toString('base64') }
    const answer = await trust.verify({ http: encoded, agent_id: agentId, expected_tag: 'web-bot-auth' })
    expect(answer.body).to.deep.include({
      verified: true,
      method: 'http',
      tag: 'web-bot-auth',
      nonce_fresh: true,
    })
    const p256 = await newAgentKey('P-256')
    await agents.active(p256)
    expect(await reasonsOf({ http: await signedHttp(p256, { url }) })).to.deep.equal([])
  })

  it('by requests that web-bot-auth signed', async () => {
    const request = new Request('https://shop.example/path', {
      headers: { 'Signature-Agent': '"https://agent.example"' },
    })
    const signer = {
      alg: 'ed25519' as const,
      keyid: key.kid,
      sign: async (data: string) => new Uint8Array(Buffer.from(key.sign(data), 'base64url')),
    }
    const now = Date.now()
    const signed = await signatureHeaders(request, signer, {
      created: new Date(now),
      expires: new Date(now + 300_000),
    })
    const http = {
      method: 'GET',
      url: request.url,
      headers: { ...signed, 'Signature-Agent': '"https://agent.example"' },
    }
    expect(await reasonsOf({ http })).to.deep.equal(['AUDIENCE_MISMATCH'])
    expect(await reasonsOf({ http, expected_audience: 'shop.example' })).to.deep.equal([])
    expect(await reasonsOf({ http, expected_audience: 'shop.example' })).to.deep.equal(['NONCE_REPLAYED'])
  })

  it('by agent cards that the A2A kit signed, as long as nothing that says something is altered', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const signerKey = await agentKeyOf(privateKey)
    const { agent_id } = await agents.active(signerKey)
    const sign = async (kid: string, jku?: string) =>
      Card.toJSON(
        await generateAgentCardSignature(privateKey, { alg: 'ES256', kid, typ: 'JOSE', ...(jku && { jku }) })(
          Card.fromJSON(CARD),
        ),
      ) as Record<string, unknown>
    const card = await sign(signerKey.kid, 'http://169.254.169.254/jwks.json')
    const { body } = await trust.verify({ agent_card: card })
    expect(body).to.deep.include({
      verified: true,
      agent_id,
      kid: signerKey.kid,
      method: 'agent_card',
      nonce_fresh: null,
      created: null,
    })
    expect(await reasonsOf({ agent_card: { ...card, documentationUrl: '', extra: [] } })).to.deep.equal([])
    expect(await reasonsOf({ agent_card: { ...card, name: 'Other' } })).to.deep.equal(['SIGNATURE_INVALID'])
    expect(await reasonsOf({ agent_card: { ...card, extra: 'x' } })).to.deep.equal(['SIGNATURE_INVALID'])
    expect(await reasonsOf({ agent_card: CARD })).to.deep.equal(['CARD_UNSIGNED'])
    const named = await sign('key-1')
    expect(await reasonsOf({ agent_card: named })).to.deep.equal(['KEY_UNKNOWN'])
    expect(await reasonsOf({ agent_card: named, agent_id })).to.deep.equal([])
    expect(await reasonsOf({ agent_card: named, agent_id: agentId })).to.deep.equal(['ALG_MISMATCH'])
    expect(
      await reasonsOf({ agent_card: { ...card, signatures: [{ protected: 'x', signature: 'y' }] } }),
    ).to.deep.equal(['JWS_MALFORMED'])
    const second = { ...card, signatures: [{ protected: 1 }, ...(card.signatures as object[])] }
    expect(await reasonsOf({ agent_card: second })).to.deep.equal([])
  })

  it('by a nonce once, however many ask at the same time', async () => {
    const jws = proof()
    const answers = await Promise.all(Array.from({ length: 12 }, () => trust.verify({ jws })))
    const verified = answers.filter(({ body }) => body.verified)
    expect(verified).to.have.length(1)
    for (const { body } of answers.filter((answer) => !verified.includes(answer))) {
      expect(body).to.deep.include({ verified: false, reasons: ['NONCE_REPLAYED'], nonce_fresh: false })
      expect(body.agent_id).to.equal(agentId)
    }
    // Another key may use the same nonce.
    const other = await newAgentKey()
    await agents.active(other)
    const nonce = freshNonce()
    expect(await reasonsOf({ jws: proof({ nonce }) })).to.deep.equal([])
    expect(await reasonsOf({ jws: agentJws(other, app.url, { nonce }) })).to.deep.equal([])
    expect(await reasonsOf({ jws: proof({ nonce }) })).to.deep.equal(['NONCE_REPLAYED'])
  })

  it('once more under the same Idempotency-Key, with the first answer and its headers', async () => {
    const headers = { 'idempotency-key': freshNonce() }
    const body = { jws: proof() }
    const first = await trust.verify(body, headers)
    const again = await trust.verify(body, headers)
    expect(again.body).to.deep.equal(first.body)
    expect(again.body.verified).to.equal(true)
    expect(again.headers.get('x-feature-version')).to.equal('1.2.0')
  })

  it('no more once they are suspended or revoked, and by no key that was never enrolled', async () => {
    await agents.step(agentId, 'suspend')
    expect(await reasonsOf({ jws: proof() })).to.deep.equal(['KEY_UNKNOWN'])
    const { body } = await trust.verify({ jws: proof(), agent_id: agentId })
    expect(body).to.deep.include({ verified: false, reasons: ['AGENT_SUSPENDED'], status: 'suspended' })
    await agents.step(agentId, 'resume')
    expect(await reasonsOf({ jws: proof() })).to.deep.equal([])
    await agents.step(agentId, 'revoke')
    expect(await reasonsOf({ jws: proof(), agent_id: agentId })).to.deep.equal(['AGENT_REVOKED'])
    const stranger = agentJws(await newAgentKey(), app.url)
    expect(await reasonsOf({ jws: stranger })).to.deep.equal(['KEY_UNKNOWN'])
    // Texts that no database takes, in what nobody has read yet.
    for (const kid of ['\0', '\ud800'])
      expect(await reasonsOf({ jws: proof({}, { kid }) })).to.deep.equal(['KEY_UNKNOWN'])
    expect(await reasonsOf({ jws: stranger, agent_id: agentId })).to.deep.equal([
      'KEY_MISMATCH',
      'AGENT_REVOKED',
    ])
    const pendingKey = await newAgentKey()
    const pending = await agents.pending(pendingKey)
    const jws = agentJws(pendingKey, app.url)
    expect(await reasonsOf({ jws, agent_id: pending.agent_id })).to.deep.equal(['AGENT_PENDING'])
  })

  it('not by what was true a moment ago: who is suspended meanwhile is refused', async () => {
    const { services } = app
    const suspendedMeanwhile = {
      ...services.agents,
      async find(...asked: Parameters<typeof services.agents.find>) {
        const found = await services.agents.find(...asked)
        await agents.step(agentId, 'suspend')
        return found
      },
    }
    const deps = {
      ...services,
      agents: suspendedMeanwhile,
      clock: systemClock,
      baseUrl: app.url,
      toWireLimits,
    }
    const caller = systemCaller(owner.organisationId, 'test')
    const jws = proof()
    const seen = await createAgentVerification(deps).verify(caller, { jws })
    expect(seen).to.deep.include({ verified: false, reasons: ['AGENT_CHANGED'], nonce_fresh: null })
    await agents.step(agentId, 'resume')
    const asked = { agent_id: agentId, action: 'x', jws: agentRequestJws(key, app.url, { action: 'x' }) }
    const decided = await createAgentAuthorisations(deps).authorise(caller, asked)
    expect(decided).to.deep.include({ decision: 'DENY', reasons: ['AGENT_CHANGED'], token: null })
    await agents.step(agentId, 'resume')
    // What was refused for that has used up nothing.
    expect(await reasonsOf({ jws })).to.deep.equal([])
  })

  it('only by their own organisation', async () => {
    const other = agentTrustOf(app, (await app.organisation()).apiKey)
    const jws = proof()
    const { body } = await other.verify({ jws })
    expect(body).to.deep.include({ verified: false, agent_id: null, kid: null, reasons: ['KEY_UNKNOWN'] })
    const named = await other.verify({ jws, agent_id: agentId })
    expect([named.status, named.body.error]).to.deep.equal([404, 'not_found'])
    expect(named.headers.get('x-feature-version')).to.equal('1.2.0')
    expect((await trust.verify({})).headers.get('x-feature-version')).to.equal('1.2.0')
    expect((await agentTrustOf(app, 'zk_no_key').verify({})).headers.get('x-feature-version')).to.equal(
      '1.2.0',
    )
    // What was refused elsewhere has used up nothing here.
    expect(await reasonsOf({ jws })).to.deep.equal([])
  })

  it('by the second key of ML-DSA, in a JWS and in a request', async () => {
    const classical = await newAgentKey()
    const pq = await newMlDsaKey()
    const pending = await agents.pending(classical, { public_key_pq: pq.jwk })
    expect((await agents.answer(pending, classical, pq)).body.status).to.equal('active')
    expect(await reasonsOf({ jws: agentJws(pq, app.url) })).to.deep.equal([])
    const http = await signedHttp(pq, { url: app.url })
    expect(await reasonsOf({ http, agent_id: pending.agent_id })).to.deep.equal([])
  })

  it('with nothing told of a message that nobody known signed', async () => {
    const [head, body] = proof().split('.')
    const forged = `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`
    const answer = await trust.verify({ jws: forged })
    expect(answer.body).to.deep.include({
      verified: false,
      agent_id: null,
      kid: null,
      created: null,
      trust_level: null,
      reasons: ['SIGNATURE_INVALID'],
    })
    expect(await reasonsOf({ jws: 'no jws' })).to.deep.equal(['JWS_MALFORMED'])
    expect(await reasonsOf({ jws: proof({}, { typ: 'agent-request+jws' }) })).to.deep.equal([
      'HEADER_REFUSED',
    ])
    // Beyond what a date holds, and beyond what four digits of a year do.
    for (const iat of [9e15, 253_402_300_800]) {
      const absurd = await trust.verify({ jws: proof({ iat, exp: iat + 1 }) })
      expect(absurd.body).to.deep.include({ reasons: ['NOT_YET_VALID'], created: null, expires: null })
    }
  })

  it('unless the question itself is wrong, which is told with the field', async () => {
    const http = await signedHttp(key, { url: app.url })
    expect(await refusalOf({})).to.equal('422 validation_failed ')
    expect(await refusalOf({ http, jws: proof() })).to.equal('422 validation_failed ')
    expect(await refusalOf({ jws: proof(), expected_tag: 'web-bot-auth' })).to.equal(
      '422 validation_failed /expected_tag',
    )
    expect(await refusalOf({ agent_card: CARD, expected_audience: 'a' })).to.equal(
      '422 validation_failed /expected_audience',
    )
    const huge = { ...CARD, description: 'x'.repeat(64 * 1024) }
    expect(await refusalOf({ agent_card: huge })).to.equal('422 validation_failed /agent_card')
    const rounded = '{"agent_card": {"version": 1e400, "signatures": []}}'
    const inexact = await app.request<{ error: string }>('POST', '/ext/v1/agent-trust/verify', {
      key: owner.apiKey,
      body: rounded,
    })
    expect([inexact.status, inexact.body.error]).to.deep.equal([422, 'number_not_exact'])
    for (const url of ['/path', 'ftp://a.example/', 'https://u:p@a.example/', 'https://a.example/#x'])
      expect(await refusalOf({ http: { ...http, url } }), url).to.equal('422 validation_failed /http/url')
    expect(await refusalOf({ http: { ...http, body: 'a', body_base64: 'YQ==' } })).to.equal(
      '422 validation_failed /http/body_base64',
    )
    expect(await refusalOf({ http: { ...http, body_base64: 'YQ' } })).to.equal(
      '422 validation_failed /http/body_base64',
    )
    const big = 'x'.repeat(64 * 1024)
    const sized = { ...http, headers: { 'content-digest': contentDigest(big) }, body: big }
    expect(await reasonsOf({ http: sized })).to.deep.equal(['SIGNATURE_MISSING'])
    expect(await refusalOf({ http: { ...sized, body: `${big}x` } })).to.equal(
      '422 validation_failed /http/body',
    )
    const headers = { a: 'x'.repeat(16 * 1024 - 1) }
    expect(await reasonsOf({ http: { ...http, headers } })).to.deep.equal(['SIGNATURE_MISSING'])
    expect(await refusalOf({ http: { ...http, headers: { ...headers, b: '' } } })).to.equal(
      '422 validation_failed /http/headers',
    )
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`x-${index}`, '']))
    expect(await refusalOf({ http: { ...http, headers: many } })).to.equal(
      '422 validation_failed /http/headers',
    )
  })
})
