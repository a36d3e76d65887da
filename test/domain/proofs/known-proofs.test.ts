/** Every proof that the service makes is known to its proof API by the id that came with it, whichever route made it. */
import { expect } from 'chai'
import type { BatchOutcomes } from '../../../src/domain/tickets/schemas.ts'
import type { VerificationResult } from '../../../src/domain/verification/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { postV1Verify } from '../../support/domain/eligibility.ts'
import { ask, createProxy, sharedTarget } from '../../support/domain/hermes.ts'
import { createPod, movePod } from '../../support/domain/pods.ts'
import {
  ADULT,
  asPresented,
  PERSON,
  postGenerate,
  postSimpleVerify,
  postSync,
  postVerifyProof,
} from '../../support/domain/proof-api.ts'
import { freeOrganisation, verified } from '../../support/verification.ts'

/** A proof as its maker handed it out. */
interface Made {
  readonly proofId: string
  /** `zk1.…`, or the JSON of snarkjs beside its signals. */
  readonly proof: unknown
  readonly publicInputs?: readonly string[]
}

const LOGICS = [
  ADULT,
  { op: 'AND', children: [ADULT, { field: 'member', op: 'eq', value: true }] },
  { op: 'OR', children: [ADULT, { field: 'country', op: 'eq', value: 'FR' }] },
  { field: 'name', op: 'startsWith', value: 'A' },
]

