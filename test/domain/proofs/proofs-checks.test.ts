/** What is wrong with a proof is told by a reason, one for each thing that is wrong, and never by an exception. */
import { bn254 } from '@noble/curves/bn254.js'
import { expect } from 'chai'
import { groth16 } from 'snarkjs'
import { prepareCurve } from '../../../src/bin/circuits/curve.ts'
import { type Caller, systemCaller } from '../../../src/caller.ts'
import type { WitnessInput } from '../../../src/circuits/circuit.ts'
import { FIELD_MODULUS as R } from '../../../src/core/field.ts'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import type { Prepared, ProofBinding } from '../../../src/domain/proofs/statement.ts'
import { encodeZk1, type SnarkProof } from '../../../src/protocol/zk1.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { artifacts } from '../../support/circuits/circuits.ts'
import {
  ADULT_INPUTS,
  asPresented,
  asText,
  entriesOf,
  generated,
  postSimpleVerify,
  postVerifyProof,
  reasonsOf,
} from '../../support/domain/proof-api.ts'
import { pointOutsideOfSubgroup, rerandomise } from '../../support/reference/groth16.ts'

const P = bn254.fields.Fp.ORDER
const START = Date.parse('2026-06-01T12:00:00Z')

const memory = (data: Uint8Array) => ({ type: 'mem', data: new Uint8Array(data) }) as const

const plus = (text: string | undefined, more: bigint): string => String(BigInt(text ?? '') + more)

