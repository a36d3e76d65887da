/** What agents may do and spend, through the real app: decided, signed, counted, and on record. */
import { expect } from 'chai'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { Clock } from '../../../src/clock.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  agentJws,
  agentRequestJws,
  agentTrustOf,
  freshNonce,
  newTrustedAgent,
  signedHttp,
} from '../../support/domain/agent-trust.ts'
import { type AgentKey, agentRoutesOf, newAgentKey } from '../../support/domain/agents.ts'

const LIMITS = {
  currency: 'GBP',
  per_transaction: 20,
  per_day: 50,
  allowed_payees: ['shop.example', 'cinema.example'],
  allowed_actions: ['order.pay', 'order.cancel'],
}
const PAYMENT = { action: 'order.pay', amount: 12.5, currency: 'GBP', payee: 'shop.example' }
const DAY_MS = 24 * 3600 * 1000

describe('agents are authorised', () => {
  let app: TestApp
  let owner: TestOrganisation
  let key: AgentKey
  let agentId: string
  let trust: ReturnType<typeof agentTrustOf>
  let agents: ReturnType<typeof agentRoutesOf>
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    ;({ owner, trust, agents, key, agentId } = await newTrustedAgent(app, { limits: LIMITS }))
  })
  const signed = (wanted: object) => ({
    agent_id: agentId,
    ...wanted,
    jws: agentRequestJws(key, app.url, wanted),
  })
  /** Decision and reasons. */
  const decided = async (body: object) => {
    const answer = await trust.authorise(body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return [answer.body.decision, ...answer.body.reasons]
  }
  const refusalOf = async (body: object) => {
    const answer = await trust.authorise(body)
    return `${answer.status} ${answer.body.error} ${answer.body.details?.[0]?.path ?? ''}`
  }

  it('for what they signed within their limits, with a token and a receipt that anybody can check', async () => {
    const wanted = { ...PAYMENT, resource: 'order A-1007' }
    const mandate = { type: 'intent', id: 'm-1' }
    const { status, headers, body } = await trust.authorise({
      ...signed(wanted),
      mandate,
      context: { basket: 3 },
    })
    expect([status, headers.get('x-feature-version')]).to.deep.equal([200, '1.2.0'])
    expect({ ...body, authorisation_id: '', token: '', receipt: '', expires_at: '' }).to.deep.equal({
      decision: 'ALLOW',
      authorisation_id: '',
      reasons: [],
      constraints: LIMITS,
      remaining: { per_day: 37.5 },
      expires_at: '',
      token: '',
      receipt: '',
    })
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
    const read = (jws: string | null, typ: string) =>
      jwtVerify(jws ?? '', keys, { issuer: app.url, subject: agentId, typ, algorithms: ['EdDSA'] })
    const { payload: token } = await read(body.token, 'agent-authorisation+jwt')
    const terms = { ...wanted, jti: body.authorisation_id, org: owner.organisationId }
    expect(token).to.deep.include({ ...terms, aud: 'shop.example', cnf: { jkt: key.kid } })
    expect(token.exp).to.equal(Date.parse(body.expires_at ?? '') / 1000)
    expect(Number(token.exp) - Number(token.iat)).to.equal(300)
    const { payload: receipt } = await read(body.receipt, 'agent-receipt+jws')
    expect(receipt).to.deep.include({ ...terms, decision: 'ALLOW', reasons: [] })
    expect([token.mandate_digest, token.context_digest]).to.deep.equal([
      receipt.mandate_digest,
      receipt.context_digest,
    ])
    const entry = await app.services.database
      .knex('ledger_entries')
      .where({ leaf_hash: Buffer.from(String(receipt.leaf_hash), 'hex') })
      .first()
    expect(entry).to.include({ type: 'gate', digest: receipt.evidence })
    expect(JSON.parse(entry.entry).data).to.deep.equal({
      event: 'agent.authorised',
      agentId,
      authorisationId: body.authorisation_id,
      decision: 'ALLOW',
      reasons: [],
    })
  })

  it('by the body of a request that they signed, paying only under the tag for paying', async () => {
    const url = 'https://shop.example/checkout'
    const body = JSON.stringify({ ...PAYMENT, note: 'more than is asked' })
    const ask = { agent_id: agentId, ...PAYMENT, expected_audience: 'shop.example' }
    const paying = await signedHttp(key, { url, body, params: { tag: 'agent-payer-auth' } })
    expect(await decided({ ...ask, http: paying })).to.deep.equal(['ALLOW'])
    expect(await decided({ ...ask, http: paying })).to.deep.equal(['DENY', 'NONCE_REPLAYED'])
    const crawling = await signedHttp(key, { url, body })
    expect(await decided({ ...ask, http: crawling })).to.deep.equal(['DENY', 'TAG_MISMATCH'])
    const bare = await signedHttp(key, { url, params: { tag: 'agent-payer-auth' } })
    expect(await decided({ ...ask, http: bare })).to.deep.equal(['DENY', 'REQUEST_NOT_SIGNED'])
    const cancel = await signedHttp(key, { url, body: '{"action":"order.cancel"}' })
    const cancelling = { agent_id: agentId, action: 'order.cancel', expected_audience: 'shop.example' }
    expect(await decided({ ...cancelling, http: cancel })).to.deep.equal(['ALLOW'])
  })

  it('only with their own signature, else somebody else has to agree', async () => {
    const { body } = await trust.authorise({ agent_id: agentId, ...PAYMENT })
    expect(body).to.deep.include({
      decision: 'STEP_UP',
      reasons: ['SIGNATURE_REQUIRED'],
      token: null,
      expires_at: null,
      remaining: { per_day: 50 },
    })
    expect(body.receipt).to.match(/^ey/)
    // What is forbidden anyway needs nobody's consent.
    expect(await decided({ agent_id: agentId, ...PAYMENT, amount: 20.01 })).to.deep.equal([
      'DENY',
      'PER_TRANSACTION_EXCEEDED',
    ])
    for (let paid = 0; paid < 3; paid++) expect(await decided(signed(PAYMENT))).to.deep.equal(['ALLOW'])
    expect(await decided({ agent_id: agentId, ...PAYMENT })).to.deep.equal(['STEP_UP', 'SIGNATURE_REQUIRED'])
    expect(await decided({ agent_id: agentId, ...PAYMENT, amount: 12.51 })).to.deep.equal([
      'DENY',
      'PER_DAY_EXCEEDED',
    ])
  })

  it('for exactly what they signed', async () => {
    const jws = () => agentRequestJws(key, app.url, PAYMENT)
    const asked = (more: object) => decided({ agent_id: agentId, ...PAYMENT, ...more, jws: jws() })
    expect(await asked({})).to.deep.equal(['ALLOW'])
    expect(await asked({ amount: 12.51 })).to.deep.equal(['DENY', 'REQUEST_NOT_SIGNED'])
    expect(await asked({ payee: 'cinema.example' })).to.deep.equal(['DENY', 'REQUEST_NOT_SIGNED'])
    expect(await asked({ action: 'order.cancel' })).to.deep.equal(['DENY', 'REQUEST_NOT_SIGNED'])
    expect(await asked({ resource: 'order 2' })).to.deep.equal(['DENY', 'REQUEST_NOT_SIGNED'])
    const { amount: _, currency: __, ...free } = PAYMENT
    expect(await decided({ agent_id: agentId, ...free, jws: jws() })).to.deep.equal([
      'DENY',
      'REQUEST_NOT_SIGNED',
    ])
    const usd = { ...PAYMENT, currency: 'USD' }
    expect(await asked({ currency: 'USD' })).to.deep.equal([
      'DENY',
      'REQUEST_NOT_SIGNED',
      'CURRENCY_MISMATCH',
    ])
    expect(await decided(signed(usd))).to.deep.equal(['DENY', 'CURRENCY_MISMATCH'])
    // Of yen no limit in pounds says anything, unsigned neither.
    const yen = { agent_id: agentId, ...PAYMENT, amount: 9000, currency: 'JPY' }
    expect(await decided(yen)).to.deep.equal(['DENY', 'CURRENCY_MISMATCH'])
    const text = { ...PAYMENT, jws: agentRequestJws(key, app.url, { ...PAYMENT, amount: '12.5' }) }
    expect(await decided({ agent_id: agentId, ...text })).to.deep.equal(['DENY', 'REQUEST_NOT_SIGNED'])
    const proof = agentJws(key, app.url, PAYMENT)
    expect(await decided({ agent_id: agentId, ...PAYMENT, jws: proof })).to.deep.equal([
      'DENY',
      'HEADER_REFUSED',
    ])
    const stranger = agentRequestJws(await newAgentKey(), app.url, PAYMENT)
    expect(await decided({ agent_id: agentId, ...PAYMENT, jws: stranger })).to.deep.equal([
      'DENY',
      'KEY_MISMATCH',
    ])
    const elsewhere = agentRequestJws(key, 'https://elsewhere.example', PAYMENT)
    expect(await decided({ agent_id: agentId, ...PAYMENT, jws: elsewhere })).to.deep.equal([
      'DENY',
      'AUDIENCE_MISMATCH',
    ])
  })

  it('within the lists of their limits', async () => {
    expect(await decided(signed({ ...PAYMENT, payee: 'casino.example' }))).to.deep.equal([
      'DENY',
      'PAYEE_NOT_ALLOWED',
    ])
    expect(await decided(signed({ ...PAYMENT, action: 'refund' }))).to.deep.equal([
      'DENY',
      'ACTION_NOT_ALLOWED',
    ])
    const { payee: _, ...nobody } = PAYMENT
    expect(await decided(signed(nobody))).to.deep.equal(['DENY', 'PAYEE_REQUIRED'])
    expect(await decided(signed({ action: 'order.cancel' }))).to.deep.equal(['ALLOW'])
    const free = await newAgentKey()
    const unlimited = await agents.active(free)
    const asking = { agent_id: unlimited.agent_id, ...PAYMENT, jws: agentRequestJws(free, app.url, PAYMENT) }
    expect(await decided(asking)).to.deep.equal(['DENY', 'LIMITS_MISSING'])
    const acting = {
      agent_id: unlimited.agent_id,
      action: 'x',
      jws: agentRequestJws(free, app.url, { action: 'x' }),
    }
    expect(await decided(acting)).to.deep.equal(['ALLOW'])
  })

  it('up to the limit of a day and not a penny more, however many ask at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => trust.authorise(signed({ ...PAYMENT, amount: 7 }))),
    )
    const allowed = answers.filter(({ body }) => body.decision === 'ALLOW').map(({ body }) => body)
    expect(
      allowed.map(({ remaining }) => remaining.per_day).sort((a, b) => Number(b) - Number(a)),
    ).to.deep.equal([43, 36, 29, 22, 15, 8, 1])
    for (const { body } of answers.filter(({ body: { decision } }) => decision !== 'ALLOW')) {
      expect(body).to.deep.include({ decision: 'DENY', reasons: ['PER_DAY_EXCEEDED'], token: null })
      expect(body.remaining).to.deep.equal({ per_day: 1 })
    }
    expect(await decided(signed({ ...PAYMENT, amount: 1.01 }))).to.deep.equal(['DENY', 'PER_DAY_EXCEEDED'])
    expect(await decided(signed({ ...PAYMENT, amount: 1 }))).to.deep.equal(['ALLOW'])
    expect(await decided(signed({ ...PAYMENT, amount: 0.01 }))).to.deep.equal(['DENY', 'PER_DAY_EXCEEDED'])
    // What was denied did not use up its nonce, and what costs nothing is still allowed.
    expect(await decided(signed({ action: 'order.cancel' }))).to.deep.equal(['ALLOW'])
  })

  it('up to the greatest limit of a day, and not beyond what numbers hold exactly', async () => {
    const rich = await newAgentKey()
    const greatest = Number.MAX_SAFE_INTEGER
    const limits = { currency: 'JPY', per_day: greatest }
    const { agent_id } = await agents.active(rich, { limits })
    const spend = async (amount: number) => {
      const wanted = { ...PAYMENT, amount, currency: 'JPY' }
      return decided({ agent_id, ...wanted, jws: agentRequestJws(rich, app.url, wanted) })
    }
    expect(await spend(1)).to.deep.equal(['ALLOW'])
    expect(await spend(greatest)).to.deep.equal(['DENY', 'PER_DAY_EXCEEDED'])
    expect(await spend(greatest - 1)).to.deep.equal(['ALLOW'])
    expect(await spend(1)).to.deep.equal(['DENY', 'PER_DAY_EXCEEDED'])
  })

  it('once for each signature, and again under the same Idempotency-Key with the same answer', async () => {
    const body = signed(PAYMENT)
    const answers = await Promise.all(Array.from({ length: 8 }, () => decided(body)))
    expect(answers.filter(([decision]) => decision === 'ALLOW')).to.have.length(1)
    expect(answers.filter(([, reason]) => reason === 'NONCE_REPLAYED')).to.have.length(7)
    const headers = { 'idempotency-key': freshNonce() }
    const fresh = signed(PAYMENT)
    const first = await trust.authorise(fresh, headers)
    const again = await trust.authorise(fresh, headers)
    expect(first.body.decision).to.equal('ALLOW')
    expect(again.body).to.deep.equal(first.body)
    expect(first.body.remaining).to.deep.equal({ per_day: 25 })
    // To be recognised is another use of the same signature than to be authorised.
    const shown = agentJws(key, app.url)
    expect((await trust.verify({ jws: shown })).body.verified).to.equal(true)
  })

  it('no more once they are suspended, revoked, or their time is over', async () => {
    await agents.step(agentId, 'suspend')
    expect(await decided(signed(PAYMENT))).to.deep.equal(['DENY', 'AGENT_SUSPENDED'])
    expect(await decided({ agent_id: agentId, ...PAYMENT })).to.deep.equal(['DENY', 'AGENT_SUSPENDED'])
    await agents.step(agentId, 'resume')
    expect(await decided(signed(PAYMENT))).to.deep.equal(['ALLOW'])
    await agents.step(agentId, 'revoke')
    expect(await decided(signed(PAYMENT))).to.deep.equal(['DENY', 'AGENT_REVOKED'])
    const pending = await agents.pending(await newAgentKey())
    expect(await decided({ agent_id: pending.agent_id, action: 'x' })).to.deep.equal([
      'DENY',
      'AGENT_PENDING',
    ])
  })

  it('by their own organisation only, and with a question that makes sense', async () => {
    const other = agentTrustOf(app, (await app.organisation()).apiKey)
    const foreign = await other.authorise(signed(PAYMENT))
    expect([foreign.status, foreign.body.error]).to.deep.equal([404, 'not_found'])
    expect((await other.audit({ agent_id: agentId })).status).to.equal(404)
    const unknown = { ...signed(PAYMENT), agent_id: 'agt_01kahnq7x8e4w3v5f6t2s9r0pm' }
    expect(await refusalOf(unknown)).to.equal('404 not_found ')
    const ask = { agent_id: agentId, ...PAYMENT }
    expect(await refusalOf({ ...ask, currency: null })).to.equal('422 validation_failed /currency')
    expect(await refusalOf({ ...ask, amount: null })).to.equal('422 validation_failed /amount')
    expect(await refusalOf({ ...ask, currency: 'gbp' })).to.equal('422 validation_failed /currency')
    expect(await refusalOf({ ...ask, amount: 1.001 })).to.equal('422 validation_failed /amount')
    expect(await refusalOf({ ...ask, amount: 0 })).to.equal('422 validation_failed /amount')
    expect(await refusalOf({ ...ask, amount: 1, currency: 'JPY', jws: 'x' })).to.equal('200 undefined ')
    expect(await refusalOf({ ...ask, jws: 'x', http: null })).to.equal('422 validation_failed /http')
    expect(await refusalOf({ ...ask, amount: 1.5, currency: 'JPY' })).to.equal(
      '422 validation_failed /amount',
    )
    expect(await refusalOf({ ...ask, context: { a: 'x'.repeat(4096) } })).to.equal(
      '422 validation_failed /context',
    )
    expect(await refusalOf({ ...ask, mandate: { a: 'x'.repeat(16_384) } })).to.equal(
      '422 validation_failed /mandate',
    )
    const http = await signedHttp(key, { url: app.url })
    expect(await refusalOf({ ...signed(PAYMENT), http })).to.equal('422 validation_failed /jws')
  })

  it('with everything on record, page by page, as the log has it', async () => {
    await trust.verify({ jws: agentJws(key, app.url) })
    await trust.verify({ jws: 'nonsense', agent_id: agentId })
    await trust.authorise(signed(PAYMENT))
    await trust.authorise({ agent_id: agentId, ...PAYMENT })
    const { status, headers, body } = await trust.audit({ agent_id: agentId })
    expect([status, headers.get('x-feature-version')]).to.deep.equal([200, '1.2.0'])
    const brief = body.entries.map(({ kind, outcome, reasons, amount, currency, action }) => ({
      kind,
      outcome,
      reasons,
      ...(amount !== null && { amount, currency, action }),
    }))
    const money = { amount: 12.5, currency: 'GBP', action: 'order.pay' }
    expect(brief).to.deep.equal([
      { kind: 'authorise', outcome: 'STEP_UP', reasons: ['SIGNATURE_REQUIRED'], ...money },
      { kind: 'authorise', outcome: 'ALLOW', reasons: [], ...money },
      { kind: 'verify', outcome: 'refused', reasons: ['JWS_MALFORMED'] },
      { kind: 'verify', outcome: 'verified', reasons: [] },
      { kind: 'activate', outcome: 'active', reasons: [] },
      { kind: 'enrol', outcome: 'pending', reasons: [] },
    ])
    for (const { index, leaf_hash } of body.entries) {
      const path = `/api/audit/inclusion?index=${index}`
      const proof = await app.request<{ leafHash: string }>('GET', path, { key: owner.apiKey })
      expect(proof.body.leafHash).to.equal(leaf_hash)
    }
    const first = await trust.audit({ agent_id: agentId, limit: 3 })
    const second = await trust.audit({ agent_id: agentId, limit: 3, cursor: first.body.next_cursor })
    expect([...first.body.entries, ...second.body.entries]).to.deep.equal(body.entries)
    expect(second.body.next_cursor).to.equal(null)
    const only = await trust.audit({ agent_id: agentId, actions: ['verify'] })
    expect(only.body.entries.map(({ kind }) => kind)).to.deep.equal(['verify', 'verify'])
    const [{ at = '' } = {}] = body.entries
    const later = new Date(Date.parse(at) + 1).toISOString()
    expect((await trust.audit({ agent_id: agentId, since: later })).body.entries).to.deep.equal([])
    expect((await trust.audit({ agent_id: agentId, until: later })).body.entries).to.deep.equal(body.entries)
    expect((await trust.audit({ agent_id: agentId, limit: 501 })).status).to.equal(422)
    for (const since of ['yesterday', '2026-12-31T23:59:60Z', '2026-02-30T00:00:00Z'])
      expect((await trust.audit({ agent_id: agentId, since })).status, since).to.equal(422)
  })

  it('with every step of their lives on record, from enrolment to revocation, each once', async () => {
    for (const step of [
      'suspend',
      'suspend',
      'resume',
      'check-domain',
      'revoke',
      'revoke',
      'resume',
    ] as const)
      await agents.step(agentId, step)
    const recorded = async (agent_id: string, more: object = {}) => {
      const { body } = await trust.audit({ agent_id, ...more })
      for (const { index, leaf_hash, at } of body.entries) {
        const path = `/api/audit/inclusion?index=${index}`
        const proof = await app.request<{ leafHash: string }>('GET', path, { key: owner.apiKey })
        expect(proof.body.leafHash).to.equal(leaf_hash)
        const row = await app.services.database.knex('ledger_entries').where({ idx: index }).first()
        expect([row.organisation, JSON.parse(row.entry).data.agentId]).to.deep.equal([
          owner.organisationId,
          agent_id,
        ])
        expect(Date.parse(at)).to.equal(row.at)
      }
      return body.entries.map(({ kind, outcome }) => `${kind} ${outcome}`).reverse()
    }
    expect(await recorded(agentId)).to.deep.equal([
      'enrol pending',
      'activate active',
      'suspend suspended',
      'resume active',
      'check_domain key_verified',
      'revoke revoked',
    ])
    const narrowed = await recorded(agentId, { actions: ['revoke', 'enrol'] })
    expect(narrowed).to.deep.equal(['enrol pending', 'revoke revoked'])
    const made = await agents.create<{ agent_id: string }>({ name: 'Made here' })
    expect(await recorded(made.body.agent_id)).to.deep.equal(['enrol active'])
  })

  it('anew each UTC day, and until their own end', async () => {
    let now = Date.UTC(2026, 10, 21, 23, 59, 0)
    const clock: Clock = { now: () => now }
    const moved = await startTestApp({ clock })
    try {
      const { apiKey } = await moved.organisation()
      const trusted = agentTrustOf(moved, apiKey)
      const mover = await newAgentKey()
      const limits = { ...LIMITS, expires_at: new Date(now + DAY_MS).toISOString() }
      const { agent_id } = await agentRoutesOf(moved, apiKey).active(mover, { limits })
      const spend = async () => {
        const iat = Math.floor(now / 1000)
        const wanted = { ...PAYMENT, amount: 20 }
        const jws = agentRequestJws(mover, moved.url, { ...wanted, iat, exp: iat + 60 })
        return (await trusted.authorise({ agent_id, ...wanted, jws })).body
      }
      expect((await spend()).decision).to.equal('ALLOW')
      expect((await spend()).decision).to.equal('ALLOW')
      expect((await spend()).reasons).to.deep.equal(['PER_DAY_EXCEEDED'])
      now += 60_000
      expect((await spend()).remaining).to.deep.equal({ per_day: 30 })
      now += DAY_MS - 70_000
      // Ten seconds before the agent expires, and its authorisation with it.
      const last = await spend()
      expect([last.decision, last.expires_at]).to.deep.equal(['ALLOW', limits.expires_at])
      now += 10_000
      expect((await spend()).reasons).to.deep.equal(['AGENT_EXPIRED'])
    } finally {
      await moved.close()
    }
  })
})
