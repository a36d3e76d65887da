/** Proofs that come in envelopes: made for this envelope and no other, and judged as everybody's proofs are. */
import { expect } from 'chai'
import { createEnvelopeReader } from '../../src/domain/chat/envelope.ts'
import { AppError } from '../../src/errors.ts'
import { type EnvelopeProof, proofNonce } from '../../src/protocol/envelope.ts'
import { encodeValue, h248 } from '../../src/rules/encode.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { movedClock } from '../support/circuit-questions.ts'
import { type Agent, audienceOf, createAgent, postPlain, sendEnvelope } from '../support/envelopes.ts'
import { ADULT_INPUTS, postGenerate } from '../support/proof-api.ts'
import { foreignIssuer, kycSignals, tokenSignals } from '../support/signed-signals.ts'

describe('proofs in chat envelopes', function () {
  this.timeout(120_000)
  const clock = movedClock()
  let app: TestApp
  let owner: TestOrganisation
  let agent: Agent
  before(async () => {
    app = await startTestApp({ clock })
    owner = await app.organisation()
    agent = createAgent(app)
    await agent.posted()
  })
  after(() => app.close())
  afterEach(() => {
    clock.offsetMs = 0
  })

  let count = 0
  const newId = (): string => `with-proof-${++count}`

  /** As an agent gets it: from the proof API, with a nonce that names its key and the envelope to come. */
  const proofFor = async (
    id: string,
    {
      circuit = 'kyc',
      inputs,
      by = agent,
      ttl,
    }: { circuit?: string; inputs?: unknown; by?: Agent; ttl?: number } = {},
  ): Promise<EnvelopeProof> => {
    const body = {
      circuit_id: circuit,
      inputs: inputs ?? (await kycSignals(app)),
      context: { nonce: proofNonce(by.fingerprint, id), ...(ttl !== undefined && { ttl }) },
    }
    const { status, body: made } = await postGenerate(app, owner.apiKey, body)
    if (status !== 200) throw new Error(`no proof: ${status} ${JSON.stringify(made)}`)
    const { circuit_id, proof, public_signals, context } = made
    return { circuit_id, proof, public_signals, context }
  }
  const refusal = async (id: string, proof: unknown, by = agent): Promise<string> => {
    const { status, body } = await by.post({ id, proof: proof as EnvelopeProof })
    expect(status, JSON.stringify(body)).to.equal(400)
    expect(body.error).to.equal('envelope_proof_invalid')
    return body.reason ?? body.message
  }

  it('are checked, and told beside the message', async () => {
    const id = newId()
    const { status, body } = await agent.post({ id, proof: await proofFor(id) })
    expect(status, JSON.stringify(body)).to.equal(201)
    expect(body.message.relay).to.include({ proof_checked: true, key_fingerprint: agent.fingerprint })
  })

  it('count for one envelope of one key: nobody else can use what was seen', async () => {
    const id = newId()
    const proof = await proofFor(id)
    expect(await refusal(newId(), proof)).to.match(/context\.nonce must be/)
    const thief = createAgent(app)
    expect(await refusal(id, proof, thief)).to.match(/context\.nonce must be/)
    const relabelled = {
      ...proof,
      context: { ...(proof.context as object), nonce: proofNonce(thief.fingerprint, id) },
    }
    expect(await refusal(id, relabelled, thief)).to.equal('CONTEXT_MISMATCH')
  })

  it('are refused when anything in them is not what was proved', async () => {
    const id = newId()
    const proof = await proofFor(id)
    const context = proof.context as Record<string, unknown>
    const statement = context.statement as Record<string, unknown>
    const signals = [...proof.public_signals]
    const cases: readonly (readonly [unknown, string | RegExp])[] = [
      [{ ...proof, proof: {} }, 'PROOF_MALFORMED'],
      [{ ...proof, public_signals: [] }, 'SIGNAL_COUNT'],
      [{ ...proof, public_signals: ['0', ...signals.slice(1)] }, 'PROOF_INVALID'],
      [{ ...proof, public_signals: ['01', ...signals.slice(1)] }, 'SIGNAL_NOT_CANONICAL'],
      [{ ...proof, circuit_id: 'audit_proof' }, /circuit_id must be one of/],
      [{ ...proof, circuit_id: 'token_validation' }, /context\.circuit must be "token_validation"/],
      [{ ...proof, context: { ...context, aud: 'https://other.example' } }, /context\.aud must be/],
      [{ ...proof, context: { ...context, org: 'org_other' } }, 'CONTEXT_MISMATCH'],
      [{ ...proof, context: { ...context, org: 'a\u0001b' } }, /context\.org must be/],
      [{ ...proof, context: { ...context, exp: 4_000_000_000 } }, 'CONTEXT_MISMATCH'],
      [{ ...proof, context: { ...context, exp: 'soon' } }, /context\.exp must be/],
      [{ ...proof, context: { ...context, statement: { ...statement, minLevel: '9' } } }, 'CONTEXT_MISMATCH'],
      [{ ...proof, context: { ...context, statement: { deep: { er: 1 } } } }, /statement must be an object/],
    ]
    for (const [wrong, reason] of cases) {
      const told = await refusal(id, wrong)
      if (typeof reason === 'string') expect(told).to.equal(reason)
      else expect(told).to.match(reason)
    }
    // Nothing of all that used the envelope up.
    expect((await agent.post({ id, proof })).status).to.equal(201)
  })

  it('are refused when they show a NO, are too old, or have expired', async () => {
    const id = newId()
    const inputs = { ...(await kycSignals(app)), countries: [String(encodeValue('NZ'))] }
    expect(await refusal(id, await proofFor(id, { inputs }))).to.equal('DECISION_NO')
    const proof = await proofFor(id, { ttl: 60 })
    clock.offsetMs = 61_000
    expect(await refusal(id, proof)).to.equal('EXPIRED')
    const lasting = await proofFor(newId())
    clock.offsetMs = 61_000 + 121_000
    const old = String((lasting.context as { nonce: string }).nonce.split(':').at(-1))
    expect(await refusal(old, lasting)).to.equal('NOW_OUT_OF_RANGE')
  })

  it("cannot be had under another issuer's key", async () => {
    const inputs = await kycSignals(app, {}, foreignIssuer())
    const nonce = proofNonce(agent.fingerprint, newId())
    const { status, body } = await postGenerate(app, owner.apiKey, {
      circuit_id: 'kyc',
      inputs,
      context: { nonce },
    })
    expect([status, body.reason]).to.deep.equal([422, 'STATEMENT_FALSE'])
  })

  it('of a token count when the token is for this chat or for anybody', async () => {
    const forUs = h248(audienceOf(app))
    const asked = async (audience: bigint) => ({
      ...(await tokenSignals(app, { audience })),
      audience: String(audience),
    })
    for (const audience of [0n, forUs]) {
      const id = newId()
      const inputs = await asked(audience)
      const proof = await proofFor(id, { circuit: 'token_validation', inputs })
      expect((await agent.post({ id, proof })).body.message?.relay?.proof_checked).to.equal(true)
    }
    const id = newId()
    const elsewhere = await proofFor(id, {
      circuit: 'token_validation',
      inputs: await asked(h248('https://gate.example')),
    })
    expect(await refusal(id, elsewhere)).to.equal('AUDIENCE_MISMATCH')
  })

  it('let their agents post while only verified ones may, if they are about a person', async () => {
    const mode = (posting: string) =>
      app.request('PUT', '/console/api/posting', { key: app.adminKey, body: { mode: posting } })
    expect((await mode('verified_only')).status).to.equal(200)
    try {
      const fresh = createAgent(app)
      const id = newId()
      expect((await fresh.post({ id })).body.error).to.equal('verified_only')
      const selfMade = await proofFor(id, { circuit: 'yesno', inputs: ADULT_INPUTS, by: fresh })
      expect((await fresh.post({ id, proof: selfMade })).body.error).to.equal('verified_only')
      const person = await fresh.post({ id, proof: await proofFor(id, { by: fresh }) })
      expect(person.status, JSON.stringify(person.body)).to.equal(201)
      expect((await postPlain(app)).body.error).to.equal('verified_only')
    } finally {
      await mode('open')
    }
  })

  it('are 503 when too many wait, and none of those that wait is lost', async () => {
    const id = newId()
    const proof = await proofFor(id)
    const envelope = agent.sign({ id, proof })
    const reader = createEnvelopeReader({ clock, baseUrl: app.url, proofs: app.services.proofs })
    const opened = reader.open(envelope, 'chat.post')
    const answers = await Promise.allSettled(Array.from({ length: 12 }, () => reader.checkProof(opened)))
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    expect(refused).to.have.length(4)
    for (const error of refused)
      expect(error)
        .to.be.instanceOf(AppError)
        .and.include({ code: 'proof_service_unavailable', status: 503, retryAfter: 1 })
    expect(await reader.checkProof(opened)).to.deep.equal({ proofChecked: true, provesPerson: true })
    expect((await sendEnvelope(app, envelope)).status).to.equal(201)
  })

  it('are 503, not refused, when it cannot be told whether they hold', async () => {
    const id = newId()
    const failing = { checkForeign: () => Promise.reject(new Error('the database is away')) }
    const reader = createEnvelopeReader({ clock, baseUrl: app.url, proofs: failing })
    const opened = reader.open(agent.sign({ id, proof: await proofFor(id) }), 'chat.post')
    const error = await reader.checkProof(opened).catch((caught: unknown) => caught)
    expect(error).to.be.instanceOf(AppError).and.include({ code: 'proof_service_unavailable', status: 503 })
  })
})