describe('checking proofs', function () {
  this.timeout(60_000)
  let now = START
  let app: TestApp
  let owner: TestOrganisation
  let caller: Caller
  let made: ProofGenerated
  let other: ProofGenerated
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    owner = await app.organisation()
    caller = systemCaller(owner.organisationId, 'test')
    made = await generated(app, owner.apiKey)
    other = await generated(app, owner.apiKey)
  })
  after(() => app.close())
  beforeEach(() => {
    now = START
  })

  const check = async (changes: object) => {
    const { status, body } = await postVerifyProof(app, owner.apiKey, { ...asPresented(made), ...changes })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const refusal = async (changes: object): Promise<string> => {
    const { valid, verified, decision, digest, reason_codes } = await check(changes)
    expect({ valid, verified, decision, digest }).to.deep.equal({
      valid: false,
      verified: false,
      decision: null,
      digest: null,
    })
    return reason_codes.join()
  }
  /** Valid, and not verified for this alone. */
  const onlyFault = async (presented: object, of = owner): Promise<string> => {
    const { status, body } = await postVerifyProof(app, of.apiKey, presented)
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({ valid: true, verified: false })
    return body.reason_codes.join()
  }
  const g1 = (index: number, more: bigint): SnarkProof['pi_a'] =>
    made.proof.pi_a.with(index, plus(made.proof.pi_a[index], more))

  describe('not even valid', () => {
    it('is a signal that was altered, wherever it stands', async () => {
      for (const index of made.public_signals.keys()) {
        const public_signals = made.public_signals.with(index, plus(made.public_signals[index], 1n))
        expect(await refusal({ public_signals })).to.equal('PROOF_INVALID')
      }
    })

    it('is a signal too few or too many', async () => {
      expect(await refusal({ public_signals: made.public_signals.slice(1) })).to.equal('SIGNAL_COUNT')
      expect(await refusal({ public_signals: [...made.public_signals, '0'] })).to.equal('SIGNAL_COUNT')
      expect(await refusal({ public_signals: [] })).to.equal('SIGNAL_COUNT')
      expect(await refusal({ public_signals: undefined })).to.equal('SIGNAL_COUNT')
    })

    it('is a signal in another form than the canonical one', async () => {
      const [decision, ...rest] = made.public_signals
      for (const form of [plus(decision, R), String(R), `0${decision}`, '0x1', '-1', '1.0', ' 1', '', 'one'])
        expect(await refusal({ public_signals: [form, ...rest] }), form).to.equal('SIGNAL_NOT_CANONICAL')
    })

    it('is a coordinate out of range, or a point off the curve', async () => {
      expect(await refusal({ proof: { ...made.proof, pi_a: g1(0, P) } })).to.equal('COORDINATE_NOT_CANONICAL')
      expect(await refusal({ proof: { ...made.proof, pi_a: g1(1, 1n) } })).to.equal('POINT_NOT_ON_CURVE')
    })

    it('is a point outside of the subgroup, as JSON and as text', async () => {
      const proof = { ...made.proof, pi_b: pointOutsideOfSubgroup() }
      expect(await refusal({ proof })).to.equal('POINT_NOT_IN_SUBGROUP')
      const text = encodeZk1(proof, made.public_signals)
      expect(await refusal({ proof: text })).to.equal('POINT_NOT_IN_SUBGROUP')
      expect(await refusal({ proof: text, public_signals: undefined })).to.equal('POINT_NOT_IN_SUBGROUP')
    })

    it('is whatever is no proof at all', async () => {
      const { pi_a: _, ...without } = made.proof
      for (const proof of [
        null,
        7,
        [],
        {},
        'zk1.',
        'zk1.AAAA',
        'proof',
        without,
        { ...made.proof, curve: 'x' },
      ])
        expect(await refusal({ proof }), JSON.stringify(proof)).to.equal('PROOF_MALFORMED')
    })

    it('is a text whose signals are not those beside it', async () => {
      expect(await refusal({ proof: asText(made), public_signals: other.public_signals })).to.equal(
        'SIGNALS_MISMATCH',
      )
    })

    it('is a proof of nobody knows what circuit', async () => {
      const unknown = { proof_id: undefined, circuit_id: 'nil' }
      expect(await refusal(unknown)).to.equal('CIRCUIT_UNKNOWN')
      const missing = { proof_id: 'prf_0', circuit_id: undefined }
      expect(await refusal(missing)).to.equal('PROOF_UNKNOWN')
    })
  })

  describe('verified', () => {
    it('is the proof as a text, which needs no signals beside it', async () => {
      expect(await check({ proof: asText(made), public_signals: undefined })).to.include({ verified: true })
    })

    it('is a proof without its id, found by its signals', async () => {
      const { proof, public_signals: publicInputs } = made
      const found = await postSimpleVerify(app, owner.apiKey, { proof, publicInputs })
      expect(found.body).to.include({ verified: true, decision: 1 })
    })

    it('is a proof made anew from another, under the same digest', async () => {
      const { verificationKey } = artifacts.yesno
      const proof = rerandomise(verificationKey, made.proof, 123456789n, 987654321n)
      expect(proof.pi_a).not.to.deep.equal(made.proof.pi_a)
      expect(await check({ proof })).to.include({ verified: true, digest: made.digest })
    })

    it('is a proof of the same signals that snarkjs made', async () => {
      const seen: WitnessInput[] = []
      const prepared = await app.services.proofs.prepare(caller, 'yesno', structuredClone(ADULT_INPUTS))
      const own = await app.services.proofs.generate(
        caller,
        {
          circuitId: 'yesno',
          category: 'proof',
          prepared: {
            ...prepared,
            signals(binding) {
              const signals = prepared.signals(binding)
              seen.push(signals.witness)
              return signals
            },
          },
        },
        (proof) => proof,
      )
      const { wasm, zkey } = artifacts.yesno
      // Without it snarkjs starts threads for a curve of its own.
      await prepareCurve()
      const theirs = await groth16.fullProve({ ...seen[0] }, memory(wasm), memory(zkey))
      expect(theirs.publicSignals).to.deep.equal(own.publicSignals)
      const presented = { proof_id: own.proofId, proof: theirs.proof, public_signals: theirs.publicSignals }
      expect(await reasonsOf(app, owner.apiKey, presented)).to.deep.equal([])
    })

    it('leaves an entry; what is only valid leaves none', async () => {
      const fresh = await generated(app, owner.apiKey)
      const presented = asPresented(fresh)
      await reasonsOf(app, owner.apiKey, presented)
      await reasonsOf(app, owner.apiKey, presented)
      await onlyFault({ ...presented, circuit_id: 'simple_yesno' })
      const types = (await entriesOf(app, fresh.proof_id)).map(({ type, digest }) => [type, digest])
      expect(types).to.deep.equal(['prove', 'verify', 'verify'].map((type) => [type, fresh.digest]))
    })
  })

  describe('valid and no more', () => {
    it('PROOF_UNKNOWN: a proof of another organisation, or under an id that is nobody’s', async () => {
      const stranger = await app.organisation()
      expect(await onlyFault(asPresented(made), stranger)).to.equal('PROOF_UNKNOWN')
      expect(await onlyFault({ ...asPresented(made), proof_id: undefined }, stranger)).to.equal(
        'PROOF_UNKNOWN',
      )
      expect(await onlyFault({ ...asPresented(made), proof_id: 'prf_0' })).to.equal('PROOF_UNKNOWN')
    })

    it('SIGNALS_MISMATCH: another good proof under this id', async () => {
      expect(await onlyFault({ ...asPresented(other), proof_id: made.proof_id })).to.equal('SIGNALS_MISMATCH')
    })

    it('CIRCUIT_MISMATCH: another circuit was named', async () => {
      expect(await onlyFault({ ...asPresented(made), circuit_id: 'kyc' })).to.equal('CIRCUIT_MISMATCH')
    })

    it('EXPIRED: from the second on in which its time is over', async () => {
      const brief = await generated(app, owner.apiKey, {
        circuit_id: 'yesno',
        inputs: ADULT_INPUTS,
        context: { ttl: 60 },
      })
      now = START + 59_999
      expect(await reasonsOf(app, owner.apiKey, asPresented(brief))).to.deep.equal([])
      now = START + 60_000
      expect(await onlyFault(asPresented(brief))).to.equal('EXPIRED')
    })

    /** A stored proof whose statement or signals are made other than they should be. */
    const crooked = async (
      statement: (good: Prepared['statement']) => Prepared['statement'],
      bind: (binding: ProofBinding) => ProofBinding = (binding) => binding,
    ) => {
      const good = await app.services.proofs.prepare(caller, 'yesno', structuredClone(ADULT_INPUTS))
      const prepared: Prepared = {
        statement: statement(good.statement),
        signals: (binding) => good.signals(bind(binding)),
      }
      const ask = { circuitId: 'yesno', category: 'proof', prepared } as const
      const { proofId, proof, publicSignals } = await app.services.proofs.generate(
        caller,
        ask,
        (made) => made,
      )
      return { proof_id: proofId, proof, public_signals: publicSignals }
    }
    const same = (statement: Prepared['statement']) => statement

    it('STATEMENT_MISMATCH: the signals ask something else than the statement that ctx binds', async () => {
      for (const [name, value] of [
        ['op', 'lte'],
        ['op', 'nil'],
        ['operand', '7'],
      ] as const)
        expect(await onlyFault(await crooked((good) => ({ ...good, [name]: value })))).to.equal(
          'STATEMENT_MISMATCH',
        )
    })

    it('CONTEXT_MISMATCH: ctx is that of something else', async () => {
      const presented = await crooked(same, (binding) => ({ ...binding, ctx: binding.ctx + 1n }))
      expect(await onlyFault(presented)).to.equal('CONTEXT_MISMATCH')
    })

    it('CONTEXT_MISMATCH: what was stored was altered afterwards', async () => {
      for (const alter of [
        {
          context: {
            statement: { ...made.context.statement, rules_hash: 'other' },
            nonce: made.context.nonce,
          },
        },
        { context: { statement: made.context.statement, nonce: 'other' } },
        { expires_at: START + 3_600_000 },
      ]) {
        const row = app.services.database.knex('proofs').where({ id: made.proof_id })
        const { context, expires_at } = await row.clone().first()
        await row.clone().update(alter)
        expect(await onlyFault(asPresented(made))).to.equal('CONTEXT_MISMATCH')
        await row.clone().update({ context, expires_at })
      }
      expect(await reasonsOf(app, owner.apiKey, asPresented(made))).to.deep.equal([])
    })

    it('SCOPE_MISMATCH: the nullifier belongs elsewhere', async () => {
      const presented = await crooked(same, (binding) => ({ ...binding, scope: binding.scope + 1n }))
      expect(await onlyFault(presented)).to.equal('SCOPE_MISMATCH')
    })

    describe('of a token', () => {
      const newToken = async () =>
        (
          await app.request<{ tokenId: string }>('POST', '/api/tokens/generate', {
            bearer: owner.apiKey,
            body: { subject: 'user-1', ttl: 3600 },
          })
        ).body.tokenId
      const proofOf = async (tokenId: string) =>
        asPresented(
          await generated(app, owner.apiKey, { circuit_id: 'token_validation', inputs: { tokenId } }),
        )

      it('NOW_OUT_OF_RANGE: its time is more than 120 seconds from the clock', async () => {
        // The key that signs tokens is as old as the server.
        const later = START + 600_000
        now = later
        const presented = await proofOf(await newToken())
        for (const seconds of [120, -120]) {
          now = later + seconds * 1000
          expect(await reasonsOf(app, owner.apiKey, presented), `${seconds}`).to.deep.equal([])
        }
        for (const seconds of [121, -121]) {
          now = later + seconds * 1000
          expect(await onlyFault(presented), `${seconds}`).to.equal('NOW_OUT_OF_RANGE')
        }
      })

      it('CREDENTIAL_REVOKED: the token was revoked after it was proven', async () => {
        const tokenId = await newToken()
        const presented = await proofOf(tokenId)
        expect(await reasonsOf(app, owner.apiKey, presented)).to.deep.equal([])
        await app.request('POST', '/api/tokens/revoke', { bearer: owner.apiKey, body: { tokenId } })
        expect(await onlyFault(presented)).to.equal('CREDENTIAL_REVOKED')
      })
    })
  })
})
