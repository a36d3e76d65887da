/** What is revoked, or recorded, after a proof was looked at, and before it is committed, is seen: by whomever. */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { createHolder } from '../../../src/circuits/holder.ts'
import type { ValidProof } from '../../../src/domain/proofs/checking.ts'
import { createLateRevocations } from '../../../src/domain/proofs/spending/late-revocations.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { asking, expectUnproven } from '../../support/circuits/circuit-questions.ts'
import { CONTROLLER, consentRoutesOf } from '../../support/domain/consents.ts'
import { postV1Verify } from '../../support/domain/eligibility.ts'
import { kycRoutesOf } from '../../support/domain/kyc.ts'
import {
  AGE_QUESTION,
  answerWith,
  challengeRoutesOf,
  type Keeper,
  keeperOf,
  proveKyc,
} from '../../support/domain/presentations.ts'
import {
  asPresented,
  entriesOf,
  generated,
  postSync,
  postVerifyProof,
} from '../../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'

describe('what changes between the look at a proof and its commit', function () {
  this.timeout(120_000)
  let app: TestApp
  let issuer: TestOrganisation
  let asker: TestOrganisation
  let keeper: Keeper
  let isSet: TestApp['services']['statuses']['isSet']
  before(async () => {
    app = await startTestApp()
    ;({ isSet } = app.services.statuses)
    issuer = await app.organisation()
    asker = await app.organisation()
  })
  after(() => app.close())
  beforeEach(async () => {
    keeper = await keeperOf(app, issuer)
  })
  afterEach(() => {
    Object.assign(app.services.statuses, { isSet })
  })

  /** Runs after a status was looked up, the next time or after so many, and before anybody hears that it isn't set. */
  const afterTheLook = (change: () => Promise<{ status: number }>, looks = 1): void => {
    let left = looks
    Object.assign(app.services.statuses, {
      isSet: async (status: number) => {
        const found = await isSet(status)
        if (--left > 0) return found
        Object.assign(app.services.statuses, { isSet })
        expect((await change()).status).to.equal(200)
        return found
      },
    })
  }
  const eraseKeeper = () => kycRoutesOf(app, issuer.apiKey).erase(keeper.userId)

  /** A proof of the issuer's credential, as the asker has it on record. */
  const recorded = async () => {
    const routes = challengeRoutesOf(app, asker.apiKey)
    const { context } = await routes.asked({ ...AGE_QUESTION, issuers: [issuer.organisationId] })
    const made = await proveKyc(keeper, context, Date.now())
    const { body } = await postVerifyProof(app, asker.apiKey, made)
    expect(body.verified, JSON.stringify(body)).to.equal(true)
    const { circuit_id, proof, public_signals } = made
    return { proof_id: String(body.proof_id), circuit_id, proof, public_signals }
  }
  const typesOf = async (proofId: string) => (await entriesOf(app, proofId)).map(({ type }) => type)

  it('keeps a proof of another organisation’s credential from being spent at the gate', async () => {
    const made = await recorded()
    const own = await generated(app, asker.apiKey)
    afterTheLook(eraseKeeper)
    const { body } = await ticketRoutesOf(app, asker.apiKey).handIn([made, asPresented(own)])
    expect(body.results.map(({ status, reason_codes }) => [status, reason_codes])).to.deep.equal([
      ['invalid', ['CREDENTIAL_REVOKED']],
      ['spent', undefined],
    ])
    expect(await typesOf(made.proof_id)).to.deep.equal(['verify'])
  })

  it('keeps a ticket for many uses from being accepted beside a proof', async () => {
    const { apiKey: key } = await app.organisation()
    const gate = ticketRoutesOf(app, key)
    const { ticket_id, qr_payload } = await gate.issued({ single_use: false })
    const { tokenId } = await tokenRoutesOf(app, key).issued()
    const made = await generated(app, key, { circuit_id: 'token_validation', inputs: { tokenId } })
    const path = `/console/api/tickets/${ticket_id}/revoke`
    afterTheLook(() => app.request('POST', path, { key, body: {} }))
    const { body } = await gate.handIn([qr_payload, asPresented(made)])
    expect(body.results.map(({ status, reason_codes }) => [status, reason_codes])).to.deep.equal([
      ['invalid', ['TICKET_REVOKED']],
      ['spent', undefined],
    ])
  })

  it('leaves a proof that is handed in its one record, where another request made that', async () => {
    const { context: asked } = await challengeRoutesOf(app, asker.apiKey).asked()
    const context = { ...asked, nonce: randomUUID() }
    const expected = {
      audience: context.aud,
      purpose: AGE_QUESTION.purpose,
      nonce: context.nonce,
      issuers: [issuer.organisationId],
    }
    const made = { ...(await proveKyc(keeper, context, Date.now())), expect: expected }
    let proofId = ''
    afterTheLook(async () => {
      const answer = await postVerifyProof(app, asker.apiKey, made)
      proofId = String(answer.body.proof_id)
      return answer
    })
    const { body } = await ticketRoutesOf(app, asker.apiKey).handIn([made])
    expect(body.results[0]).to.include({ status: 'spent' })
    expect(await typesOf(proofId)).to.deep.equal(['verify', 'spend'])
  })

  for (const consume of [false, true])
    it(`keeps one from being verified, with consume ${consume}`, async () => {
      const made = await recorded()
      afterTheLook(eraseKeeper)
      const { status, body } = await postVerifyProof(app, asker.apiKey, { ...made, consume })
      expect(status).to.equal(200)
      expect(body).to.deep.include({ verified: false, reason_codes: ['CREDENTIAL_REVOKED'] })
      expect(await typesOf(made.proof_id)).to.deep.equal(['verify'])
    })

  it('keeps an aggregate of one from being spent', async () => {
    const { proof_id } = await recorded()
    const inputs = { proofIds: [proof_id] }
    const made = await generated(app, asker.apiKey, { circuit_id: 'proof_aggregation', inputs })
    afterTheLook(eraseKeeper)
    const { body } = await postVerifyProof(app, asker.apiKey, { ...asPresented(made), consume: true })
    expect(body).to.deep.include({ consumed: false, reason_codes: ['MEMBER_0_CREDENTIAL_REVOKED'] })
  })

  it('keeps one from being verified in an upload', async () => {
    const { proof_id: proofId, proof, public_signals: publicInputs } = await recorded()
    afterTheLook(eraseKeeper)
    const { body } = await postSync(app, asker.apiKey, [{ proofId, proof, publicInputs }])
    expect(body.errors).to.deep.equal([{ index: 0, proofId, reasonCodes: ['CREDENTIAL_REVOKED'] }])
    expect(await typesOf(proofId)).to.deep.equal(['verify'])
  })

  it('keeps a circuit from answering that a token is valid', async () => {
    const tokens = tokenRoutesOf(app, asker.apiKey)
    const { tokenId } = await tokens.issued()
    afterTheLook(() => tokens.revoke(tokenId))
    const answer = await asking(app, 'token-validation')(asker.apiKey, { tokenId })
    expectUnproven(answer, 'token_valid', ['CREDENTIAL_REVOKED'])
    const rows = await app.services.database
      .knex('proofs')
      .where({ organisation: asker.organisationId, circuit_id: 'token_validation' })
    expect(rows).to.deep.equal([])
  })

  it('keeps a circuit, and a policy, from saying that an aggregate of one holds', async () => {
    const { proof_id: proofId } = await recorded()
    const inputs = { proofIds: [proofId] }
    // Before the aggregate is made, and once it is.
    afterTheLook(eraseKeeper, 2)
    const answer = await asking(app, 'proof-aggregation')(asker.apiKey, inputs)
    expectUnproven(answer, 'aggregation_valid', ['MEMBER_0_CREDENTIAL_REVOKED'])
    keeper = await keeperOf(app, issuer)
    const { proof_id: another } = await recorded()
    afterTheLook(eraseKeeper, 2)
    const { body } = await postV1Verify(app, asker.apiKey, {
      circuit_id: 'proof_aggregation',
      identifier: 'ada',
      context: { amount: 1, currency: 'GBP', inputs: { proofIds: [another] } },
    })
    expect(body).to.deep.include({ decision: 0, verdict: 'NO' })
    expect(body.reason_codes.at(-1)).to.equal('MEMBER_0_CREDENTIAL_REVOKED')
  })

  describe('where one purpose of a consent is refused, which revokes no status', () => {
    const purpose = 'newsletter'
    const purposes = [purpose, 'profiling']
    let subjectId: string
    beforeEach(() => {
      subjectId = `sub-${randomUUID()}`
    })
    /** A consent of the asker's, and a proof of it. */
    const proven = async () => {
      const { consentId } = await consentRoutesOf(app, asker.apiKey).logged({ subjectId, purposes })
      const circuit_id = 'consent_verification'
      const made = await generated(app, asker.apiKey, { circuit_id, inputs: { consentId, purpose } })
      return { consentId, made }
    }
    /** What answers 201, to those who expect 200. */
    const refuse = async (key = asker.apiKey, body: object = {}) => {
      await consentRoutesOf(app, key).logged({
        subjectId,
        purposes: [purpose],
        status: 'refused',
        ...body,
      })
      return { status: 200 }
    }

    for (const consume of [false, true])
      it(`keeps a proof of it from being verified, with consume ${consume}`, async () => {
        const { made } = await proven()
        afterTheLook(refuse)
        const { body } = await postVerifyProof(app, asker.apiKey, { ...asPresented(made), consume })
        expect(body).to.deep.include({ verified: false, reason_codes: ['CONSENT_SUPERSEDED'] })
        expect(await typesOf(made.proof_id)).to.deep.equal(['prove'])
      })

    it('keeps an aggregate of one from being spent, and one at the gate', async () => {
      const { made } = await proven()
      const inputs = { proofIds: [made.proof_id] }
      const aggregate = await generated(app, asker.apiKey, { circuit_id: 'proof_aggregation', inputs })
      afterTheLook(refuse)
      const spent = await postVerifyProof(app, asker.apiKey, { ...asPresented(aggregate), consume: true })
      expect(spent.body).to.deep.include({ consumed: false, reason_codes: ['MEMBER_0_CONSENT_SUPERSEDED'] })
      const another = await proven()
      afterTheLook(refuse)
      const { body } = await ticketRoutesOf(app, asker.apiKey).handIn([asPresented(another.made)])
      expect(body.results[0]).to.deep.include({ status: 'invalid', reason_codes: ['CONSENT_SUPERSEDED'] })
    })

    it('keeps its circuit from answering that it holds', async () => {
      const { consentId } = await proven()
      afterTheLook(refuse)
      const answer = await asking(app, 'consent-verification')(asker.apiKey, { consentId, purpose })
      expectUnproven(answer, 'consent_verified', ['CONSENT_SUPERSEDED'])
    })

    it('keeps no proof from counting of another purpose, of another’s consent or for another controller', async () => {
      const changes = [
        { purposes: ['profiling'] },
        { subjectId: 'another' },
        { controller: 'https://other.example' },
      ]
      for (const change of changes) {
        const { made } = await proven()
        afterTheLook(() => refuse(asker.apiKey, change))
        const { body } = await postVerifyProof(app, asker.apiKey, asPresented(made))
        expect(body.reason_codes, JSON.stringify(change)).to.deep.equal([])
      }
    })

    it('keeps a proof of another organisation’s from being verified', async () => {
      const holder = createHolder({ organisation: issuer.organisationId })
      const { credential } = await consentRoutesOf(app, issuer.apiKey).logged({
        subjectId,
        purposes,
        holder: holder.holder,
      })
      const issuers = [issuer.organisationId]
      const { context } = await challengeRoutesOf(app, asker.apiKey).asked({
        circuit_id: 'consent_verification',
        inputs: { purpose, controller: CONTROLLER },
        purpose: 'mail',
        issuers,
      })
      const holding = { holder, credential: credential ?? expect.fail('there is no credential') }
      const made = await answerWith(holding, context, Date.now())
      afterTheLook(() => refuse(issuer.apiKey))
      const { body } = await postVerifyProof(app, asker.apiKey, made)
      expect(body).to.deep.include({ verified: false, reason_codes: ['CONSENT_SUPERSEDED'] })
    })
  })

  it('is told of statuses and nullifiers, each by its own circuit, and of what a proof stands for', async () => {
    const { database, ledger, statuses } = app.services
    const [mine, other] = [`7${Date.now()}`, `8${Date.now()}`]
    await database.knex('revoked_nullifiers').insert({
      circuit_id: 'quantum_safe_token',
      nullifier: mine,
      organisation: randomUUID(),
      revoked_at: 1,
    })
    const late = createLateRevocations({ database, ledger, statuses })
    const nullifier = (circuit: string, value: string) => ['nullifier', `${circuit}/${value}`] as const
    const [revoked, elsewhere, free] = [
      nullifier('quantum_safe_token', mine),
      nullifier('kyc', mine),
      nullifier('quantum_safe_token', other),
    ]
    const proofOf = (revocableKeys: ValidProof['revocableKeys'], members: readonly object[] = []) =>
      ({ revocableKeys, members }) as unknown as ValidProof
    late.watch(proofOf([elsewhere, free], [proofOf([revoked, ['digest', mine]])]))
    expect(late.has(revoked)).to.equal(false)
    await late.look()
    expect([revoked, elsewhere, free].map(late.has)).to.deep.equal([true, false, false])
  })

  it('is asked of the issuers of a large batch for a few proofs at a time', async () => {
    const { database, ledger, statuses } = app.services
    let asked = 0
    let running = 0
    let most = 0
    const findClaims: typeof ledger.findClaims = async (...claims) => {
      asked += 1
      running += 1
      most = Math.max(most, running)
      try {
        return await ledger.findClaims(...claims)
      } finally {
        running -= 1
      }
    }
    const late = createLateRevocations({ database, ledger: { ...ledger, findClaims }, statuses })
    const watch = (i: number) => {
      const known = { revocableKeys: [], members: [], otherSpender: issuer.organisationId }
      late.watch({ ...known, spendKeys: [['nullifier', `kyc/${i}`]] } as unknown as ValidProof)
    }
    for (let i = 0; i < 100; i++) watch(i)
    await late.look()
    expect([asked, most]).to.deep.equal([100, 8])
  })
})
