/** What our verifier accepts, against snarkjs and a second, independent verifier. */
import { join } from 'node:path'
import { bn254 } from '@noble/curves/bn254.js'
import { expect } from 'chai'
import { groth16 } from 'snarkjs'
import { prepareCurve } from '../../src/bin/circuits/curve.ts'
import { CIRCUITS, type CircuitId } from '../../src/circuits/catalogue.ts'
import type { Proved } from '../../src/circuits/proving/groth16.ts'
import { verifyPairing } from '../../src/circuits/verifier.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { decodeZk1, encodeZk1, proofDigest, type SnarkProof } from '../../src/protocol/zk1.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { GOOD_INPUTS, goodProof } from '../support/domain/proofs.ts'
import { randomElement } from '../support/elements.ts'
import {
  g1Json,
  g2,
  g2Json,
  holdsByNoble,
  pointOutsideOfSubgroup,
  rerandomise,
} from '../support/reference/groth16.ts'

const ROOT = join(import.meta.dirname, '../..')
const P = bn254.fields.Fp.ORDER

const plus = (text: string | undefined, more: bigint): string => String(BigInt(text ?? '') + more)

describe('verifier', function () {
  this.timeout(60_000)
  before(prepareCurve)

  for (const { id, publicNames } of CIRCUITS) {
    describe(`of ${id}`, () => {
      let good: Proved
      before(async () => {
        good = await goodProof(id)
      })
      const refusal = async (
        proof: unknown,
        signals: unknown = good.publicSignals,
        circuit: CircuitId = id,
      ) => {
        const key = artifacts[circuit].verificationKey
        const verdict = await verifyPairing(key, proof as SnarkProof, signals as string[])
        return verdict.valid ? 'valid' : verdict.reason
      }

      it('accepts a good proof, and so does the independent verifier', async () => {
        expect(await refusal(good.proof)).to.equal('valid')
        expect(holdsByNoble(artifacts[id].verificationKey, good.publicSignals, good.proof)).to.equal(true)
      })

      it('refuses every other public signal, and so does the independent verifier', async () => {
        const others = [...publicNames.keys()].map((i) =>
          good.publicSignals.with(i, plus(good.publicSignals[i], 1n)),
        )
        for (const [i, signals] of others.entries())
          expect(await refusal(good.proof, signals), publicNames[i]).to.equal('PROOF_INVALID')
        // Ten times as slow, and the same for each: the first and the last will do.
        for (const signals of [others.at(0), others.at(-1)])
          expect(holdsByNoble(artifacts[id].verificationKey, signals ?? [], good.proof)).to.equal(false)
      })

      it('refuses a signal too few or too many', async () => {
        expect(await refusal(good.proof, good.publicSignals.slice(1))).to.equal('SIGNAL_COUNT')
        expect(await refusal(good.proof, [...good.publicSignals, '0'])).to.equal('SIGNAL_COUNT')
        for (const signals of [[], undefined, null, 'text', { length: publicNames.length }])
          expect(await refusal(good.proof, signals ?? null)).to.equal('SIGNAL_COUNT')
      })

      it('refuses signals in another form than the canonical decimal', async () => {
        const [first = ''] = good.publicSignals
        for (const form of [
          plus(first, R),
          `0${first}`,
          ` ${first}`,
          `${first}.0`,
          `0x${first}`,
          '-1',
          '',
          1,
          1n,
          null,
        ])
          expect(await refusal(good.proof, [form, ...good.publicSignals.slice(1)]), String(form)).to.equal(
            'SIGNAL_NOT_CANONICAL',
          )
      })

      it('refuses lists with holes, of the right length', async () => {
        const signals = [...good.publicSignals]
        delete signals[1]
        expect(await refusal(good.proof, signals)).to.equal('SIGNAL_NOT_CANONICAL')
        const pi_b = [...good.proof.pi_b]
        delete pi_b[1]
        expect(await refusal({ ...good.proof, pi_b })).to.equal('PROOF_MALFORMED')
      })

      it('refuses coordinates beyond p, which are the same point to snarkjs', async () => {
        const { pi_a, pi_b, pi_c } = good.proof
        const [[x0 = '', x1 = ''] = [], y = [], one = []] = pi_b
        for (const proof of [
          { ...good.proof, pi_a: [plus(pi_a[0], P), pi_a[1], '1'] },
          { ...good.proof, pi_a: [pi_a[0], plus(pi_a[1], P), '1'] },
          { ...good.proof, pi_b: [[plus(x0, P), x1], y, one] },
          { ...good.proof, pi_b: [[x0, plus(x1, P)], y, one] },
          { ...good.proof, pi_c: [`0${pi_c[0]}`, pi_c[1], '1'] },
        ])
          expect(await refusal(proof)).to.equal('COORDINATE_NOT_CANONICAL')
      })

      it('refuses points that are not on their curve, or not in the subgroup', async () => {
        const { pi_a, pi_b } = good.proof
        expect(await refusal({ ...good.proof, pi_a: [pi_a[0], plus(pi_a[1], 1n), '1'] })).to.equal(
          'POINT_NOT_ON_CURVE',
        )
        const [x = [], [y0 = '', y1 = ''] = [], one = []] = pi_b
        expect(await refusal({ ...good.proof, pi_b: [x, [y1, y0], one] })).to.equal('POINT_NOT_ON_CURVE')
        const outside = pointOutsideOfSubgroup()
        expect(g2(outside).isTorsionFree()).to.equal(false)
        expect(await refusal({ ...good.proof, pi_b: outside })).to.equal('POINT_NOT_IN_SUBGROUP')
      })

      it('refuses good points that are another proof', async () => {
        const { pi_a, pi_b, pi_c } = good.proof
        const base = g1Json(bn254.G1.Point.BASE)
        for (const proof of [
          { ...good.proof, pi_a: pi_c, pi_c: pi_a },
          { ...good.proof, pi_a: [pi_a[0], String(P - BigInt(pi_a[1] ?? '')), '1'] },
          { ...good.proof, pi_c: base },
          { ...good.proof, pi_b: g2Json(g2(pi_b).double()) },
        ])
          expect(await refusal(proof)).to.equal('PROOF_INVALID')
      })

      it('refuses everything else with a reason, and never by an exception', async () => {
        const { pi_a, pi_b } = good.proof
        const infinity = ['0', '1', '0']
        for (const proof of [
          undefined,
          null,
          'proof',
          7,
          [],
          {},
          { ...good.proof, protocol: 'plonk' },
          { ...good.proof, curve: 'bls12381' },
          { ...good.proof, pi_a: infinity },
          { ...good.proof, pi_a: pi_a.slice(0, 2) },
          { ...good.proof, pi_a: undefined },
          {
            ...good.proof,
            pi_b: [
              ['0', '0'],
              ['1', '0'],
              ['0', '0'],
            ],
          },
          { ...good.proof, pi_b: pi_b.map((pair) => pair.slice(1)) },
          { ...good.proof, pi_b: pi_b.map(String) },
          { ...good.proof, pi_c: { length: 3, 2: '1' } },
        ])
          expect(await refusal(proof), JSON.stringify(proof)).to.equal('PROOF_MALFORMED')
        for (const x of [1, 1n, null, {}, [], Number.NaN])
          expect(await refusal({ ...good.proof, pi_a: [x, pi_a[1], '1'] })).to.equal(
            'COORDINATE_NOT_CANONICAL',
          )
      })

      it('refuses the proof of another circuit', async () => {
        for (const other of CIRCUITS.filter((circuit) => circuit.id !== id)) {
          const signals = Array.from(
            { length: other.publicNames.length },
            (_, i) => good.publicSignals[i] ?? '0',
          )
          expect(await refusal(good.proof, signals, other.id)).to.equal('PROOF_INVALID')
        }
      })

      it('accepts a proof that a stranger made out of a good one, whose digest is the same', async () => {
        const key = artifacts[id].verificationKey
        const other = rerandomise(key, good.proof, randomElement() + 1n, randomElement() + 1n)
        expect(other.pi_a).to.not.deep.equal(good.proof.pi_a)
        expect(await refusal(other)).to.equal('valid')
        expect(holdsByNoble(key, good.publicSignals, other)).to.equal(true)
        const texts = [good.proof, other].map((proof) => encodeZk1(proof, good.publicSignals))
        expect(texts[0]).to.not.equal(texts[1])
        const digests = texts.map((text) => proofDigest(id, decodeZk1(text)?.publicSignals ?? []))
        expect(digests[0]).to.equal(digests[1])
        const signals = good.publicSignals.with(0, plus(good.publicSignals[0], 1n))
        expect(proofDigest(id, signals)).to.not.equal(digests[0])
      })

      it('keeps many verifications at a time apart', async () => {
        const bad = good.publicSignals.with(0, plus(good.publicSignals[0], 1n))
        const wanted = Array.from({ length: 8 }, (_, i) => i % 3 !== 0)
        const verdicts = await Promise.all(
          wanted.map((isGood) =>
            verifyPairing(artifacts[id].verificationKey, good.proof, isGood ? good.publicSignals : bad),
          ),
        )
        expect(verdicts.map(({ valid }) => valid)).to.deep.equal(wanted)
      })

      it('agrees with snarkjs, both ways', async () => {
        const key = artifacts[id].verificationKey
        expect(await groth16.verify(key, good.publicSignals, good.proof)).to.equal(true)
        const other = good.publicSignals.with(0, plus(good.publicSignals[0], 1n))
        expect(await groth16.verify(key, other, good.proof)).to.equal(false)
        const wasm = join(ROOT, `build/circuits/${id}.wasm`)
        const zkey = join(ROOT, `circuits/keys/${id}.zkey`)
        const { proof, publicSignals } = await groth16.fullProve({ ...GOOD_INPUTS[id] }, wasm, zkey)
        expect(await refusal(proof, publicSignals)).to.equal('valid')
        expect(publicSignals).to.deep.equal(good.publicSignals)
      })
    })
  }
})
