/** Tokens and consents under their circuits: what is proved, what is proved to be a NO, and what is no statement. */
import { expect } from 'chai'
import { poseidon } from '../../../src/circuits/field.ts'
import { consentVerification } from '../../../src/circuits/mappers/consent_verification.ts'
import { kyc } from '../../../src/circuits/mappers/kyc.ts'
import { tokenValidation } from '../../../src/circuits/mappers/token_validation.ts'
import { POSEIDON_TAGS } from '../../../src/core/poseidon-tags.ts'
import type { ResultField } from '../../../src/domain/proofs/statements/index.ts'
import type { TokenIssued } from '../../../src/domain/tokens/schemas.ts'
import { defaultPurpose, h248, scopeElement } from '../../../src/rules/encode.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  type Answered,
  asking,
  countEntries,
  expectProven,
  expectUnproven,
  movedClock,
} from '../../support/circuits/circuit-questions.ts'
import {
  CONTROLLER,
  consentSignals,
  foreignIssuer,
  kycSignals,
  PURPOSE,
  tokenSignals,
} from '../../support/circuits/signed-signals.ts'
import { asPresented, postGenerate, postVerifyProof } from '../../support/domain/proof-api.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { rotateIssuer } from '../../support/rotation.ts'
import { onEmbedded } from '../../support/servers/database.ts'

const GATE = 'https://gate.example'
const DAY_MS = 86_400_000

