/** A proof of a NO is a fact: it is verified like any other, accepted nowhere, and spends nothing. */
import { expect } from 'chai'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { ANNA, kycRoutesOf } from '../../support/domain/kyc.ts'
import {
  ADULT_INPUTS,
  asPresented,
  entriesOf,
  generated,
  postVerifyProof,
} from '../../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'

const CHILD_INPUTS = { ...ADULT_INPUTS, data: { age: 12 } }

describe('a proof of a NO', function () {
  this.timeout(60_000)
  let app: TestApp
  let key: string
  before(async () => {
    app = await sharedApp()
    key = (await app.organisation()).apiKey
  })

  const consume = (made: ProofGenerated) => postVerifyProof(app, key, { ...asPresented(made), consume: true })
  const expectRefused = async (made: ProofGenerated) => {
    const { status, body } = await consume(made)
    expect(status).to.equal(200)
    expect(body).to.include({ valid: true, verified: true, decision: 0, consumed: false })
    expect(body)
      .to.deep.include({ reason_codes: ['DECISION_NO'] })
      .and.not.to.have.property('consumed_at')
  }
  const expectConsumed = async (made: ProofGenerated) => {
    const { status, body } = await consume(made)
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({ verified: true, decision: 1, consumed: true })
  }

  it('is verified, and consumed as often as one likes without being spent', async () => {
    const made = await generated(app, key, { circuit_id: 'yesno', inputs: CHILD_INPUTS })
    await expectRefused(made)
    await expectRefused(made)
    const { body } = await postVerifyProof(app, key, asPresented(made))
    expect(body).to.include({ verified: true, decision: 0 }).and.not.to.have.property('consumed')
    expect(body.reason_codes).to.deep.equal([])
    const types = (await entriesOf(app, made.proof_id)).map(({ type }) => type)
    expect(types).to.deep.equal(['prove', 'verify', 'verify', 'verify'])
  })

  it("leaves a person's nullifier to the YES", async () => {
    await kycRoutesOf(app, key).verified('user-7', ANNA)
    const proofFor = (minAge: number) => {
      const inputs = { userId: 'user-7', minLevel: 'basic', minAge, countries: ['SE'] }
      return generated(app, key, { circuit_id: 'kyc', inputs })
    }
    const [no, yes] = [await proofFor(90), await proofFor(18)]
    expect([no.decision, yes.decision]).to.deep.equal([0, 1])
    await expectRefused(no)
    await expectConsumed(yes)
  })

  it('leaves a single-use token to who may use it', async () => {
    const tokens = tokenRoutesOf(app, key)
    const { token, tokenId } = await tokens.issued({ singleUse: true, audience: 'door' })
    const inputs = { tokenId, audience: 'another' }
    const no = await generated(app, key, { circuit_id: 'token_validation', inputs })
    await expectRefused(no)
    const used = await tokens.validate({ token, audience: 'door', consume: true })
    expect([used.status, used.body.valid, used.body.consumed]).to.deep.equal([200, true, true])
  })

  it('is refused at the gate, which counts and spends the YES alone', async () => {
    const gate = ticketRoutesOf(app, key)
    const no = await generated(app, key, { circuit_id: 'yesno', inputs: CHILD_INPUTS })
    const yes = await generated(app, key)
    const { qr_payload } = await gate.issued()
    const { body } = await gate.handIn([asPresented(no), asPresented(yes), qr_payload, asPresented(no)])
    expect(body).to.include({ accepted: 2, rejected: 2 })
    expect(body.results.map(({ status, decision, consumed }) => [status, decision, consumed])).to.deep.equal([
      ['refused', 0, false],
      ['spent', 1, true],
      ['spent', null, true],
      ['refused', 0, false],
    ])
    expect(body.results[0]?.reason_codes).to.deep.equal(['DECISION_NO'])
    const alone = await gate.handIn([asPresented(no)])
    expect([alone.status, alone.body.accepted]).to.deep.equal([200, 0])
  })
})
