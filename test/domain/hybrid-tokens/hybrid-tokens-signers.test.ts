/** Hybrid tokens that agents and devices sign with keys that their organisation registered. */
import { expect } from 'chai'
import type { HybridTokenPrepared } from '../../../src/domain/hybrid-tokens/schemas.ts'
import { HYBRID_TOKEN_CONTEXT, hybridSigningBytes } from '../../../src/protocol/hybrid-token.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { movedClock } from '../../support/circuits/circuit-questions.ts'
import { agentRoutesOf } from '../../support/domain/agents.ts'
import {
  cookiesOf,
  hybridRoutesOf,
  newHybridKey,
  type SigningAgent,
  type SigningKeys,
  signaturesOf,
  signingAgent,
  signingDevice,
} from '../../support/domain/hybrid-tokens.ts'

describe('hybrid tokens of agents and devices', function () {
  this.timeout(60_000)
  const clock = movedClock()
  let app: TestApp
  let owner: TestOrganisation
  let agent: SigningAgent
  let hybrid: ReturnType<typeof hybridRoutesOf>
  before(async () => {
    app = await startTestApp({ clock })
    owner = await app.organisation()
    hybrid = hybridRoutesOf(app, owner.apiKey)
    agent = await signingAgent(app, owner)
  })
  after(() => app.close())

  const kidsOf = ({ classical, pq }: SigningKeys) => ({ kid_classical: classical.kid, kid_pq: pq.kid })
  const prepared = async (more: object = {}, by: SigningKeys = agent): Promise<HybridTokenPrepared> => {
    const asked = { subject: 'member-7', alg_pq: 'Dilithium2', ...kidsOf(by), ...more }
    const { status, body } = await hybrid.prepare(asked)
    expect(status, JSON.stringify(body)).to.equal(202)
    return body
  }
  const refusedAt = async (body: object): Promise<string> => {
    const answer = await hybrid.generate(body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(422)
    return `${answer.body.details?.[0]?.path} ${answer.body.details?.[0]?.code}`
  }
  const reasonsOf = async (token: object, accept_signers: readonly string[] = [agent.agentId]) =>
    (await hybrid.validate({ token, accept_signers })).body.reason_codes

  it('are signed over the bytes that were prepared, and count where the agent is accepted', async () => {
    const draft = await prepared({ claims: { decision: 1, seat: 12 } })
    expect(draft.context).to.equal('hybrid-token/1')
    expect(Buffer.from(draft.signing_input, 'base64url')).to.deep.equal(
      Buffer.from(hybridSigningBytes(draft)),
    )
    const { status, body: token } = await hybrid.generate({ ...draft, ...signaturesOf(agent, draft) })
    expect(status, JSON.stringify(token)).to.equal(201)
    expect(token).to.include({ signed_by: 'agent', token_id: draft.token_id, ...kidsOf(agent) })
    const accepted = await hybrid.validate({ token, accept_signers: [agent.agentId] })
    expect(accepted.body).to.deep.include({
      valid: true,
      signer: { type: 'agent', id: agent.agentId },
      claims: { decision: 1, seat: 12 },
    })
    for (const accept_signers of [undefined, [], ['agt_01kahnq7x8e4w3v5f6t2s9r0pm']]) {
      const { body } = await hybrid.validate({ token, accept_signers })
      expect(body).to.deep.include({ valid: false, policy_satisfied: true })
      expect(body.reason_codes).to.deep.equal(['SIGNER_NOT_ACCEPTED'])
    }
    expect(await reasonsOf({ ...token, signed_by: 'service' })).to.deep.equal(['SIGNER_MISMATCH'])
    // A body that is the token may be its bearer's, who is not to say whom to accept.
    const { body } = await hybrid.validate({ ...token, accept_signers: [agent.agentId] })
    expect(body.reason_codes).to.deep.equal(['SIGNER_NOT_ACCEPTED'])
    const byCookie = { cookie: cookiesOf(token).join('; ') }
    const carried = await hybrid.validate({ accept_signers: [agent.agentId] }, byCookie)
    expect(carried.body.reason_codes).to.deep.equal([])
  })

  it('have no id, time or bytes but those that were prepared: others are refused, never replaced', async () => {
    const draft = await prepared()
    const { kid_classical: _, kid_pq: __, ...unnamed } = { ...draft, ...signaturesOf(agent, draft) }
    const other = { token_id: draft.token_id, iat: draft.iat - 1, signing_input: draft.signing_input }
    const plain = { subject: 'member-7', alg_pq: 'Dilithium2' }
    const refused = async (ask: typeof hybrid.generate | typeof hybrid.prepare, body: object) => {
      const { status, body: answer } = await ask(body)
      return [status, answer.error, ...(answer.details ?? []).map(({ path }) => path)]
    }
    for (const [name, value] of Object.entries({ ...other, context: 'hybrid-token/2' })) {
      const read = [422, 'read_only', `/${name}`]
      expect(await refused(hybrid.generate, { ...plain, [name]: value })).to.deep.equal(read)
      const asked = { ...plain, ...kidsOf(agent), [name]: value }
      expect(await refused(hybrid.prepare, asked)).to.deep.equal(read)
    }
    // As prepared, but for the keys: the service would sign something else.
    expect(await refused(hybrid.generate, unnamed)).to.include.members([422, 'read_only', '/token_id'])
  })

  it('work with every pair of algorithms', async () => {
    for (const [classical, pq] of [
      ['ECDSA_P256', 'Dilithium3'],
      ['Ed25519', 'Dilithium3'],
      ['ECDSA_P256', 'Dilithium2'],
    ] as const) {
      const other = await signingAgent(app, owner, [classical, pq])
      const draft = await prepared({ alg_classical: classical, alg_pq: pq }, other)
      const { status, body } = await hybrid.generate({ ...draft, ...signaturesOf(other, draft) })
      expect(status, JSON.stringify(body)).to.equal(201)
      expect(await reasonsOf(body, [other.agentId])).to.deep.equal([])
    }
  })

  it('may leave out the signature that their policy does not demand, and are then never quantum-safe', async () => {
    for (const half of ['classical', 'pq'] as const) {
      const rest = half === 'classical' ? { kid_pq: undefined } : { kid_classical: undefined }
      const draft = await prepared({ verification_policy: `${half}_only`, ...rest })
      const both = signaturesOf(agent, draft)
      const only = half === 'classical' ? { sig_classical: both.sig_classical } : { sig_pq: both.sig_pq }
      const { status, body: token } = await hybrid.generate({ ...draft, ...only })
      expect(status, JSON.stringify(token)).to.equal(201)
      expect(await reasonsOf(token)).to.deep.equal([])
      const missing = half === 'classical' ? 'PQ_SIGNATURE_MISSING' : 'CLASSICAL_SIGNATURE_MISSING'
      const { body } = await hybrid.validate({
        token,
        required_policy: 'hybrid_required',
        accept_signers: [agent.agentId],
      })
      expect(body.reason_codes).to.deep.equal([missing])
      const row = await app.services.database.knex('hybrid_tokens').where({ id: token.token_id }).first()
      expect(row.policy_bits).to.equal(half === 'classical' ? 1 : 2)
    }
  })

  it('are refused where a signature is not over just these bytes, by this key, under this context', async () => {
    const draft = await prepared()
    const good = signaturesOf(agent, draft)
    const stranger = await signingAgent(app, owner)
    const changed = signaturesOf(agent, { ...draft, verification_policy: 'classical_only' })
    for (const [signatures, path, reason] of [
      [{ ...good, sig_pq: changed.sig_pq }, '/sig_pq', 'PQ_SIGNATURE_INVALID'],
      [{ ...good, sig_classical: changed.sig_classical }, '/sig_classical', 'CLASSICAL_SIGNATURE_INVALID'],
      [
        { ...good, sig_pq: agent.pq.sign(hybridSigningBytes(draft), new Uint8Array(0)) },
        '/sig_pq',
        'PQ_SIGNATURE_INVALID',
      ],
      [{ ...good, sig_pq: stranger.pq.sign(hybridSigningBytes(draft)) }, '/sig_pq', 'PQ_SIGNATURE_INVALID'],
      [{ ...good, sig_pq: good.sig_classical }, '/sig_pq', 'PQ_SIGNATURE_MALFORMED'],
    ] as const) {
      const { status, body } = await hybrid.generate({ ...draft, ...signatures })
      expect([status, body.error, body.reason]).to.deep.equal([422, 'signature_invalid', reason])
      expect(body.details?.[0]?.path).to.equal(path)
    }
    // Whatever was prepared is signed, so nothing of it can be changed afterwards.
    for (const changes of [{ subject: 'member-8' }, { exp: draft.exp + 1 }, { claims: { decision: 0 } }])
      expect((await hybrid.generate({ ...draft, ...good, ...changes })).body.error).to.equal(
        'signature_invalid',
      )
    const otherBytes = { ...draft, ...good, signing_input: 'AA' }
    expect(await refusedAt(otherBytes)).to.equal('/signing_input read_only')
    expect((await hybrid.generate({ ...draft, ...good })).status).to.equal(201)
  })

  it('are refused where key and signature do not come together, or not what the policy demands', async () => {
    const draft = await prepared()
    const good = signaturesOf(agent, draft)
    expect(await refusedAt({ ...draft, sig_classical: good.sig_classical })).to.equal('/sig_pq required')
    expect(await refusedAt({ ...draft, ...good, kid_pq: '' })).to.equal('/kid_pq required')
    // Who names keys without signing is not given a token of the service instead.
    expect(await refusedAt(draft)).to.equal('/sig_classical required')
    expect(await refusedAt({ ...draft, sig_classical: good.sig_classical, kid_pq: '' })).to.equal(
      '/kid_pq required',
    )
    expect(await refusedAt({ ...draft, ...good, token_id: undefined })).to.equal('/token_id required')
    expect(await refusedAt({ ...draft, ...good, iat: undefined })).to.equal('/iat required')
    expect(await refusedAt({ ...draft, ...good, iat: draft.iat + 60 })).to.equal('/iat out_of_range')
    clock.offsetMs = 602_000
    expect(await refusedAt({ ...draft, ...good, exp: draft.exp + 3600 })).to.equal('/iat out_of_range')
    const { body, status } = await hybrid.prepare({ subject: 'x' })
    expect([status, body.details?.[0]?.path]).to.deep.equal([422, '/kid_classical'])
  })

  it('can only name active keys of their own organisation, of the algorithm, of one owner', async () => {
    const other = await signingAgent(app, owner)
    const stranger = await app.organisation()
    const theirs = await signingAgent(app, stranger)
    const unknown = newHybridKey('Ed25519')
    const service = await hybrid.issued()
    for (const [more, where] of [
      [{ kid_pq: other.pq.kid }, '/kid_pq owner_mismatch'],
      [kidsOf(theirs), '/kid_classical unknown_key'],
      [{ kid_classical: unknown.kid }, '/kid_classical unknown_key'],
      [{ kid_classical: agent.pq.kid }, '/kid_classical unknown_key'],
      [{ alg_classical: 'ECDSA_P256' }, '/kid_classical unknown_key'],
      [{ alg_pq: 'Dilithium3' }, '/kid_pq unknown_key'],
      [{ kid_classical: service.kid_classical, kid_pq: service.kid_pq }, '/kid_classical unknown_key'],
    ] as const) {
      const asked = { subject: 'member-7', alg_pq: 'Dilithium2', ...kidsOf(agent), ...more }
      const { status, body } = await hybrid.prepare(asked)
      expect(status).to.equal(422)
      expect(`${body.details?.[0]?.path} ${body.details?.[0]?.code}`).to.equal(where)
    }
    // Nor can a service's token be issued once more as one's own.
    expect(await refusedAt({ ...service, signed_by: undefined })).to.equal('/kid_classical unknown_key')
    expect(await refusedAt(service)).to.equal('/signed_by unknown_member')
  })

  it('are issued once for each id, however many ask at the same time', async () => {
    const draft = await prepared()
    const signed = { ...draft, ...signaturesOf(agent, draft) }
    const answers = await Promise.all(Array.from({ length: 5 }, () => hybrid.generate(signed)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409])
  })

  it('are not valid while their agent is suspended, nor once it is revoked', async () => {
    const short = await signingAgent(app, owner)
    const draft = await prepared({}, short)
    const { body: token } = await hybrid.generate({ ...draft, ...signaturesOf(short, draft) })
    const { step } = agentRoutesOf(app, owner.apiKey)
    const unknown = ['CLASSICAL_KEY_UNKNOWN', 'PQ_KEY_UNKNOWN']
    expect(await reasonsOf(token, [short.agentId])).to.deep.equal([])
    await step(short.agentId, 'suspend')
    expect(await reasonsOf(token, [short.agentId])).to.deep.equal(unknown)
    await step(short.agentId, 'resume')
    expect(await reasonsOf(token, [short.agentId])).to.deep.equal([])
    await step(short.agentId, 'revoke')
    expect(await reasonsOf(token, [short.agentId])).to.deep.equal(unknown)
  })

  it('are as good from a device, until it is revoked', async () => {
    const device = await signingDevice(app, owner)
    const draft = await prepared({}, device)
    const { status, body: token } = await hybrid.generate({ ...draft, ...signaturesOf(device, draft) })
    expect([status, token.signed_by], JSON.stringify(token)).to.deep.equal([201, 'device'])
    const accepted = await hybrid.validate({ token, accept_signers: [device.deviceId] })
    expect(accepted.body).to.deep.include({ valid: true, signer: { type: 'device', id: device.deviceId } })
    expect(await reasonsOf(token)).to.deep.equal(['SIGNER_NOT_ACCEPTED'])
    expect(await reasonsOf({ ...token, signed_by: 'agent' }, [device.deviceId])).to.deep.equal([
      'SIGNER_MISMATCH',
    ])
    expect(await refusedAt({ ...draft, ...signaturesOf(device, draft), kid_pq: agent.pq.kid })).to.equal(
      '/kid_pq owner_mismatch',
    )
    const left = await prepared({}, device)
    const path = `/console/api/devices/${device.deviceId}`
    expect((await app.request('DELETE', path, { key: owner.apiKey })).status).to.equal(204)
    expect(await reasonsOf(token, [device.deviceId])).to.deep.equal([
      'CLASSICAL_KEY_UNKNOWN',
      'PQ_KEY_UNKNOWN',
    ])
    expect(await refusedAt({ ...left, ...signaturesOf(device, left) })).to.equal('/kid_classical unknown_key')
  })

  it('and of the service can’t be mixed: one half each is nobody’s token', async () => {
    const draft = await prepared()
    const bytes = hybridSigningBytes({ ...draft })
    const { kid, sign } = await app.services.signers.postQuantum('tokens', 'ML-DSA-44')
    const mixed = { ...draft, kid_pq: kid }
    const { signing_input: _input, context: _context, ...statement } = mixed
    const token = {
      ...statement,
      sig_classical: agent.classical.sign(hybridSigningBytes(mixed)),
      sig_pq: Buffer.from(await sign(hybridSigningBytes(mixed), HYBRID_TOKEN_CONTEXT)).toString('base64url'),
    }
    expect(bytes).to.not.deep.equal(hybridSigningBytes(mixed))
    expect(await reasonsOf(token)).to.deep.equal(['SIGNER_MISMATCH', 'TOKEN_UNKNOWN'])
    expect(await refusedAt(token)).to.equal('/kid_pq unknown_key')
  })
})
