/** Proofs that come in envelopes: made for this envelope and no other, and judged as everybody's proofs are. */
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import { DEFAULT_ORGANISATION } from '../../../src/domain/accounts/defaults.ts'
import { createEnvelopeReader } from '../../../src/domain/chat/envelopes/envelope.ts'
import { AppError } from '../../../src/errors.ts'
import { type EnvelopeProof, proofNonce } from '../../../src/protocol/envelope.ts'
import { encodeValue, h248, type ProofContext } from '../../../src/rules/encode.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { callTool, textOf } from '../../support/chat/mcp.ts'
import { movedClock } from '../../support/circuits/circuit-questions.ts'
import {
  bearerFrom,
  foreignIssuer,
  kycSignals,
  loggedConsentSignals,
  tokenSignals,
} from '../../support/circuits/signed-signals.ts'
import { consentRoutesOf } from '../../support/domain/consents.ts'
import {
  type Agent,
  audienceOf,
  createAgent,
  postPlain,
  sendEnvelope,
} from '../../support/domain/envelopes.ts'
import { hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'
import { proveKyc } from '../../support/domain/presentations.ts'
import { ADULT_INPUTS, postGenerate, postVerifyProof } from '../../support/domain/proof-api.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'

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

  const readerDeps = () => ({
    clock,
    baseUrl: app.url,
    trustedIssuers: new Set<string>(),
    nameIssuer: (id: string) => id,
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
      purpose = 'chat',
      key = owner.apiKey,
    }: {
      circuit?: string
      inputs?: unknown
      by?: Agent
      ttl?: number
      purpose?: string | undefined
      key?: string
    } = {},
  ): Promise<EnvelopeProof> => {
    const body = {
      circuit_id: circuit,
      inputs: inputs ?? (await kycSignals(app, owner.organisationId)),
      context: {
        nonce: proofNonce(by.fingerprint, id),
        ...(ttl !== undefined && { ttl }),
        ...(purpose !== '' && { purpose }),
      },
    }
    const { status, body: made } = await postGenerate(app, key, body)
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

  /** What a message shows of its proof. @throws Error unless it is accepted */
  const shown = async (by: Agent, id: string, proof: EnvelopeProof) => {
    const { status, body } = await by.post({ id, proof, about: 'The mayor of Paris, as anybody can check.' })
    if (status !== 201) throw new Error(`not posted: ${status} ${JSON.stringify(body)}`)
    return { message: body.message, proof: body.message.relay?.proof }
  }

  it('are shown beside the message by circuit, issuer, time and a sentence of the service, never by words of the sender', async () => {
    const id = newId()
    const inputs = { ...(await kycSignals(app, owner.organisationId)), minLevel: '2' }
    const { message, proof } = await shown(agent, id, await proofFor(id, { inputs }))
    const { checked_at, ...rest } = proof ?? { checked_at: '' }
    expect(rest).to.deep.equal({
      circuit_id: 'kyc',
      statement:
        'Holds a credential of somebody who was checked at level standard or above, was born on 2007-12-31 or earlier and has the country FR or GB.',
      issuer: owner.organisationId,
    })
    expect(Math.abs(Date.parse(checked_at) - clock.now())).to.be.below(60_000)
    expect(message.relay).to.include({ proof_checked: true, key_fingerprint: agent.fingerprint })
    const { body } = await app.request<{ message: unknown }>('GET', `/api/messages/${message.id}`)
    expect(body.message).to.deep.equal(message)
    const told = textOf(await callTool(app, 'get_thread', { id: message.id }))
    expect(told).to.include(`proof checked ${checked_at}: Holds a credential of somebody who was checked`)
    expect(told).to.include(`(circuit kyc, issuer ${owner.organisationId})`)
  })

  it('are not accepted where whoever makes them chooses what they say', async () => {
    const id = newId()
    const selfMade = await proofFor(id, { circuit: 'yesno', inputs: ADULT_INPUTS })
    for (const circuit_id of ['yesno', 'simple_yesno', 'composite', 'eligibility', 'audit_proof', 'none']) {
      const { status, body } = await agent.post({ id, proof: { ...selfMade, circuit_id } })
      expect([status, body.error], circuit_id).to.deep.equal([400, 'proof_not_accepted'])
      expect(body.message).to.match(
        /must be one of kyc, token_validation, consent_verification, quantum_safe_token/,
      )
    }
  })

  it('must be made for the chat', async () => {
    const id = newId()
    for (const purpose of ['', 'shop'])
      expect(await refusal(id, await proofFor(id, { purpose }))).to.equal('PURPOSE_MISMATCH')
  })

  it('of tokens, consents and hybrid tokens lead to the organisation that issued them', async () => {
    const token = await tokenRoutesOf(app, owner.apiKey).issued()
    const consent = await consentRoutesOf(app, owner.apiKey).logged()
    const hybrid = await hybridRoutesOf(app, app.adminKey).issued()
    const cases = [
      [
        'token_validation',
        { tokenId: token.tokenId },
        owner.apiKey,
        owner.organisationId,
        /^Holds a valid token\.$/,
      ],
      [
        'consent_verification',
        { consentId: consent.consentId, purpose: 'newsletter' },
        owner.apiKey,
        owner.organisationId,
        /^Holds a consent that is in force\.$/,
      ],
      ['quantum_safe_token', { token: hybrid }, app.adminKey, 'default', /post-quantum signature/],
    ] as const
    for (const [circuit, inputs, key, issuer, statement] of cases) {
      const id = newId()
      const { proof } = await shown(agent, id, await proofFor(id, { circuit, inputs, key }))
      expect(proof).to.include({ circuit_id: circuit, issuer })
      expect(proof?.statement).to.match(statement)
    }
  })

  it('of a consent are refused once that is superseded, withdrawn or over, also where they leave its id out', async () => {
    const { apiKey: key, organisationId } = owner
    const consents = consentRoutesOf(app, key)
    const purpose = 'newsletter'
    const logged = (subjectId: string, more: object = {}) =>
      consents.logged({ subjectId, purposes: [purpose, 'research'], ...more })
    const proofOf = async (id: string, consentId: string) => {
      const inputs = await loggedConsentSignals(app, organisationId, consentId, purpose)
      const proof = await proofFor(id, { circuit: 'consent_verification', inputs })
      expect((proof.context as { statement: object }).statement).not.to.have.property('consent_id')
      return proof
    }
    /** Made by somebody himself: of one consent, with the id of another in the statement. */
    const proofNaming = async (id: string, consentId: string, named: string): Promise<EnvelopeProof> => {
      const { proofs } = app.services
      const caller = systemCaller(organisationId, 'test')
      const circuitId = 'consent_verification'
      const inputs = await loggedConsentSignals(app, organisationId, consentId, 'research')
      const prepared = await proofs.prepare(caller, circuitId, {
        ...inputs,
        purpose: String(h248(purpose)),
      })
      const made = await proofs.make(caller, {
        circuitId,
        prepared: { ...prepared, statement: { ...prepared.statement, consent_id: named } },
        category: 'proof',
        nonce: proofNonce(agent.fingerprint, id),
        purpose: 'chat',
      })
      const { proof, publicSignals, context } = made
      return { circuit_id: circuitId, proof, public_signals: [...publicSignals], context }
    }
    const [first, second, third, fourth] = [newId(), newId(), newId(), newId()]

    const superseded = await logged('bob')
    const inForce = await proofOf(first, superseded.consentId)
    expect((await shown(agent, first, inForce)).proof?.statement).to.match(/in force/)
    const proof = await proofOf(second, superseded.consentId)
    const later = await logged('bob', { purposes: [purpose] })
    expect(await refusal(second, proof)).to.equal('CONSENT_SUPERSEDED')
    // Naming the one that is in force does not make it a proof of that.
    expect(await refusal(second, await proofNaming(second, superseded.consentId, later.consentId))).to.equal(
      'CONSENT_SUPERSEDED',
    )
    const { knex } = app.services.database
    await knex('issued_nullifiers').where({ consent: superseded.consentId }).update({ consent: null })
    expect(await refusal(second, await proofNaming(second, superseded.consentId, later.consentId))).to.equal(
      'CONSENT_UNKNOWN',
    )
    expect(await refusal(second, proof)).to.equal('CONSENT_UNKNOWN')

    const withdrawn = await logged('carol')
    const ofWithdrawn = await proofOf(third, withdrawn.consentId)
    await consents.revoke(withdrawn.consentId)
    expect(await refusal(third, ofWithdrawn)).to.match(/REVOKED|WITHDRAWN/)

    const over = await logged('dave', { expiresAt: new Date(clock.now() + 60_000).toISOString() })
    const ofOver = await proofOf(fourth, over.consentId)
    clock.offsetMs = 61_000
    expect(await refusal(fourth, ofOver)).to.equal('CONSENT_EXPIRED')
  })

  it('are refused of what no organisation has issued', async () => {
    const id = newId()
    const proof = await proofFor(id, {
      circuit: 'token_validation',
      inputs: await tokenSignals(app, owner.organisationId),
    })
    expect(await refusal(id, proof)).to.equal('CREDENTIAL_UNKNOWN')
  })

  it('are refused once they are spent or revoked at the issuer, whatever organisation they name', async () => {
    const stranger = await app.organisation()
    const inputs = await kycSignals(app, owner.organisationId)
    const first = await proofFor('spent-at-the-issuer', { inputs })
    const { context: _, ...presented } = first
    const spent = await postVerifyProof(app, owner.apiKey, { ...presented, consume: true })
    expect([spent.status, spent.body.verified], JSON.stringify(spent.body)).to.deep.equal([200, true])
    const again = newId()
    expect(await refusal(again, await proofFor(again, { inputs }))).to.equal('DOUBLE_SPEND')
    // Under another organisation's scope a person would be another one: only the issuer's own counts.
    const elsewhere = newId()
    const asked = {
      ...(first.context as ProofContext),
      org: stranger.organisationId,
      nonce: proofNonce(agent.fingerprint, elsewhere),
    }
    const bearer = bearerFrom(owner.organisationId, inputs)
    expect(await refusal(elsewhere, await proveKyc(bearer, asked, clock.now()))).to.equal('SCOPE_MISMATCH')
    const { tokenId } = await tokenRoutesOf(app, owner.apiKey).issued()
    const id = newId()
    const proof = await proofFor(id, { circuit: 'token_validation', inputs: { tokenId } })
    expect((await tokenRoutesOf(app, owner.apiKey).revoke(tokenId)).status).to.equal(200)
    expect(await refusal(id, proof)).to.equal('CREDENTIAL_REVOKED')
  })

  it('speak for one key in 24 hours', async () => {
    const expiresAt = BigInt(Math.floor(clock.now() / 1000) + 7 * 86_400)
    const inputs = await kycSignals(app, owner.organisationId, { expiresAt })
    const second = createAgent(app)
    const post = async (by: Agent) => {
      const id = newId()
      const { status, body } = await by.post({ id, proof: await proofFor(id, { inputs, by }) })
      return [status, body.error, body.reason]
    }
    const inUse = [403, 'proof_in_use', 'proof_in_use']
    expect((await post(agent))[0]).to.equal(201)
    expect(await post(second)).to.deep.equal(inUse)
    clock.offsetMs = 12 * 3_600_000
    expect((await post(agent))[0]).to.equal(201)
    clock.offsetMs = 35 * 3_600_000
    expect(await post(second)).to.deep.equal(inUse)
    clock.offsetMs = 36 * 3_600_000 + 60_000
    expect((await post(second))[0]).to.equal(201)
    expect(await post(agent)).to.deep.equal(inUse)
  })

  it('speak for one key also when two use them at once', async () => {
    const inputs = await kycSignals(app, owner.organisationId)
    const agents = [createAgent(app), createAgent(app), createAgent(app)]
    const signed = []
    for (const by of agents) {
      const id = newId()
      signed.push(by.sign({ id, proof: await proofFor(id, { inputs, by }) }))
    }
    const answers = await Promise.all(signed.map((envelope) => sendEnvelope(app, envelope)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 403, 403])
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
      [{ ...proof, circuit_id: 'token_validation' }, /context\.circuit must be "token_validation"/],
      [{ ...proof, context: { ...context, aud: 'https://other.example' } }, /context\.aud must be/],
      [{ ...proof, context: { ...context, org: 'org_other' } }, 'CONTEXT_MISMATCH'],
      [{ ...proof, context: { ...context, org: 'a\u0001b' } }, /context\.org must be/],
      [{ ...proof, context: { ...context, exp: 4_000_000_000 } }, 'CONTEXT_MISMATCH'],
      [{ ...proof, context: { ...context, exp: 'soon' } }, /context\.exp must be/],
      [{ ...proof, context: { ...context, statement: { ...statement, minLevel: '9' } } }, 'CONTEXT_MISMATCH'],
      [
        { ...proof, context: { ...context, statement: { ...statement, purpose: 'shop' } } },
        'PURPOSE_MISMATCH',
      ],
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

  it('take a turn of their own to be verified, and none of an organisation that they name', async () => {
    const stranger = await app.organisation()
    const id = newId()
    const proof = await proofFor(id)
    const naming = { ...proof, context: { ...(proof.context as object), org: stranger.organisationId } }
    const undisclosed = { ...naming, public_signals: proof.public_signals.map(() => '0') }
    const { verifier } = app.services
    const { verify } = verifier
    const turns: string[] = []
    verifier.verify = (circuit, snark, signals, turn) => {
      turns.push(turn)
      return verify(circuit, snark, signals, turn)
    }
    try {
      expect(await refusal(id, undisclosed)).to.equal('PROOF_INVALID')
      expect(await refusal(id, naming)).to.equal('CONTEXT_MISMATCH')
      expect((await agent.post({ id, proof })).status).to.equal(201)
    } finally {
      verifier.verify = verify
    }
    expect([...new Set(turns)]).to.deep.equal(['vouched-proofs'])
  })

  it('are refused when they show a NO, are too old, or have expired', async () => {
    const id = newId()
    const inputs = {
      ...(await kycSignals(app, owner.organisationId)),
      countries: [String(encodeValue('NZ'))],
    }
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
    const inputs = await kycSignals(app, owner.organisationId, {}, foreignIssuer())
    const nonce = proofNonce(agent.fingerprint, newId())
    const { status, body } = await postGenerate(app, owner.apiKey, {
      circuit_id: 'kyc',
      inputs,
      context: { nonce },
    })
    expect([status, body.reason]).to.deep.equal([422, 'STATEMENT_FALSE'])
  })

  it('of a token count when the token is for this chat or for anybody', async () => {
    const { issued } = tokenRoutesOf(app, owner.apiKey)
    const elsewhere = 'https://gate.example'
    const proofOf = async (id: string, audience: string | undefined) => {
      const { tokenId } = await issued({ audience })
      return proofFor(id, { circuit: 'token_validation', inputs: { tokenId, audience } })
    }
    for (const audience of [undefined, audienceOf(app)]) {
      const id = newId()
      expect((await shown(agent, id, await proofOf(id, audience))).proof?.issuer).to.equal(
        owner.organisationId,
      )
    }
    const id = newId()
    expect(await refusal(id, await proofOf(id, elsewhere))).to.equal('AUDIENCE_MISMATCH')
  })

  it('let their agents post while only verified ones may, if a trusted issuer vouches for a person', async () => {
    const mode = (posting: string) =>
      app.request('PUT', '/console/api/posting', { key: app.adminKey, body: { mode: posting } })
    const person = (organisation: string, minLevel = '2') =>
      kycSignals(app, organisation).then((signals) => ({ ...signals, minLevel }))
    const token = async (key: string) => ({ tokenId: (await tokenRoutesOf(app, key).issued()).tokenId })
    const hybrid = { token: await hybridRoutesOf(app, app.adminKey).issued() }
    expect((await mode('verified_only')).status).to.equal(200)
    try {
      const cases = [
        [
          'a person whom the operator has checked',
          201,
          'kyc',
          await person(DEFAULT_ORGANISATION),
          app.adminKey,
        ],
        ['a token of the operator', 201, 'token_validation', await token(app.adminKey), app.adminKey],
        ['a person of level basic', 403, 'kyc', await person(DEFAULT_ORGANISATION, '1'), app.adminKey],
        ['a person whom anybody has checked', 403, 'kyc', await person(owner.organisationId)],
        ['a token that anybody has issued', 403, 'token_validation', await token(owner.apiKey)],
        ['a hybrid token', 403, 'quantum_safe_token', hybrid, app.adminKey],
      ] as const
      for (const [what, status, circuit, inputs, key] of cases) {
        const id = newId()
        const by = createAgent(app)
        const answer = await by.post({ id, proof: await proofFor(id, { circuit, inputs, by, key }) })
        expect([answer.status, answer.body.error], what).to.deep.equal([
          status,
          status === 403 ? 'verified_only' : undefined,
        ])
      }
      expect((await createAgent(app).post()).body.error).to.equal('verified_only')
      expect((await postPlain(app)).body.error).to.equal('verified_only')
    } finally {
      await mode('open')
    }
  })

  it('are 503 when too many wait, and none of those that wait is lost', async () => {
    const id = newId()
    const proof = await proofFor(id)
    const envelope = agent.sign({ id, proof })
    const reader = createEnvelopeReader({ ...readerDeps(), proofs: app.services.proofs })
    const opened = reader.open(envelope, 'chat.post')
    const answers = await Promise.allSettled(Array.from({ length: 12 }, () => reader.checkProof(opened)))
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    expect(refused).to.have.length(4)
    for (const error of refused)
      expect(error)
        .to.be.instanceOf(AppError)
        .and.include({ code: 'proof_service_unavailable', status: 503, retryAfter: 1 })
    expect(await reader.checkProof(opened)).to.include({ provesPerson: false })
    expect((await sendEnvelope(app, envelope)).status).to.equal(201)
  })

  it('are 503, not refused, when it cannot be told whether they hold', async () => {
    const id = newId()
    const failing = {
      vouchedCircuits: () => app.services.proofs.vouchedCircuits(),
      checkVouched: () => Promise.reject(new Error('the database is away')),
    }
    const reader = createEnvelopeReader({ ...readerDeps(), proofs: failing })
    const opened = reader.open(agent.sign({ id, proof: await proofFor(id) }), 'chat.post')
    const error = await reader.checkProof(opened).catch((caught: unknown) => caught)
    expect(error).to.be.instanceOf(AppError).and.include({ code: 'proof_service_unavailable', status: 503 })
  })
})
