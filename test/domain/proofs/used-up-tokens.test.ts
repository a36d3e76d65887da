/** A token that its issuer has used up counts for nobody else either, also where that happens while a proof of it is looked at. */
import { expect } from 'chai'
import type { Credential } from '../../../src/circuits/credential.ts'
import { createHolder } from '../../../src/circuits/holder.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  answerWith,
  challengeRoutesOf,
  type Holding,
  type Presented,
} from '../../support/domain/presentations.ts'
import { asPresented, generated, postSync, postVerifyProof } from '../../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'

describe('proofs of another organisation’s token', function () {
  this.timeout(120_000)
  let app: TestApp
  let issuer: TestOrganisation
  let asker: TestOrganisation
  let isSet: TestApp['services']['statuses']['isSet']
  let holding: Holding
  /** Uses the token up at its issuer. */
  let useUp: () => Promise<{ status: number }>
  before(async () => {
    app = await startTestApp()
    ;({ isSet } = app.services.statuses)
    issuer = await app.organisation()
    asker = await app.organisation()
  })
  after(() => app.close())
  beforeEach(async () => {
    const holder = createHolder({ organisation: issuer.organisationId })
    const tokens = tokenRoutesOf(app, issuer.apiKey)
    const issued = await tokens.issued({ singleUse: true, holder: holder.holder })
    holding = { holder, credential: issued.credential as Credential<'token_validation'> }
    useUp = () => tokens.validate({ token: issued.token, consume: true })
  })
  afterEach(() => {
    Object.assign(app.services.statuses, { isSet })
  })

  const asked = async (by = asker) => {
    const routes = challengeRoutesOf(app, by.apiKey)
    const { challenge_id: id, context } = await routes.asked({
      circuit_id: 'token_validation',
      inputs: {},
      purpose: 'entry',
      issuers: [issuer.organisationId],
    })
    const made = await answerWith(holding, context, Date.now())
    return { made, answer: () => routes.answer(id, made), told: async () => (await routes.find(id)).body }
  }
  const verify = (made: Presented, more: object = {}, by = asker) =>
    postVerifyProof(app, by.apiKey, { ...made, ...more })
  /** As the asker has it on record. */
  const recorded = async () => {
    const { made } = await asked()
    const { body } = await verify(made)
    expect(body.verified, JSON.stringify(body)).to.equal(true)
    const { circuit_id, proof, public_signals } = made
    return { proof_id: String(body.proof_id), circuit_id, proof, public_signals }
  }
  /** Uses it up after all was looked up for a proof, before it is decided. */
  const usedUpMeanwhile = (): void => {
    Object.assign(app.services.statuses, {
      isSet: async (status: number) => {
        Object.assign(app.services.statuses, { isSet })
        const found = await isSet(status)
        expect((await useUp()).status).to.equal(200)
        return found
      },
    })
  }

  it('answer no challenge once its issuer used it up, and are not spent', async () => {
    const { made, answer, told } = await asked()
    expect((await useUp()).status).to.equal(200)
    expect((await answer()).status).to.equal(200)
    expect(await told()).to.deep.include({ state: 'open', reason_codes: ['DOUBLE_SPEND'], result: null })
    const { status, body } = await verify(made, { consume: true })
    expect([status, body.error, body.reason]).to.deep.equal([409, 'double_spend', 'DOUBLE_SPEND'])
    expect((await ticketRoutesOf(app, asker.apiKey).handIn([made])).status).to.equal(409)
  })

  it('nor once its issuer spent a proof of it', async () => {
    const own = await asked(issuer)
    expect((await verify(own.made, { consume: true }, issuer)).body.consumed).to.equal(true)
    const { made } = await asked()
    expect((await verify(made)).body).to.deep.include({ verified: false, reason_codes: ['DOUBLE_SPEND'] })
  })

  it('that are on record count no more then, nor do their aggregates', async () => {
    const known = await recorded()
    const inputs = { proofIds: [known.proof_id] }
    const { proof_id, proof, public_signals } = await generated(app, asker.apiKey, {
      circuit_id: 'proof_aggregation',
      inputs,
    })
    const aggregate = { proof_id, proof, public_signals }
    await useUp()
    const reasons = async (body: object) => (await postVerifyProof(app, asker.apiKey, body)).body.reason_codes
    expect(await reasons(known)).to.deep.equal(['DOUBLE_SPEND'])
    expect(await reasons(aggregate)).to.deep.equal(['MEMBER_0_DOUBLE_SPEND'])
  })

  it('that another asker spent are known to them alone', async () => {
    const { made } = await asked()
    expect((await verify(made, { consume: true })).body.consumed).to.equal(true)
    const other = await app.organisation()
    const theirs = await asked(other)
    expect((await verify(theirs.made, { consume: true }, other)).body.consumed).to.equal(true)
    expect((await useUp()).status).to.equal(200)
  })

  it('are not verified where it is used up while they are looked at, by a challenge or by the asker', async () => {
    const { made, answer, told } = await asked()
    usedUpMeanwhile()
    await answer()
    expect(await told()).to.deep.include({ state: 'open', reason_codes: ['DOUBLE_SPEND'], result: null })
    expect((await verify(made)).body.reason_codes).to.deep.equal(['DOUBLE_SPEND'])
  })

  it('are not spent where it is used up meanwhile', async () => {
    const { made } = await asked()
    usedUpMeanwhile()
    const { status, body } = await verify(made, { consume: true })
    expect([status, body.error]).to.deep.equal([409, 'double_spend'])
  })

  it('are not spent at the gate where it is used up meanwhile, beside another that is', async () => {
    const { made } = await asked()
    usedUpMeanwhile()
    const other = await generated(app, asker.apiKey)
    const { body } = await ticketRoutesOf(app, asker.apiKey).handIn([made, asPresented(other)])
    expect(body.results.map(({ status }) => status)).to.deep.equal(['DOUBLE_SPEND', 'spent'])
  })

  it('are not verified in an upload where it is used up meanwhile', async () => {
    const { proof_id: proofId, proof, public_signals: publicInputs } = await recorded()
    usedUpMeanwhile()
    const { body } = await postSync(app, asker.apiKey, [{ proofId, proof, publicInputs }])
    expect(body.errors).to.deep.equal([{ index: 0, proofId, reasonCodes: ['DOUBLE_SPEND'] }])
  })

  it('spend no aggregate where it is used up meanwhile', async () => {
    const known = await recorded()
    const made = await generated(app, asker.apiKey, {
      circuit_id: 'proof_aggregation',
      inputs: { proofIds: [known.proof_id] },
    })
    usedUpMeanwhile()
    const { proof_id, proof, public_signals } = made
    const { body } = await postVerifyProof(app, asker.apiKey, {
      proof_id,
      proof,
      public_signals,
      consume: true,
    })
    expect(body).to.deep.include({ consumed: false, reason_codes: ['MEMBER_0_DOUBLE_SPEND'] })
  })
})