describe('a proof of this service', function () {
  this.timeout(120_000)
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    // Targets of tests are on this machine, where routes of organisations may not go otherwise.
    app = await startTestApp({ env: { EGRESS_OPEN_PROXY: 'on' } })
    owner = await app.organisation()
  })
  after(() => app.close())

  const resultOf = async (options: object): Promise<Made> =>
    verified(app, owner.apiKey, { data: PERSON, options })
  const ofPod = async (): Promise<Made> => {
    const { podId } = await createPod(app, owner.apiKey, { rules: [ADULT] })
    await movePod(app, podId, 'ACTIVE')
    const path = `/pod/${podId}/verify`
    return (await app.request<VerificationResult>('POST', path, { key: owner.apiKey, body: PERSON })).body
  }
  const ofHermes = async (): Promise<Made> => {
    const destinationUrl = `${(await sharedTarget()).url}/members`
    const route = await createProxy(app, { destinationUrl }, owner.apiKey)
    return (await ask(app, route.slug, { name: 'Ada' }, { bearer: owner.apiKey })).body
  }
  const ofPolicy = async (): Promise<Made> => {
    const context = { amount: 5, currency: 'GBP' }
    const { body } = await postV1Verify(app, owner.apiKey, { circuit_id: 'yesno', identifier: 'c', context })
    return { proofId: body.proof_id, proof: body.proof, publicInputs: body.public_signals }
  }

  const makers: readonly (readonly [string, () => Promise<Made>])[] = [
    ...LOGICS.map((logic, i) => [`POST /verify (${i + 1})`, () => resultOf({ logic })] as const),
    ['POST /verify, with nonce and ttl', () => resultOf({ rules: [ADULT], nonce: 'n-1', ttl: 60 })],
    ['a pod', ofPod],
    ['hermes', ofHermes],
    ['POST /v1/verify', ofPolicy],
  ]
  for (const [maker, make] of makers)
    it(`of ${maker} is verified, handed in, aggregated and spent once by its id`, async () => {
      const made = await make()
      const told = { proofId: made.proofId, proof: made.proof, publicInputs: made.publicInputs }
      expect((await postSimpleVerify(app, owner.apiKey, told)).body).to.deep.equal({
        valid: true,
        verified: true,
        decision: 1,
        reasonCodes: [],
      })
      const { body: synced } = await postSync(app, owner.apiKey, [told])
      expect(synced).to.deep.include({ synced: 0, updated: 1, errors: [] })
      const { body: aggregate } = await app.request<object>('POST', '/api/circuits/proof-aggregation', {
        bearer: owner.apiKey,
        body: { proofIds: [made.proofId] },
      })
      expect(aggregate).to.include({ aggregation_valid: true })
      const presented = { proof_id: made.proofId, proof: made.proof, public_signals: made.publicInputs }
      const consume = () => postVerifyProof(app, owner.apiKey, { ...presented, consume: true })
      expect((await consume()).body).to.include({ verified: true, consumed: true })
      expect((await consume()).status).to.equal(409)
    })

  it('is unknown to another organisation', async () => {
    const { proofId, proof } = await resultOf({ rules: [ADULT] })
    const stranger = await app.organisation()
    const { body } = await postSimpleVerify(app, stranger.apiKey, { proofId, circuitId: 'yesno', proof })
    expect(body).to.deep.include({ valid: true, verified: false, reasonCodes: ['PROOF_UNKNOWN'] })
  })

  for (const [maker, make] of [
    ['POST /verify', () => verified(app, owner.apiKey, { data: PERSON, options: { rules: [ADULT] } })],
    [
      'POST /v1/verify',
      async () => {
        const context = { amount: 5, currency: 'GBP' }
        const asked = { circuit_id: 'yesno', identifier: 'c', context }
        const { body } = await postV1Verify(app, owner.apiKey, asked)
        const { verification_id: verificationId, proof_id, proof, public_signals } = body
        return { verificationId, proofId: proof_id, proof, publicInputs: public_signals }
      },
    ],
  ] as const)
    it(`of ${maker} counts nowhere once its result is withdrawn, nor does an aggregate of it`, async () => {
      const { apiKey: key } = owner
      const made: Made & { verificationId: string } = await make()
      const aggregateOf = (proofIds: string[]) =>
        postGenerate(app, key, { circuit_id: 'proof_aggregation', inputs: { proofIds } })
      const { body: aggregate } = await aggregateOf([made.proofId])
      const { verificationId } = made
      const revoked = await app.request('POST', '/verify/revoke', { key, body: { verificationId } })
      expect(revoked.status).to.equal(200)
      const presented = { proof_id: made.proofId, proof: made.proof, public_signals: made.publicInputs }
      const { status, body } = await postVerifyProof(app, key, { ...presented, consume: true })
      expect([status, body.verified, body.consumed, body.reason_codes]).to.deep.equal([
        200,
        false,
        false,
        ['RESULT_REVOKED'],
      ])
      const consumed = await postVerifyProof(app, key, { ...asPresented(aggregate), consume: true })
      expect(consumed.body).to.deep.include({ consumed: false, reason_codes: ['MEMBER_0_RESULT_REVOKED'] })
      const gate = await app.request<BatchOutcomes>('POST', '/v1/qr/proofs/batch', {
        key,
        body: { proofs: [presented] },
      })
      expect(gate.body).to.deep.include({ accepted: 0, rejected: 1 })
      expect((await aggregateOf([made.proofId])).body).to.include({ reason: 'STATEMENT_FALSE' })
    })

  it('is nobody’s where a stranger made the route: it is known to no organisation, not to the first one either', async () => {
    const destinationUrl = `${(await sharedTarget()).url}/members`
    const { slug } = await createProxy(app, { destinationUrl })
    const made = await ask(app, slug, { name: 'Ada' })
    expect(made.body.verdict).to.equal('YES')
    const { proofId, proof } = made.body
    const { knex } = app.services.database
    expect(await knex('proofs').where({ id: proofId })).to.deep.equal([])
    const key = app.adminKey
    const { body } = await postSimpleVerify(app, key, { circuitId: 'yesno', proof })
    expect(body).to.deep.include({ valid: true, verified: false, reasonCodes: ['PROOF_UNKNOWN'] })
    const presented = { circuit_id: 'yesno', proof }
    const gate = await app.request<BatchOutcomes>('POST', '/v1/qr/proofs/batch', {
      key,
      body: { proofs: [presented] },
    })
    expect(gate.body).to.deep.include({ accepted: 0, rejected: 1 })
  })

  it('is stored with its result or not at all, for one free result', async () => {
    const { apiKey, organisationId: organisation } = await freeOrganisation(app)
    const { knex } = app.services.database
    const count = async (table: string) =>
      Number((await knex(table).where({ organisation }).count({ n: '*' }).first())?.n)
    const [result, { body }] = [
      await verified(app, apiKey, { data: PERSON, options: { rules: [ADULT] } }),
      await postV1Verify(app, apiKey, { circuit_id: 'yesno', identifier: 'c' }),
    ]
    const left = await app.request<{ free: { left: number } }>('GET', '/api/usage', { bearer: apiKey })
    expect([await count('verifications'), await count('proofs')]).to.deep.equal([2, 2])
    expect(left.body.free).to.include({ used: 2 })
    const rows = await knex('proofs').where({ organisation }).select('id', 'entry_index')
    expect(rows.map(({ id }) => id)).to.have.members([result.proofId, body.proof_id])
    const indexes = await knex('verifications').where({ organisation }).pluck('entry_index')
    expect(rows.map(({ entry_index }) => entry_index)).to.have.members(indexes)
  })
})
