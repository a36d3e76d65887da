/** Entries of the ledger under their circuits, and aggregates of proofs. */
import { expect } from 'chai'
import { auditProof } from '../../../src/circuits/mappers/audit_proof.ts'
import { aggregateChain, proofAggregation } from '../../../src/circuits/mappers/proof_aggregation.ts'
import type { HybridTokenTerms } from '../../../src/circuits/mappers/quantum_safe_token.ts'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import type { ResultField } from '../../../src/domain/proofs/statements/index.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { logHybridToken } from '../../support/circuits/circuit-fixtures.ts'
import {
  asking,
  countEntries,
  expectProven,
  expectUnproven,
  movedClock,
} from '../../support/circuits/circuit-questions.ts'
import { ADULT_INPUTS, generated } from '../../support/domain/proof-api.ts'
import { randomElement } from '../../support/elements.ts'
import { signedResult } from '../../support/verification.ts'

describe('circuit routes about what is logged', function () {
  this.timeout(60_000)
  const clock = movedClock()
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await startTestApp({ clock })
    owner = await app.organisation()
  })
  after(() => app.close())

  const proven = (answer: Parameters<typeof expectProven>[1], field: ResultField, value = true) =>
    expectProven(app, answer, field, value)

  describe('audit-proof', () => {
    it('proves an entry of one’s own, named by index or digest, under the same logged root', async () => {
      const ask = asking(app, 'audit-proof')
      const { digest, merkleIndex } = await signedResult(app, owner.apiKey)
      const byDigest = await proven(await ask(owner.apiKey, { digest }), 'integrity_verified')
      const { root } = auditProof.read(byDigest.publicInputs ?? [])
      const rootBytes = root.toString(16).padStart(64, '0')
      const entries = await app.services.database
        .knex('ledger_entries')
        .where({ type: 'ledger.poseidon_root' })
      expect(entries.map(({ entry }) => entry).join()).to.contain(rootBytes)
      await proven(await ask(owner.apiKey, { inputs: { index: merkleIndex } }), 'integrity_verified')
      const stranger = await app.organisation()
      expect((await ask(stranger.apiKey, { digest })).status).to.equal(404)
      for (const body of [
        {},
        { index: 1, inputs: { digest } },
        { index: -1 },
        { digest: 'Z' },
        { inputs: {} },
      ])
        expect((await ask(owner.apiKey, body)).status, JSON.stringify(body)).to.equal(422)
    })
  })

  describe('quantum-safe-token', () => {
    const terms = (): HybridTokenTerms => ({
      tokenDigest: randomElement(),
      decision: 1n,
      exp: BigInt(Math.floor(Date.now() / 1000) + 600),
      policyBits: 3n,
      salt: randomElement(),
    })

    it('proves a logged token that has what is required, and that another has not', async () => {
      const ask = asking(app, 'quantum-safe-token')
      const token = terms()
      const index = await logHybridToken(app, owner.organisationId, token)
      const texts = Object.fromEntries(Object.entries(token).map(([name, value]) => [name, String(value)]))
      const inputs = { ...texts, index, requiredBits: '3' }
      await proven(await ask(owner.apiKey, { inputs }), 'quantum_safe_valid')
      expectUnproven(
        await ask(owner.apiKey, { inputs: { ...inputs, policyBits: '2' } }),
        'quantum_safe_valid',
      )
      clock.offsetMs = 601_000
      await proven(await ask(owner.apiKey, { inputs }), 'quantum_safe_valid', false)
      expect((await ask(owner.apiKey, { token: 'x' })).status).to.equal(422)
    })
  })

  describe('proof-aggregation', () => {
    let ask: ReturnType<typeof asking>
    let yes: ProofGenerated
    let no: ProofGenerated
    const prove = (inputs: object = ADULT_INPUTS, context?: object) =>
      generated(app, owner.apiKey, { circuit_id: 'yesno', inputs, ...(context && { context }) })
    before(async () => {
      ask = asking(app, 'proof-aggregation')
      yes = await prove()
      no = await prove({ ...ADULT_INPUTS, data: { age: 12 } })
    })

    const membersOf = (proofs: readonly ProofGenerated[]) =>
      proofs.map(({ digest, decision }) => ({
        digest: BigInt(`0x${digest.slice(0, 62)}`),
        decision: BigInt(decision),
      }))

    it('attests proofs that were verified again, and what they say', async () => {
      expect([yes.decision, no.decision]).to.deep.equal([1, 0])
      const both = await ask(owner.apiKey, { proofIds: [yes.proof_id, no.proof_id] })
      const body = await proven(both, 'aggregation_valid')
      const { point } = await app.services.issuer.current()
      expect(proofAggregation.read(body.publicInputs ?? [])).to.deep.include({
        chain: aggregateChain(membersOf([yes, no])),
        count: 2n,
        yes_count: 1n,
        all: 0n,
        attestorX: point.x,
        attestorY: point.y,
      })
      const known = await app.request('POST', '/api/proof/verify', {
        key: owner.apiKey,
        body: { proofId: body.proofId, proof: body.proof, publicInputs: body.publicInputs },
      })
      expect(known.body).to.deep.include({ valid: true, verified: true, decision: 0 })
    })

    it('attests an aggregate as a proof among others', async () => {
      const { body: first } = await ask(owner.apiKey, { inputs: { proofIds: [yes.proof_id] } })
      const body = await proven(
        await ask(owner.apiKey, { proofIds: [first.proofId, (await prove()).proof_id] }),
        'aggregation_valid',
      )
      expect(proofAggregation.read(body.publicInputs ?? [])).to.deep.include({ count: 2n, all: 1n })
    })

    it('signs nothing about a proof that is spent, expired or altered', async () => {
      const spent = await prove()
      const { proof_id, proof, public_signals } = spent
      const { status } = await app.request('POST', '/v1/proofs/verify', {
        key: owner.apiKey,
        body: { proof_id, circuit_id: 'yesno', proof, public_signals, consume: true },
      })
      expect(status).to.equal(200)
      const expiring = await prove(ADULT_INPUTS, { ttl: 60 })
      const altered = await prove()
      const { knex } = app.services.database
      const other = await knex('proofs').where({ id: yes.proof_id }).first()
      await knex('proofs').where({ id: altered.proof_id }).update({ proof: other.proof })
      const before = await countEntries(app, owner.organisationId, 'verify')
      clock.offsetMs = 61_000
      for (const bad of [spent, expiring, altered])
        expectUnproven(
          await ask(owner.apiKey, { proofIds: [yes.proof_id, bad.proof_id] }),
          'aggregation_valid',
        )
      expect(await countEntries(app, owner.organisationId, 'verify')).to.equal(before)
    })

    it('refuses two proofs of one digest: they would count twice', async () => {
      const { knex } = app.services.database
      const row = await knex('proofs').where({ id: yes.proof_id }).first()
      const twin = `prf_${'0'.repeat(26)}`
      await knex('proofs').insert({
        ...row,
        id: twin,
        context: JSON.stringify(row.context),
        public_signals: JSON.stringify(row.public_signals),
      })
      expectUnproven(await ask(owner.apiKey, { proofIds: [yes.proof_id, twin] }), 'aggregation_valid')
    })

    it('takes one to eight different proofs of the caller’s', async () => {
      const stranger = await app.organisation()
      expect((await ask(stranger.apiKey, { proofIds: [yes.proof_id] })).status).to.equal(404)
      const ids = Array.from({ length: 9 }, (_, i) => `prf_${String(i).padStart(26, '0')}`)
      for (const body of [
        {},
        { proofIds: [] },
        { proofIds: ids },
        { proofIds: [yes.proof_id, yes.proof_id] },
        { proofIds: ['x'] },
      ])
        expect((await ask(owner.apiKey, body)).status, JSON.stringify(body)).to.equal(422)
    })
  })
})
