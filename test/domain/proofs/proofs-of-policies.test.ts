/** A policy has the last word over what the circuit alone shows: its NO is told as one, wherever its proof is presented. */
import { expect } from 'chai'
import type { VerifyProofRequest } from '../../../src/domain/proofs/schemas.ts'
import type { ListedProof } from '../../../src/domain/proofs/schemas-list.ts'
import { createPolicyVerification } from '../../../src/domain/verification/policy-verification.ts'
import type { PolicyVerification } from '../../../src/domain/verification/schemas-v1.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { postV1Verify } from '../../support/domain/eligibility.ts'
import {
  asPresented,
  generated,
  postGenerate,
  postSimpleVerify,
  postSync,
  postVerifyProof,
} from '../../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import { callerOf } from '../../support/ledger.ts'
import { listOf } from '../../support/lists.ts'

describe('a proof that a policy said NO to', function () {
  this.timeout(120_000)
  let app: TestApp
  let owner: TestOrganisation
  let key: string
  let asked: (amount: number) => { circuit_id: string; identifier: string; context: object }
  before(async () => {
    app = await startTestApp()
    owner = await app.organisation()
    key = owner.apiKey
    await generated(app, key)
    const { body } = await app.request<{ entries: { index: number }[] }>('GET', '/api/audit', { key })
    const inputs = { index: body.entries[0]?.index }
    // The default policy permits amounts above zero; the circuit holds either way, and has no `now`.
    asked = (amount) => ({
      circuit_id: 'audit_proof',
      identifier: 'c',
      context: { amount, currency: 'GBP', inputs },
    })
  })
  after(() => app.close())

  const told = async (amount: number): Promise<PolicyVerification> => {
    const { status, body } = await postV1Verify(app, key, asked(amount))
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  /** As they were made before the verdict was part of the statement. */
  const toldBefore = (amount: number): Promise<PolicyVerification> => {
    const { proofs, policies, verification } = app.services
    const before = createPolicyVerification({
      verification,
      policies,
      baseUrl: app.url,
      proofs: {
        ...proofs,
        make(caller, { prepared, ...ask }) {
          const { policy_version: _, policy_verdict: __, ...statement } = prepared.statement
          return proofs.make(caller, { ...ask, prepared: { ...prepared, statement } })
        },
      },
    })
    return before.verify(callerOf(owner.organisationId), asked(amount))
  }
  const presentedOf = ({ proof_id, circuit_id, proof, public_signals }: PolicyVerification) => ({
    proof_id,
    circuit_id,
    proof,
    public_signals,
  })
  const simple = ({ proof_id: proofId, proof, public_signals }: PolicyVerification): VerifyProofRequest => ({
    proofId,
    proof,
    publicInputs: public_signals,
  })
  const postAggregate = (proofIds: readonly string[]) =>
    postGenerate(app, key, { circuit_id: 'proof_aggregation', inputs: { proofIds } })

  for (const [when, make] of [
    ['now', told],
    ['before statements told the verdict', toldBefore],
  ] as const)
    it(`shows decision 0 everywhere, and opens nothing; made ${when}`, async () => {
      const no = await make(0)
      expect(no).to.include({ decision: 0, verdict: 'NO' })
      const checked = await postVerifyProof(app, key, presentedOf(no))
      expect(checked.body).to.deep.include({
        valid: true,
        verified: false,
        decision: 0,
        reason_codes: ['POLICY_NO'],
      })
      const list = listOf<ListedProof, 'proofs'>(app, key, '/console/api/proofs', 'proofs')
      expect((await list.rows('decision=NO')).map(({ proofId }) => proofId)).to.include(no.proof_id)
      const again = await app.services.proofs.recorded(callerOf(owner.organisationId), no.proof_id)
      expect(again.decision).to.equal(0)
      const consumed = await postVerifyProof(app, key, { ...presentedOf(no), consume: true })
      expect(consumed.body).to.deep.include({
        verified: false,
        decision: 0,
        consumed: false,
        reason_codes: ['POLICY_NO', 'DECISION_NO'],
      })
      expect((await postSimpleVerify(app, key, simple(no))).body).to.deep.equal({
        valid: true,
        verified: false,
        decision: 0,
        reasonCodes: ['POLICY_NO'],
      })
      const { body: synced } = await postSync(app, key, [simple(no)])
      expect(synced.errors.map(({ reasonCodes }) => reasonCodes)).to.deep.equal([['POLICY_NO']])
      const { body: gate } = await ticketRoutesOf(app, key).handIn([presentedOf(no)])
      expect([gate.accepted, gate.results[0]?.status, gate.results[0]?.decision]).to.deep.equal([
        0,
        'refused',
        0,
      ])
      const { status, body: aggregate } = await postAggregate([no.proof_id])
      expect([status, aggregate.reason]).to.deep.equal([422, 'STATEMENT_FALSE'])
    })

  it('comes back with the decision that it was answered with; another one is told', async () => {
    const no = await told(0)
    const back = async (decision: 0 | 1) =>
      (await postVerifyProof(app, key, { ...presentedOf(no), decision })).body.reason_codes
    expect(await back(0)).to.deep.equal(['POLICY_NO'])
    expect(await back(1)).to.deep.equal(['POLICY_NO', 'DECISION_MISMATCH'])
  })

  it('is none where the policy said YES, also before statements told so', async () => {
    for (const make of [told, toldBefore]) {
      const yes = await make(5)
      expect(yes.decision).to.equal(1)
      const list = listOf<ListedProof, 'proofs'>(app, key, '/console/api/proofs', 'proofs')
      expect((await list.rows('decision=YES')).map(({ proofId }) => proofId)).to.include(yes.proof_id)
      const { body } = await postVerifyProof(app, key, { ...presentedOf(yes), consume: true })
      expect(body).to.deep.include({ verified: true, decision: 1, consumed: true, reason_codes: [] })
    }
  })

  it('is also what nobody knows a YES of: a result’s proof without its result', async () => {
    const yes = await toldBefore(5)
    const { knex } = app.services.database
    await knex('verifications').where({ proof_id: yes.proof_id }).delete()
    const { body } = await postVerifyProof(app, key, presentedOf(yes))
    expect(body).to.deep.include({ verified: false, decision: 0, reason_codes: ['POLICY_NO'] })
  })

  it('takes the YES from an aggregate that was attested of it, and from one of that', async () => {
    const [yes, no] = [await told(5), await toldBefore(0)]
    const { knex } = app.services.database
    const result = () => knex('verifications').where({ proof_id: no.proof_id })
    // What nothing but the circuit was asked of, so that it was attested as a YES.
    await result().update({ decision: 'YES' })
    const { body: inner } = await postAggregate([yes.proof_id, no.proof_id])
    const { body: outer } = await postAggregate([inner.proof_id])
    await result().update({ decision: 'NO' })
    for (const [made, reason] of [
      [inner, 'MEMBER_1_POLICY_NO'],
      [outer, 'MEMBER_0_MEMBER_1_POLICY_NO'],
    ] as const) {
      expect(made.decision).to.equal(1)
      const { body } = await postVerifyProof(app, key, asPresented(made))
      expect(body).to.deep.include({
        valid: true,
        verified: false,
        decision: 0,
        reason_codes: [reason],
      })
      const { body: gate } = await ticketRoutesOf(app, key).handIn([asPresented(made)])
      expect(gate.results[0]).to.include({ status: 'refused', decision: 0 })
    }
    const { body: consumed } = await postVerifyProof(app, key, { ...asPresented(inner), consume: true })
    expect(consumed).to.include({ verified: false, consumed: false, decision: 0 })
    expect((await postVerifyProof(app, key, { ...presentedOf(yes), consume: true })).body.consumed).to.equal(
      true,
    )
  })
})
