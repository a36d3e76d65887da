/**
 * The verifier's edges, against two independent libraries: points at infinity, off their curves and of other orders, coordinates
 * that are not canonical, signals at the end of the field, good and bad proofs at random, and batches of them.
 */
import { bn254 } from '@noble/curves/bn254.js'
import { expect } from 'chai'
import { CIRCUITS } from '../../src/circuits/catalogue.ts'
import { packElements, packProof } from '../../src/circuits/proof-form.ts'
import type { Proved } from '../../src/circuits/proving/groth16.ts'
import { type VerificationKey, verifyPairing } from '../../src/circuits/verifier.ts'
import { drawFactors, ENDOMORPHISM_SCALAR, factorsOf } from '../../src/circuits/verifying/combination.ts'
import { createKeyVerifier } from '../../src/circuits/verifying/key-verifier.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import type { SnarkProof } from '../../src/protocol/zk1.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { VERIFIERS } from '../support/circuits/verifier-builds.ts'
import { goodProof } from '../support/domain/proofs.ts'
import { randomElement } from '../support/elements.ts'
import { disagreements, drawCases } from '../support/proof-cases.ts'
import {
  acceptedByNoble,
  g1Json,
  g2,
  g2Json,
  holdsByNoble,
  isStrictForm,
  pointOfOrder,
  pointOutsideOfSubgroup,
  rerandomise,
} from '../support/reference/groth16.ts'
import { loadMcl } from '../support/reference/mcl.ts'
import { forge, trapdoorKey } from '../support/reference/trapdoor.ts'

const { G1, G2, fields } = bn254
const P = fields.Fp.ORDER
/** Random proofs here; slow-pairing.test.ts draws more. */
const DRAWN = 100
const key = artifacts.yesno.verificationKey

const packed = ({ proof, publicSignals }: Proved): Uint8Array => {
  const bytes = packProof(publicSignals.length, proof, publicSignals)
  if (typeof bytes === 'string') throw new Error(bytes)
  return bytes
}

