/** `expect`, on every route that verifies a proof or a token: what differs is not verified, and spends nothing. */
import { expect } from 'chai'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import type { BatchOutcomes } from '../../../src/domain/tickets/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  ADULT_INPUTS,
  asPresented,
  generated,
  postSimpleVerify,
  postSync,
  postVerifyProof,
  reasonsOf,
} from '../../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'

const START = Date.parse('2026-06-01T12:00:00Z')

describe('expectations', function () {
  this.timeout(60_000)
  let now = START
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    owner = await app.organisation()
  })
  after(() => app.close())
  beforeEach(() => {
    now = START
  })

  const proofOf = (context: object = { nonce: 'n-1', purpose: 'door' }) =>
    generated(app, owner.apiKey, { circuit_id: 'yesno', inputs: ADULT_INPUTS, context })
  const verify = (made: ProofGenerated, asked: object, more: object = {}) =>
    postVerifyProof(app, owner.apiKey, { ...asPresented(made), ...more, expect: asked })

  describe('of a proof', () => {
    let made: ProofGenerated
    before(async () => {
      made = await proofOf()
    })
    const RIGHT = () => ({
      circuit_id: 'yesno',
      issuers: ['org_other', owner.organisationId],
      audience: app.url,
      purpose: 'door',
      nonce: 'n-1',
      statement: { op: 'gte' },
      decision: 1,
      max_age_seconds: 60,
    })
    const WRONG: Record<string, unknown> = {
      circuit_id: 'eligibility',
      issuers: ['org_other'],
      audience: 'https://elsewhere.example',
      purpose: 'gate',
      nonce: 'n-2',
      statement: { op: 'lt' },
      decision: 0,
      max_age_seconds: 9,
    }

    it('that is what was expected stays verified, with all names at once', async () => {
      const { body } = await verify(made, RIGHT())
      expect(body).to.deep.include({ verified: true, reason_codes: [] })
    })

    for (const [name, value] of Object.entries(WRONG))
      it(`that differs in ${name} is not verified, and is not spent`, async () => {
        now = START + 10_000
        const { status, body } = await verify(made, { ...RIGHT(), [name]: value }, { consume: true })
        expect([status, body.valid, body.verified, body.consumed]).to.deep.equal([200, true, false, false])
        expect(body.reason_codes).to.deep.equal([`EXPECTATION_${name.toUpperCase()}`])
        expect(await reasonsOf(app, owner.apiKey, asPresented(made))).to.deep.equal([])
      })

    it('compares the listed members of the statement alone, and whole', async () => {
      const { statement } = made.context
      const { rules_hash } = statement
      expect((await verify(made, { statement: { rules_hash } })).body.verified).to.equal(true)
      expect((await verify(made, { statement: {} })).body.verified).to.equal(true)
      for (const other of [{ rules_hash, op: 'lt' }, { unknown: null }, { rules_hash: [rules_hash] }])
        expect((await verify(made, { statement: other })).body.verified).to.equal(false)
    })

    it('can’t have a name that does not apply, nor one that is none', async () => {
      for (const asked of [{ status: 'active' }, { min_level: 'basic' }]) {
        const { status, body } = await verify(made, asked)
        expect([status, body.error]).to.deep.equal([422, 'validation_failed'])
        expect(body.details?.[0]?.path).to.equal(`/expect/${Object.keys(asked)[0]}`)
      }
      for (const asked of [{ nonse: 'n-1' }, { decision: true }, { issuers: [] }, { nonce: 5 }])
        expect((await verify(made, asked)).status, JSON.stringify(asked)).to.equal(422)
    })

    it('can’t be null in any of its names, nor itself: that would not be asked', async () => {
      for (const name of [...Object.keys(RIGHT()), 'status', 'min_level']) {
        const { status, body } = await verify(made, { ...RIGHT(), [name]: null }, { consume: true })
        expect([status, body.error], name).to.deep.equal([422, 'validation_failed'])
        expect(body.details?.[0]?.path).to.equal(`/expect/${name}`)
      }
      const { status } = await postVerifyProof(app, owner.apiKey, { ...asPresented(made), expect: null })
      expect(status).to.equal(422)
      expect(await reasonsOf(app, owner.apiKey, asPresented(made))).to.deep.equal([])
    })

    it('that was spent is not told to be spent again where it is not the one that was expected', async () => {
      const spent = await proofOf()
      expect((await verify(spent, { nonce: 'n-1' }, { consume: true })).body.consumed).to.equal(true)
      const other = await verify(spent, { nonce: 'n-2' }, { consume: true })
      expect([other.status, other.body.consumed]).to.deep.equal([200, false])
      expect((await verify(spent, { nonce: 'n-1' }, { consume: true })).status).to.equal(409)
    })

    it('is compared by POST /api/proof/verify and for each proof of an upload as well', async () => {
      const { proof_id: proofId, proof, public_signals: publicInputs } = made
      const presented = { proofId, proof, publicInputs }
      const simple = await postSimpleVerify(app, owner.apiKey, { ...presented, expect: { nonce: 'n-2' } })
      expect(simple.body).to.deep.include({ verified: false, reasonCodes: ['EXPECTATION_NONCE'] })
      const { body } = await postSync(app, owner.apiKey, [
        { ...presented, expect: { nonce: 'n-1' } },
        { ...presented, expect: { nonce: 'n-2' } },
        { ...presented, expect: { status: 'active' } },
      ])
      expect(body.updated).to.equal(1)
      expect(body.errors.map(({ index, reasonCodes }) => [index, reasonCodes])).to.deep.equal([
        [1, ['EXPECTATION_NONCE']],
        [2, ['ITEM_MALFORMED']],
      ])
    })

    it('is compared at the gate for each proof by itself', async () => {
      const [right, wrong, odd] = [await proofOf(), await proofOf(), await proofOf()]
      const body = {
        proofs: [
          { ...asPresented(right), expect: { purpose: 'door' } },
          { ...asPresented(wrong), expect: { purpose: 'gate' } },
          { ...asPresented(odd), expect: { status: 'active' } },
        ],
      }
      const answer = await app.request<BatchOutcomes>('POST', '/v1/qr/proofs/batch', {
        key: owner.apiKey,
        body,
      })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      expect(answer.body.results.map(({ status, reason_codes }) => [status, reason_codes])).to.deep.equal([
        ['spent', undefined],
        ['invalid', ['EXPECTATION_PURPOSE']],
        ['invalid', undefined],
      ])
      expect(answer.body.results[2]?.message).to.contain('/expect/status')
      for (const made of [wrong, odd])
        expect(await reasonsOf(app, owner.apiKey, asPresented(made))).to.deep.equal([])
    })

    it('counts the age of an aggregate from its attestation, of a token’s proof from its `now`', async () => {
      const aggregate = await generated(app, owner.apiKey, {
        circuit_id: 'proof_aggregation',
        inputs: { proofIds: [made.proof_id] },
      })
      const { body: issued } = await app.request<{ tokenId: string }>('POST', '/api/tokens/generate', {
        key: owner.apiKey,
        body: { subject: 'user-1', ttl: 3600, audience: 'https://gate.example' },
      })
      const inputs = { tokenId: issued.tokenId, audience: 'https://gate.example' }
      const token = await generated(app, owner.apiKey, { circuit_id: 'token_validation', inputs })
      const audience = { audience: 'https://gate.example' }
      expect((await verify(token, audience)).body.reason_codes).to.deep.equal([])
      expect((await verify(token, { audience: app.url })).body.reason_codes).to.deep.equal([
        'EXPECTATION_AUDIENCE',
      ])
      now += 30_000
      for (const one of [aggregate, token]) {
        expect((await verify(one, { max_age_seconds: 30 })).body.reason_codes).to.deep.equal([])
        expect((await verify(one, { max_age_seconds: 29 })).body.reason_codes).to.deep.equal([
          'EXPECTATION_MAX_AGE_SECONDS',
        ])
      }
    })
  })

  it('of a token are compared, and what differs is not used up', async () => {
    const body = {
      subject: 'member-7',
      claims: { level: 'gold', seats: 2 },
      ttl: 3600,
      singleUse: true,
      audience: 'https://gate.example',
    }
    const { body: issued } = await app.request<{ token: string }>('POST', '/api/tokens/generate', {
      key: owner.apiKey,
      body,
    })
    const validate = async (asked: object) => {
      const { status, body: told } = await app.request<{ valid: boolean; reasonCodes: string[] }>(
        'POST',
        '/api/tokens/validate',
        {
          key: owner.apiKey,
          body: { token: issued.token, audience: 'https://gate.example', consume: true, expect: asked },
        },
      )
      return status === 200 ? told.reasonCodes.join() : String(status)
    }
    now += 10_000
    expect(await validate({ statement: { level: 'silver' } })).to.equal('EXPECTATION_STATEMENT')
    expect(await validate({ audience: 'https://other.example' })).to.equal('EXPECTATION_AUDIENCE')
    expect(await validate({ issuers: ['https://other.example'] })).to.equal('EXPECTATION_ISSUERS')
    expect(await validate({ status: 'revoked' })).to.equal('EXPECTATION_STATUS')
    expect(await validate({ max_age_seconds: 9 })).to.equal('EXPECTATION_MAX_AGE_SECONDS')
    for (const name of ['circuit_id', 'purpose', 'nonce'])
      expect(await validate({ [name]: 'x' }), name).to.equal('422')
    expect(await validate({ decision: 1 })).to.equal('422')
    const right = { statement: { level: 'gold' }, issuers: [app.url], status: 'active', max_age_seconds: 10 }
    expect(await validate(right)).to.equal('')
    expect(await validate(right)).to.equal('EXPECTATION_STATUS,TOKEN_USED'.split(',').reverse().join())
  })

  it('of a ticket are compared at the gate, and what differs is not used up', async () => {
    const gate = ticketRoutesOf(app, owner.apiKey)
    const { qr_payload } = await gate.issued({ claims: { gate: 'B' }, circuit_id: 'yesno' })
    now += 10_000
    const handIn = async (asked: object | undefined) =>
      (await gate.handIn([{ qr_payload, ...(asked && { expect: asked }) }, 'x'])).body.results[0]
    const right = {
      circuit_id: 'yesno',
      issuers: [owner.organisationId],
      statement: { gate: 'B' },
      status: 'active',
      max_age_seconds: 10,
    }
    const wrong = {
      circuit_id: 'kyc',
      issuers: ['org_other'],
      statement: { gate: 'C' },
      status: 'used',
      max_age_seconds: 9,
    }
    for (const [name, value] of Object.entries(wrong)) {
      const outcome = await handIn({ ...right, [name]: value })
      expect(outcome).to.deep.include({
        status: 'invalid',
        consumed: false,
        reason_codes: [`EXPECTATION_${name.toUpperCase()}`],
      })
      expect(outcome).not.to.have.property('claims')
    }
    for (const asked of [
      { nonce: 'n' },
      { audience: 'x' },
      { purpose: 'x' },
      { min_level: 'basic' },
      { decision: 1 },
    ]) {
      const outcome = await handIn(asked)
      expect(outcome).to.include({ status: 'invalid', consumed: false })
      expect(outcome?.message).to.contain(`/expect/${Object.keys(asked)[0]}`)
    }
    expect((await handIn({ nonse: 'n' }))?.message).to.contain('/expect/nonse')
    expect(await handIn(right)).to.include({ status: 'spent', consumed: true })
    expect(await handIn(right)).to.deep.include({ status: 'invalid', reason_codes: ['EXPECTATION_STATUS'] })
    expect((await handIn(undefined))?.status).to.equal('DOUBLE_SPEND')
  })

  it('of a hybrid token are compared', async () => {
    const { body: token } = await app.request<object>('POST', '/v1/tokens/generate-quantum-safe', {
      key: owner.apiKey,
      body: { subject: 'member-7', claims: { decision: 0, level: 'gold' }, alg_pq: 'Dilithium2' },
    })
    const validate = async (asked: object) => {
      const { status, body } = await app.request<{ reason_codes: string[] }>(
        'POST',
        '/v1/tokens/validate-quantum-safe',
        { key: owner.apiKey, body: { token, expect: asked } },
      )
      return status === 200 ? body.reason_codes.join() : String(status)
    }
    expect(await validate({ decision: 0, statement: { level: 'gold' }, issuers: [app.url] })).to.equal('')
    expect(await validate({ decision: 1 })).to.equal('EXPECTATION_DECISION')
    expect(await validate({ issuers: ['agt_1'], status: 'revoked' })).to.equal(
      'EXPECTATION_ISSUERS,EXPECTATION_STATUS',
    )
    expect(await validate({ audience: 'https://gate.example' })).to.equal('422')
  })
})
