/** What the service checks of proofs about the ledger besides the pairing: the root, and what was required. */
import { expect } from 'chai'
import { auditProof } from '../../../src/circuits/mappers/audit_proof.ts'
import {
  type HybridTokenTerms,
  hybridTokenNullifier,
  POLICY_BITS,
  quantumSafeToken,
} from '../../../src/circuits/mappers/quantum_safe_token.ts'
import type { Checked, Prepared, Stated } from '../../../src/domain/proofs/statement.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { logHybridToken } from '../../support/circuits/circuit-fixtures.ts'
import { auditProofValues } from '../../support/circuits/inputs/audit_proof.ts'
import { writeEntry } from '../../support/domain/audit-proofs.ts'
import { asPresented, generated, postGenerate, postVerifyProof } from '../../support/domain/proof-api.ts'
import { randomElement } from '../../support/elements.ts'
import { callerOf } from '../../support/ledger.ts'

const LATER = 4_102_444_800n

describe('proofs about the ledger', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })

  /** Makes and records a proof of what `prepare` would never prepare, and has it verified. */
  const reasonsOf = async (circuitId: string, prepared: Prepared) => {
    const { proofs } = app.services
    const ask = { circuitId, prepared, category: 'proof' as const }
    const caller = callerOf(owner.organisationId)
    const made = await proofs.generate(caller, ask, (proof) => proof)
    const { body } = await postVerifyProof(app, owner.apiKey, {
      proof_id: made.proofId,
      circuit_id: circuitId,
      proof: made.proof,
      public_signals: made.publicSignals,
    })
    expect(body.valid).to.equal(true)
    expect(body.verified).to.equal(body.reason_codes.length === 0)
    return body.reason_codes
  }
  const caller = () => callerOf(owner.organisationId)
  /** What the circuit's native checks say, without a proof. */
  const check = async (circuitId: string, publicSignals: readonly string[], statement: Stated) => {
    const { services } = app
    const asked = { caller: caller(), publicSignals, statement, now: services.clock.now() }
    // These checks look at nothing else of a stored proof.
    return services.proofs.statement(circuitId).check(asked as Checked)
  }

  describe('audit_proof', () => {
    it('are verified about a root that the log holds, and not about any other', async () => {
      const { proofs } = app.services
      const index = await writeEntry(app, owner.apiKey)
      const prepared = await proofs.prepare(caller(), 'audit_proof', { index })
      expect(await reasonsOf('audit_proof', prepared)).to.deep.equal([])
      const { statement } = prepared
      const { publicSignals } = prepared.signals({ ctx: 1n, scope: 1n, salt: 1n, now: 1n })
      expect(await check('audit_proof', publicSignals, statement)).to.deep.equal([])
      for (const changes of [
        { shard: Number(statement.shard) + 1 },
        { shard_size: Number(statement.shard_size) + 1 },
        { root_index: index },
        { shard: null },
        { shard: '0' },
        { shard: 0.5 },
        { shard: -1 },
        { root_index: 2 ** 60 },
        { log: 1 },
        { log: 40_000 },
        { log: -1 },
        { log: 0.5 },
        { log: '0' },
        { log: null },
      ] as Stated[])
        expect(await check('audit_proof', publicSignals, { ...statement, ...changes })).to.deep.equal([
          'ROOT_UNKNOWN',
        ])
      const elsewhere: Prepared = {
        statement,
        signals({ ctx, salt }) {
          const values = auditProofValues({ ctx, salt })
          return {
            publicSignals: auditProof.publicSignals(values),
            witness: auditProof.witnessInput(values),
          }
        },
      }
      expect(await reasonsOf('audit_proof', elsewhere)).to.deep.equal(['ROOT_UNKNOWN'])
    })

    it('need either an index or a digest', async () => {
      for (const inputs of [{}, { index: 1, digest: 'ab' }]) {
        const { status } = await postGenerate(app, owner.apiKey, { circuit_id: 'audit_proof', inputs })
        expect(status).to.equal(422)
      }
      const inputs = { index: 1_000_000_000 }
      expect((await postGenerate(app, owner.apiKey, { circuit_id: 'audit_proof', inputs })).status).to.equal(
        404,
      )
    })
  })

  describe('quantum_safe_token', () => {
    const newToken = (changes: Partial<HybridTokenTerms> = {}): HybridTokenTerms => ({
      tokenDigest: randomElement(),
      decision: 1n,
      exp: LATER,
      policyBits: POLICY_BITS.hybrid,
      salt: randomElement(),
      ...changes,
    })
    const inputsOf = (index: number, token: HybridTokenTerms, requiredBits: bigint = POLICY_BITS.pq) => ({
      index,
      requiredBits: String(requiredBits),
      ...Object.fromEntries(Object.entries(token).map(([name, value]) => [name, String(value)])),
    })
    const logged = async (changes: Partial<HybridTokenTerms> = {}) => {
      const token = newToken(changes)
      return { token, index: await logHybridToken(app, owner.organisationId, token) }
    }
    const generate = (inputs: object) =>
      postGenerate(app, owner.apiKey, { circuit_id: 'quantum_safe_token', inputs })

    it('say whether a logged token is decided, unexpired and signed as required', async () => {
      for (const [changes, required, decision] of [
        [{}, POLICY_BITS.hybrid, 1],
        [{ policyBits: POLICY_BITS.pq }, POLICY_BITS.hybrid, 0],
        [{ exp: 1n }, POLICY_BITS.pq, 0],
      ] as const) {
        const { token, index } = await logged(changes)
        const { status, body } = await generate(inputsOf(index, token, required))
        expect(status, JSON.stringify(body)).to.equal(200)
        expect(body.decision).to.equal(decision)
        const verified = await postVerifyProof(app, owner.apiKey, asPresented(body))
        expect(verified.body).to.include({ valid: true, verified: true, decision })
      }
    })

    it('are not made of another token than the entry commits to, nor of another entry', async () => {
      const { token, index } = await logged()
      for (const changes of [
        { tokenDigest: token.tokenDigest + 1n },
        { decision: 0n },
        { exp: token.exp + 1n },
        { policyBits: POLICY_BITS.pq },
        { salt: token.salt + 1n },
      ]) {
        const { status, body } = await generate(inputsOf(index, { ...token, ...changes }))
        expect([status, body.reason]).to.deep.equal([422, 'STATEMENT_FALSE'])
      }
      const other = await writeEntry(app, owner.apiKey)
      const { status, body } = await generate(inputsOf(other, token))
      expect([status, body.reason]).to.deep.equal([422, 'STATEMENT_FALSE'])
      const stranger = await app.organisation()
      const theirs = { circuit_id: 'quantum_safe_token', inputs: inputsOf(index, token) }
      expect((await postGenerate(app, stranger.apiKey, theirs)).status).to.equal(404)
    })

    it('are not made of values that no token has, and the answer names them', async () => {
      const { token, index } = await logged()
      for (const [name, value] of [
        ['policyBits', '4'],
        ['requiredBits', '4'],
        ['exp', String(1n << 64n)],
        ['decision', '2'],
        ['salt', '01'],
        ['tokenDigest', '9'.repeat(77)],
      ] as const) {
        const { status, body } = await generate({ ...inputsOf(index, token), [name]: value })
        expect([status, body.details?.[0]?.path]).to.deep.equal([422, `/inputs/${name}`])
      }
    })

    it('are verified only with what was required, about a root that the log holds', async () => {
      const { token, index } = await logged()
      const prepared = await app.services.proofs.prepare(
        caller(),
        'quantum_safe_token',
        inputsOf(index, token, POLICY_BITS.classical),
      )
      expect(await reasonsOf('quantum_safe_token', prepared)).to.deep.equal([])
      const { statement } = prepared
      const { publicSignals } = prepared.signals({ ctx: 1n, scope: 1n, salt: 1n, now: 1n })
      for (const [changes, reasons] of [
        [{}, []],
        [{ required_bits: '3' }, ['REQUIREMENT_MISMATCH']],
        [{ required_bits: null }, ['REQUIREMENT_MISMATCH']],
        [{ root_index: index }, ['ROOT_UNKNOWN']],
      ] as const)
        expect(await check('quantum_safe_token', publicSignals, { ...statement, ...changes })).to.deep.equal(
          reasons,
        )
    })

    it('are verified only near the time that they were made for', async () => {
      const { token, index } = await logged()
      const prepared = await app.services.proofs.prepare(
        caller(),
        'quantum_safe_token',
        inputsOf(index, token),
      )
      const at = (difference: bigint): Prepared => ({
        ...prepared,
        signals: (binding) => prepared.signals({ ...binding, now: binding.now + difference }),
      })
      expect(await reasonsOf('quantum_safe_token', at(-100n))).to.deep.equal([])
      for (const far of [-130n, 130n])
        expect(await reasonsOf('quantum_safe_token', at(far))).to.deep.equal(['NOW_OUT_OF_RANGE'])
    })

    it('of one token are spent once, by the nullifier that belongs to it', async () => {
      const { token, index } = await logged()
      const body = { circuit_id: 'quantum_safe_token', inputs: inputsOf(index, token) }
      const [first, second] = [
        await generated(app, owner.apiKey, body),
        await generated(app, owner.apiKey, body),
      ]
      expect(first.digest).to.not.equal(second.digest)
      const nullifier = hybridTokenNullifier(token)
      for (const { public_signals } of [first, second])
        expect(quantumSafeToken.read(public_signals).nullifier).to.equal(nullifier)
      const spend = (proof: typeof first) =>
        postVerifyProof(app, owner.apiKey, { ...asPresented(proof), consume: true })
      expect((await spend(first)).body).to.include({ verified: true })
      const again = await spend(second)
      expect([again.status, again.body.reason]).to.deep.equal([409, 'DOUBLE_SPEND'])
    })
  })
})
