/**
 * Two server processes on one PostgreSQL: nothing of a hybrid token is remembered, so what was revoked on one of them is
 * refused by the other at once.
 */
import { expect } from 'chai'
import type { TestApp } from '../../support/app.ts'
import { asking } from '../../support/circuits/circuit-questions.ts'
import type { Client } from '../../support/client.ts'
import { hybridRoutesOf, signaturesOf, signingDevice } from '../../support/domain/hybrid-tokens.ts'
import type { Owner } from '../../support/domain/tills.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

const ROUNDS = 10
/** Fewer, for they prove something. */
const PROVEN_ROUNDS = 2
const ATTEMPTS = 20

interface Verified {
  readonly valid: boolean
  readonly verified: boolean
}

describe('hybrid tokens on two servers', () => {
  let cluster: Cluster
  let owner: Owner
  let apps: readonly [TestApp, TestApp]

  before(async function () {
    const { DATABASE_URL } = process.env
    if (!DATABASE_URL) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    // What signatures are told to be by is the address that all servers have in common.
    cluster = await startCluster(DATABASE_URL, 2, { BASE_URL: 'http://assay.example' })
    const [first, second] = cluster.clients as [Client, Client]
    const made = await first.request('POST', '/console/api/organisations', {
      key: cluster.adminKey,
      body: { name: 'cluster' },
    })
    owner = made.body as Owner
    // What these routes need of an app, a shop has.
    apps = [first, second] as unknown as readonly [TestApp, TestApp]
  })

  after(async () => {
    const codes = (await cluster?.end()) ?? []
    expect(codes.every((code) => code === 0)).to.equal(true)
  })

  const hybridAt = (app: TestApp) => hybridRoutesOf(app, owner.apiKey)
  /** The two servers, each first in turn. */
  const turn = (round: number): readonly [TestApp, TestApp] => (round % 2 === 0 ? apps : [apps[1], apps[0]])

  it('a token is valid on both, and on neither from the moment in which one of them has revoked it', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [here, there] = turn(round)
      const token = await hybridAt(here).issued()
      const reasons = async (app: TestApp) => (await hybridAt(app).validate({ token })).body.reason_codes
      // Whatever could be remembered is asked for before.
      for (const app of apps) expect(await reasons(app)).to.deep.equal([])
      expect((await tokenRoutesOf(here, owner.apiKey).revoke(token.token_id)).status).to.equal(200)
      expect(await reasons(there)).to.deep.equal(['TOKEN_REVOKED'])
      expect(await reasons(here)).to.deep.equal(['TOKEN_REVOKED'])
      const { body } = await tokenRoutesOf(there, owner.apiKey).status(token.token_id)
      expect(body.status).to.equal('revoked')
    }
  })

  it('a proof of a token that one of them revoked is verified no more by the other', async () => {
    for (let round = 0; round < PROVEN_ROUNDS; round++) {
      const [here, there] = turn(round)
      const token = await hybridAt(here).issued()
      const { body: made } = await asking(here, 'quantum-safe-token')(owner.apiKey, { token })
      expect(made.quantum_safe_valid, JSON.stringify(made)).to.equal(true)
      const { proofId: proof_id, circuit_id, proof, publicInputs: public_signals } = made
      const verified = async () => {
        const body = { proof_id, circuit_id, proof, public_signals }
        const answer = await there.request<Verified>('POST', '/v1/proofs/verify', { key: owner.apiKey, body })
        return answer.body
      }
      expect(await verified()).to.include({ valid: true, verified: true })
      await tokenRoutesOf(here, owner.apiKey).revoke(token.token_id)
      expect(await verified()).to.include({ valid: true, verified: false })
      const refused = await asking(there, 'quantum-safe-token')(owner.apiKey, { token })
      expect(refused.body).to.include({ quantum_safe_valid: false, proof: null })
    }
  })

  it('a device that one of them revoked signs nothing more on the other, nor counts what it signed', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [here, there] = turn(round)
      const device = await signingDevice(here, owner)
      const [classical, pq] = [device.classical.kid, device.pq.kid]
      const asked = { subject: 'x', alg_pq: 'Dilithium2', kid_classical: classical, kid_pq: pq }
      const signed = async () => {
        const { body: draft } = await hybridAt(here).prepare(asked)
        return { ...draft, ...signaturesOf(device, draft) }
      }
      const [used, left] = [await signed(), await signed()]
      const { body: token } = await hybridAt(there).generate(used)
      const validate = () => hybridAt(there).validate({ token, accept_signers: [device.deviceId] })
      expect((await validate()).body.reason_codes).to.deep.equal([])
      await here.request('DELETE', `/console/api/devices/${device.deviceId}`, { key: owner.apiKey })
      expect((await validate()).body.reason_codes).to.deep.equal(['CLASSICAL_KEY_UNKNOWN', 'PQ_KEY_UNKNOWN'])
      const { status, body } = await hybridAt(there).generate(left)
      expect([status, body.details?.[0]?.code]).to.deep.equal([422, 'unknown_key'])
    }
  })

  it(`one token is issued of ${ATTEMPTS} that bring the same signatures, and revoked once of as many`, async () => {
    const device = await signingDevice(apps[0], owner)
    const { body: draft } = await hybridAt(apps[0]).prepare({
      subject: 'x',
      alg_pq: 'Dilithium2',
      kid_classical: device.classical.kid,
      kid_pq: device.pq.kid,
    })
    const signed = { ...draft, ...signaturesOf(device, draft) }
    const atOnce = <T>(call: (app: TestApp) => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: ATTEMPTS }, (_, i) => call(turn(i)[0])))
    const issued = await atOnce((app) => hybridAt(app).generate(signed))
    expect(issued.filter(({ status }) => status === 201)).to.have.length(1)
    expect(issued.filter(({ status }) => status === 409)).to.have.length(ATTEMPTS - 1)
    const revoked = await atOnce((app) => tokenRoutesOf(app, owner.apiKey).revoke(draft.token_id))
    expect(revoked[0]?.status).to.equal(200)
    expect(new Set(revoked.map(({ body }) => JSON.stringify(body))).size).to.equal(1)
  })
})