describe('the pairing of the verifier', function () {
  this.timeout(120_000)
  let good: Proved
  let holdsByMcl: Awaited<ReturnType<typeof loadMcl>>
  before(async () => {
    good = await goodProof('yesno')
    holdsByMcl = await loadMcl()
  })
  const verdict = async (proof: SnarkProof, signals: readonly string[] = good.publicSignals) => {
    const answer = await verifyPairing(key, proof, signals)
    return answer.valid ? 'valid' : answer.reason
  }
  /** What two other libraries say, mcl and noble, each of which reads as strictly as we do. */
  const othersAccept = (
    proof: SnarkProof,
    signals: readonly string[] = good.publicSignals,
    of: VerificationKey = key,
  ) => ({
    mcl: isStrictForm(signals, proof) && holdsByMcl(of, signals, proof),
    noble: acceptedByNoble(of, signals, proof),
  })
  const BOTH = { mcl: true, noble: true }
  const NEITHER = { mcl: false, noble: false }

  it('accepts a good proof, as both other libraries do', async () => {
    expect(await verdict(good.proof)).to.equal('valid')
    expect(othersAccept(good.proof)).to.deep.equal(BOTH)
  })

  it('refuses every form of infinity, though 0 = 0 would hold, as others do', async () => {
    const refusal = (proof: SnarkProof) => {
      expect(othersAccept(proof), JSON.stringify(proof)).to.deep.equal(NEITHER)
      return verdict(proof)
    }
    const zero = ['0', '0', '1']
    const zero2 = [
      ['0', '0'],
      ['0', '0'],
      ['1', '0'],
    ]
    for (const point of ['pi_a', 'pi_c']) {
      expect(await refusal({ ...good.proof, [point]: zero })).to.equal('POINT_NOT_ON_CURVE')
      for (const infinity of [
        ['0', '1', '0'],
        ['0', '0', '0'],
        ['1', '2', '0'],
      ])
        expect(await refusal({ ...good.proof, [point]: infinity })).to.equal('PROOF_MALFORMED')
    }
    expect(await refusal({ ...good.proof, pi_b: zero2 })).to.equal('POINT_NOT_ON_CURVE')
    for (const last of [
      ['0', '0'],
      ['0', '1'],
      ['1', '1'],
      ['2', '0'],
    ])
      expect(await refusal({ ...good.proof, pi_b: [...good.proof.pi_b.slice(0, 2), last] })).to.equal(
        'PROOF_MALFORMED',
      )
    expect(await refusal({ ...good.proof, pi_a: zero, pi_b: zero2, pi_c: zero })).to.not.equal('valid')
  })

  it('refuses points of the twist whose order is not r: small ones, and any other, alone and in a batch', async () => {
    const points = [10_069n, 5_864_401n].map((order) => {
      const point = pointOfOrder(order)
      expect(point.is0()).to.equal(false)
      expect(point.multiplyUnsafe(order).is0()).to.equal(true)
      return point
    })
    const outside = [
      ...points,
      ...points.map((point) => point.add(g2(good.proof.pi_b))),
      ...points.map((point) => point.add(G2.Point.BASE)),
      g2(pointOutsideOfSubgroup()),
      g2(pointOutsideOfSubgroup()).add(g2(good.proof.pi_b)),
    ].map(g2Json)
    const verifier = createKeyVerifier(key)
    for (const pi_b of outside) {
      expect(g2(pi_b).isTorsionFree()).to.equal(false)
      const bad = { ...good.proof, pi_b }
      expect(othersAccept(bad)).to.deep.equal(NEITHER)
      expect(await verdict(bad)).to.equal('POINT_NOT_IN_SUBGROUP')
      const batch = [good, { ...good, proof: bad }, good].map(packed)
      expect(verifier.verifyMany(batch).map((each) => (each.valid ? 'valid' : each.reason))).to.deep.equal([
        'valid',
        'POINT_NOT_IN_SUBGROUP',
        'valid',
      ])
    }
  })

  it('refuses coordinates that are not canonical, as others do', async () => {
    const forms = [
      (text: string) => String(BigInt(text) + P),
      (text: string) => String(BigInt(text) + 3n * P),
      (text: string) => `0${text}`,
    ]
    const changed = (point: readonly string[], form: (text: string) => string): string[][] =>
      [0, 1].map((i) => point.with(i, form(point[i] ?? '')))
    const { pi_a, pi_b, pi_c } = good.proof
    for (const form of forms)
      for (const other of [
        ...changed(pi_a, form).map((point) => ({ pi_a: point })),
        ...[0, 1].flatMap((i) =>
          changed(pi_b[i] ?? [], form).map((coordinate) => ({ pi_b: pi_b.with(i, coordinate) })),
        ),
        ...changed(pi_c, form).map((point) => ({ pi_c: point })),
      ]) {
        const proof: SnarkProof = { ...good.proof, ...other }
        expect(othersAccept(proof), JSON.stringify(other)).to.deep.equal(NEITHER)
        expect(await verdict(proof)).to.equal('COORDINATE_NOT_CANONICAL')
      }
  })

  it('refuses a point outside of its curve before it computes with it, alone and in a batch', () => {
    const verifier = createKeyVerifier(key)
    const bytes = packed(good)
    for (let coordinate = 0; coordinate < 8; coordinate++) {
      const bad = bytes.slice()
      bad[32 * coordinate] = (bad[32 * coordinate] ?? 0) ^ 1
      const refused = { valid: false, reason: 'POINT_NOT_ON_CURVE' }
      expect(verifier.verify(bad)).to.deep.equal(refused)
      expect(verifier.verifyMany([bytes, bad])).to.deep.equal([{ valid: true }, refused])
    }
  })

  for (const { id } of CIRCUITS)
    it(`takes each public signal of ${id} at r − 1 and refuses it at r, p and 2^256 − 1, as others do`, async () => {
      const { proof, publicSignals } = await goodProof(id)
      const { verificationKey } = artifacts[id]
      expect(othersAccept(proof, publicSignals, verificationKey)).to.deep.equal(BOTH)
      for (const i of publicSignals.keys()) {
        const last = publicSignals.with(i, String(R - 1n))
        const refused = { valid: false, reason: 'PROOF_INVALID' }
        expect(await verifyPairing(verificationKey, proof, last)).to.deep.equal(refused)
        expect(othersAccept(proof, last, verificationKey)).to.deep.equal(NEITHER)
        for (const beyond of [R, P, 2n ** 256n - 1n].map((value) => publicSignals.with(i, String(value)))) {
          const unread = { valid: false, reason: 'SIGNAL_NOT_CANONICAL' }
          expect(await verifyPairing(verificationKey, proof, beyond)).to.deep.equal(unread)
          expect(othersAccept(proof, beyond, verificationKey)).to.deep.equal(NEITHER)
        }
      }
    })

  it('computes with signals at r − 1, and with their sum at infinity, as other libraries do', async () => {
    // A key whose secrets are known, so that proofs of any signals can be made.
    const { verificationKey, trapdoor } = trapdoorKey(3)
    const edges = [0n, 1n, 2n, 15n, 16n, 17n, 31n, 32n, R - 1n, R - 2n, R >> 1n, 2n ** 253n]
    const lists = [
      [R - 1n, R - 1n, R - 1n],
      ...edges.map((edge, i) => [
        edge,
        edges[(i + 3) % edges.length] ?? 0n,
        edges[(i + 5) % edges.length] ?? 0n,
      ]),
      trapdoor.signalsThatCancel(),
    ]
    for (const signals of lists) {
      const proved = forge(trapdoor, signals)
      const others = proved.publicSignals.with(1, String((BigInt(proved.publicSignals[1] ?? 0) + 1n) % R))
      expect(
        await verifyPairing(verificationKey, proved.proof, proved.publicSignals),
        signals.join(),
      ).to.deep.equal({ valid: true })
      expect(holdsByMcl(verificationKey, proved.publicSignals, proved.proof)).to.equal(true)
      expect(holdsByNoble(verificationKey, proved.publicSignals, proved.proof)).to.equal(true)
      expect((await verifyPairing(verificationKey, proved.proof, others)).valid).to.equal(false)
      expect(holdsByMcl(verificationKey, others, proved.proof)).to.equal(false)
    }
    const verifier = createKeyVerifier(verificationKey)
    const all = lists.map((signals) => packed(forge(trapdoor, signals)))
    expect(verifier.verifyMany(all).every(({ valid }) => valid)).to.equal(true)
  })

  it(`agrees with noble and mcl on ${DRAWN} good and bad proofs`, () => {
    expect(disagreements(key, drawCases(key, good, DRAWN), { holdsByMcl, nobleEvery: 10 })).to.deep.equal([])
  })

  it('refuses a key of which a point lies outside of its subgroup', async () => {
    const outside = pointOutsideOfSubgroup()
    for (const name of ['vk_beta_2', 'vk_gamma_2', 'vk_delta_2'] as const)
      expect(() => createKeyVerifier({ ...key, [name]: outside })).to.throw(RangeError)
    expect(() => createKeyVerifier({ ...key, vk_alpha_1: ['1', '1', '1'] })).to.throw(RangeError)
    expect(() => createKeyVerifier({ ...key, IC: [...key.IC.slice(1), ['0', '0', '1']] })).to.throw(
      RangeError,
    )
  })

  for (const { name, module } of VERIFIERS)
    describe(`in batches, ${name}`, () => {
      const verifier = createKeyVerifier(key, module)
      const size = name.startsWith('debug') ? 5 : 64

      it('finds the bad one at each place, and more of them', async () => {
        const bytes = packed(good)
        const other = packed({
          ...good,
          proof: rerandomise(key, good.proof, randomElement() + 1n, randomElement() + 1n),
        })
        const bad = bytes.slice()
        bad[256] = (bad[256] ?? 0) ^ 1
        const batchOf = (isBad: (place: number) => boolean) =>
          Array.from({ length: size }, (_, place) => (isBad(place) ? bad : place % 2 ? bytes : other))
        const bads = [
          ...Array.from({ length: size }, (_, place) => [place]),
          [],
          [0, size - 1],
          [0, 1, 2, 3],
          Array.from({ length: size }, (_, place) => place),
        ]
        for (const places of bads) {
          const verdicts = verifier.verifyMany(batchOf((place) => places.includes(place)))
          const found = verdicts.flatMap(({ valid }, place) => (valid ? [] : [place]))
          expect(found).to.deep.equal(places)
        }
      })

      it('finds proofs that are false by opposite amounts, which a sum without factors would take', () => {
        const c = G1.Point.fromAffine({
          x: BigInt(good.proof.pi_c[0] ?? 0),
          y: BigInt(good.proof.pi_c[1] ?? 0),
        })
        const pair = [c.add(G1.Point.BASE), c.subtract(G1.Point.BASE)].map((pi_c) =>
          packed({ ...good, proof: { ...good.proof, pi_c: g1Json(pi_c) } }),
        )
        expect(verifier.verifyMany(pair).map(({ valid }) => valid)).to.deep.equal([false, false])
      })

      it('takes more than one combination takes, one, and none', () => {
        const bytes = packed(good)
        expect(verifier.verifyMany([])).to.deep.equal([])
        expect(verifier.verifyMany([bytes])).to.deep.equal([{ valid: true }])
        const many = Array.from({ length: size === 64 ? 130 : 3 }, () => bytes)
        expect(verifier.verifyMany(many)).to.deep.equal(many.map(() => ({ valid: true })))
        expect(() => verifier.verify(bytes.subarray(32))).to.throw(RangeError)
      })
    })
})