describe('circuit routes about what the service signed', function () {
  this.timeout(60_000)
  const clock = movedClock()
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await startTestApp({ clock })
    owner = await app.organisation()
  })
  after(() => app.close())

  const isVerifiedLater = async ({ proofId, proof, publicInputs }: Answered) => {
    const answer = await app.request<{ verified: boolean; reasonCodes: string[] }>(
      'POST',
      '/api/proof/verify',
      {
        key: owner.apiKey,
        body: { proofId, proof, publicInputs },
      },
    )
    return answer.body.verified ? true : answer.body.reasonCodes
  }
  const proven = (answer: Parameters<typeof expectProven>[1], field: ResultField, value = true) =>
    expectProven(app, answer, field, value)

  describe('token-validation', () => {
    let ask: ReturnType<typeof asking>
    let token: TokenIssued
    const issued = (body?: object) => tokenRoutesOf(app, owner.apiKey).issued(body)
    before(async () => {
      ask = asking(app, 'token-validation')
      token = await issued({ audience: GATE, ttl: 3600 })
    })

    it('proves of a token of ours, by id or text, that it is valid for who asks now', async () => {
      const body = await proven(
        await ask(owner.apiKey, { tokenId: token.tokenId, audience: GATE }),
        'token_valid',
        true,
      )
      const { point } = await app.services.issuer.current()
      const signals = tokenValidation.read(body.publicInputs ?? [])
      expect(signals).to.deep.include({
        audience: h248(GATE),
        issuerX: point.x,
        issuerY: point.y,
        token_valid: 1n,
      })
      expect(Math.abs(Number(signals.now) - app.services.clock.now() / 1000)).to.be.below(60)
      expect(await isVerifiedLater(body)).to.equal(true)
      const byText = await proven(
        await ask(owner.apiKey, { token: token.token, audience: GATE }),
        'token_valid',
        true,
      )
      expect(tokenValidation.read(byText.publicInputs ?? []).nullifier).to.equal(signals.nullifier)
    })

    it('is not verified two minutes later, nor once the token is revoked', async () => {
      const revoked = await issued()
      const body = await proven(await ask(owner.apiKey, { tokenId: revoked.tokenId }), 'token_valid', true)
      clock.offsetMs = 121_000
      expect(await isVerifiedLater(body)).to.deep.equal(['NOW_OUT_OF_RANGE'])
      clock.offsetMs = 0
      expect(await isVerifiedLater(body)).to.equal(true)
      await tokenRoutesOf(app, owner.apiKey).revoke(revoked.tokenId)
      expect(await isVerifiedLater(body)).to.deep.equal(['CREDENTIAL_REVOKED'])
      expectUnproven(await ask(owner.apiKey, { tokenId: revoked.tokenId }), 'token_valid')
    })

    onEmbedded.it('proves that it is not valid for another audience, or none, or later', async () => {
      const { tokenId } = token
      await proven(
        await ask(owner.apiKey, { tokenId, audience: 'https://other.example' }),
        'token_valid',
        false,
      )
      await proven(await ask(owner.apiKey, { tokenId }), 'token_valid', false)
      clock.offsetMs = 3_601_000
      await proven(await ask(owner.apiKey, { tokenId, audience: GATE }), 'token_valid', false)
    })

    it('is false, and nothing is proved or recorded, of what is used up or not ours', async () => {
      const single = await issued({ singleUse: true })
      await tokenRoutesOf(app, owner.apiKey).validate({ token: single.token, consume: true })
      const before = await countEntries(app, owner.organisationId, 'verify')
      expectUnproven(await ask(owner.apiKey, { token: single.token }), 'token_valid')
      expectUnproven(await ask(owner.apiKey, { token: `${token.token.slice(0, -4)}AAAA` }), 'token_valid')
      expectUnproven(await ask(owner.apiKey, { token: 'nonsense' }), 'token_valid')
      const stranger = await app.organisation()
      expectUnproven(await ask(stranger.apiKey, { token: token.token }), 'token_valid')
      expect((await ask(stranger.apiKey, { tokenId: token.tokenId })).status).to.equal(404)
      expect(await countEntries(app, owner.organisationId, 'verify')).to.equal(before)
    })

    onEmbedded.it('takes the signals of a token that our issuer signed, and of no other', async () => {
      const inputs = await tokenSignals(app, owner.organisationId)
      await proven(await ask(owner.apiKey, { inputs }), 'token_valid', true)
      const { issuerX: _x, issuerY: _y, ...keyless } = inputs
      await proven(await ask(owner.apiKey, { inputs: keyless }), 'token_valid', true)
      // Half a key isn't taken for none.
      for (const name of ['issuerX', 'issuerY'] as const) {
        const half = await ask(owner.apiKey, { inputs: { ...keyless, [name]: inputs[name] } })
        expect(half.status, name).to.equal(422)
      }
      const audience = await tokenSignals(app, owner.organisationId, { audience: 5n })
      await proven(await ask(owner.apiKey, { inputs: { ...audience, audience: '5' } }), 'token_valid', true)
      await proven(await ask(owner.apiKey, { inputs: { ...audience, audience: '6' } }), 'token_valid', false)
      for (const change of [{ subject: '1' }, { expiresAt: '99999999999' }, { s: '1' }, { r8x: '1' }])
        expectUnproven(await ask(owner.apiKey, { inputs: { ...inputs, ...change } }), 'token_valid')
      expectUnproven(
        await ask(owner.apiKey, {
          inputs: await tokenSignals(app, owner.organisationId, {}, foreignIssuer()),
        }),
        'token_valid',
      )
    })

    it('is false of signals whose status was revoked', async () => {
      const inputs = await tokenSignals(app, owner.organisationId)
      await app.services.database
        .knex('revoked_statuses')
        .insert({ status: Number(inputs.status), revoked_at: 1 })
      expectUnproven(await ask(owner.apiKey, { inputs }), 'token_valid', ['CREDENTIAL_REVOKED'])
    })

    it('is asked in exactly one form, of its type', async () => {
      const inputs = await tokenSignals(app, owner.organisationId)
      for (const body of [
        {},
        { audience: GATE },
        { token: token.token, inputs },
        { tokenId: token.tokenId, inputs },
        { tokenId: 'tok_1' },
        { token: 5 },
        { inputs: {} },
        { inputs: { ...inputs, secret: 5 } },
        { inputs: { ...inputs, secret: '-1' } },
        { inputs: { ...inputs, secret: '9'.repeat(77) } },
        { inputs: { ...inputs, issuedAt: String(1n << 64n) } },
      ]) {
        const answer = await ask(owner.apiKey, body)
        expect([answer.status, answer.body.error], JSON.stringify(body)).to.deep.equal([
          422,
          'validation_failed',
        ])
      }
    })
  })

  describe('consent-verification', () => {
    let ask: ReturnType<typeof asking>
    before(() => {
      ask = asking(app, 'consent-verification')
    })

    onEmbedded.it(
      'proves that a consent covers controller and purpose, with a handle for the subject',
      async () => {
        const inputs = await consentSignals(app, owner.organisationId, { subject: 77n })
        const body = await proven(await ask(owner.apiKey, { inputs }), 'consent_verified', true)
        const signals = consentVerification.read(body.publicInputs ?? [])
        const stated = { controller: String(CONTROLLER), purpose_element: String(PURPOSE), disclose: '1' }
        const purpose = defaultPurpose('consent_verification', stated)
        const scope = scopeElement({ aud: app.url, org: owner.organisationId, purpose })
        expect(signals).to.deep.include({ controller: CONTROLLER, purpose: PURPOSE, scope })
        expect(signals.subject_handle).to.equal(poseidon(POSEIDON_TAGS.SUBJECT, [77n, scope]))
        expect(await isVerifiedLater(body)).to.equal(true)
      },
    )

    onEmbedded.it('proves that it does not cover another purpose or controller, or is over', async () => {
      const inputs = await consentSignals(app, owner.organisationId)
      await proven(
        await ask(owner.apiKey, { inputs: { ...inputs, purpose: '9' } }),
        'consent_verified',
        false,
      )
      await proven(
        await ask(owner.apiKey, { inputs: { ...inputs, controller: '9' } }),
        'consent_verified',
        false,
      )
      clock.offsetMs = DAY_MS + 1000
      await proven(await ask(owner.apiKey, { inputs }), 'consent_verified', false)
    })

    it('is false, unproven, of a consent that our issuer did not sign', async () => {
      const inputs = await consentSignals(app, owner.organisationId)
      for (const change of [
        { subject: '1' },
        { consentController: '9' },
        { purposes: ['9'] },
        { to: '99999999999' },
      ])
        expectUnproven(await ask(owner.apiKey, { inputs: { ...inputs, ...change } }), 'consent_verified')
      expectUnproven(
        await ask(owner.apiKey, {
          inputs: await consentSignals(app, owner.organisationId, {}, foreignIssuer()),
        }),
        'consent_verified',
      )
    })

    it('of a key that was replaced counts until that key’s end', async () => {
      const inputs = await consentSignals(app, owner.organisationId)
      await rotateIssuer(app, 60_000)
      const body = await proven(await ask(owner.apiKey, { inputs }), 'consent_verified', true)
      clock.offsetMs = 61_000
      expect(await isVerifiedLater(body)).to.deep.equal(['ISSUER_UNKNOWN'])
      expectUnproven(await ask(owner.apiKey, { inputs }), 'consent_verified')
    })

    it('is asked in exactly one form, of its type', async () => {
      const inputs = await consentSignals(app, owner.organisationId)
      for (const body of [
        {},
        { consentId: 'con_1', purpose: 'marketing' },
        { consentId: 'cns_00000000000000000000000000' },
        { receipt: 'a.b.c', purpose: 'marketing', inputs },
        { consentId: 'cns_00000000000000000000000000', purpose: 'marketing', inputs },
        { receipt: 'a.b.c', purpose: 5 },
        { purpose: 'marketing' },
        { inputs: { ...inputs, purpose: '0' } },
        { inputs: { ...inputs, purposes: [] } },
        { inputs: { ...inputs, purposes: Array(9).fill('1') } },
        { inputs: { ...inputs, from: 0 } },
      ]) {
        const answer = await ask(owner.apiKey, body)
        expect(answer.status, JSON.stringify(body)).to.equal(422)
      }
    })
  })

  describe('kyc, which the proof routes alone know', () => {
    const ask = (inputs: object, context?: object) =>
      postGenerate(app, owner.apiKey, { circuit_id: 'kyc', inputs, ...(context && { context }) })

    onEmbedded.it('proves that a credential has level, age and country, or has not', async () => {
      const inputs = await kycSignals(app, owner.organisationId, { subject: 77n })
      const { status, body } = await ask(inputs, { purpose: 'door' })
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body.decision).to.equal(1)
      const scope = scopeElement({ aud: app.url, org: owner.organisationId, purpose: 'door' })
      const signals = kyc.read(body.public_signals)
      expect(signals).to.deep.include({ minLevel: 1n, scope })
      expect(signals.person).to.equal(poseidon(POSEIDON_TAGS.SUBJECT, [77n, scope]))
      const later = await postVerifyProof(app, owner.apiKey, asPresented(body))
      expect(later.body).to.deep.include({ valid: true, verified: true, decision: 1 })
      const no = await ask({ ...inputs, countries: ['5'] })
      expect([no.status, no.body.decision]).to.deep.equal([200, 0])
    })

    it('refuses what the issuer did not sign: there is no proof of that', async () => {
      const { status, body } = await ask({
        ...(await kycSignals(app, owner.organisationId)),
        birthDate: '19800101',
      })
      expect([status, body.error, body.reason]).to.deep.equal([422, 'not_provable', 'STATEMENT_FALSE'])
      expect((await ask({ subject: '1' })).body.error).to.equal('inputs_insufficient')
    })
  })
})