describe('the factors of a combination', () => {
  it('are a + bλ for two halves of 64 bits, never both 0, and new each time', () => {
    const drawn = drawFactors(500)
    const factors = factorsOf(drawn)
    expect(new Set(factors)).to.have.length(500)
    for (const [i, factor] of factors.entries()) {
      const [a = 0n, b = 0n] = drawn.subarray(2 * i, 2 * i + 2)
      expect(factor).to.equal((a + b * ENDOMORPHISM_SCALAR) % R)
      expect(factor).to.not.equal(0n)
    }
    const original = crypto.getRandomValues
    let calls = 0
    crypto.getRandomValues = ((array: BigUint64Array<ArrayBuffer>) =>
      calls++ === 0 ? array.fill(0n) : original.call(crypto, array)) as typeof original
    try {
      expect(drawFactors(1)).to.not.deep.equal(new BigUint64Array(2))
      expect(calls).to.equal(2)
    } finally {
      crypto.getRandomValues = original
    }
  })

  it('all differ: no two numbers below 2^126 but zeros make a + bλ a multiple of r', () => {
    // Lagrange's reduction finds the shortest vector of the lattice of all such (a, b).
    let [u, v] = [
      [R, 0n],
      [-ENDOMORPHISM_SCALAR, 1n],
    ] as [[bigint, bigint], [bigint, bigint]]
    const dot = (x: [bigint, bigint], y: [bigint, bigint]) => x[0] * y[0] + x[1] * y[1]
    const rounded = (n: bigint, d: bigint) =>
      (2n * n + d - ((((2n * n + d) % (2n * d)) + 2n * d) % (2n * d))) / (2n * d)
    for (;;) {
      if (dot(u, u) < dot(v, v)) [u, v] = [v, u]
      const times = rounded(dot(u, v), dot(v, v))
      if (times === 0n) break
      u = [u[0] - times * v[0], u[1] - times * v[1]]
    }
    for (const [a, b] of [u, v]) expect((((a + b * ENDOMORPHISM_SCALAR) % R) + R) % R).to.equal(0n)
    // A vector with both parts below 2^126 would be shorter than 2^126.5.
    expect(dot(v, v) > 2n * 2n ** 252n).to.equal(true)
  })

  it('packs numbers as the module reads them', () => {
    expect(packElements([2n ** 256n - 1n, 1n, 0n])).to.deep.equal(
      Uint8Array.from({ length: 96 }, (_, i) => (i < 32 ? 255 : i === 32 ? 1 : 0)),
    )
  })
})
