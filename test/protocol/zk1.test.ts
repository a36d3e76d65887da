import { createHash, randomBytes } from 'node:crypto'
import { bn254 } from '@noble/curves/bn254.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { decodeZk1, encodeZk1, proofDigest, type SnarkProof } from '../../src/protocol/zk1.ts'
import { vectors } from '../support/circuits/core-builds.ts'
import { g1Json, g2Json } from '../support/reference/groth16.ts'

const P = bn254.fields.Fp.ORDER

interface Vector {
  circuit: string
  proof: SnarkProof
  publicSignals: string[]
  text: string
  digest: string
}
const { vectors: published } = vectors('zk1') as { vectors: Vector[] }

const element = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex')

/** The text as the documentation says it, without any sharing with the code. */
const naive = ({ pi_a, pi_b, pi_c }: SnarkProof, signals: readonly string[]): string => {
  const flag = (isGreater: boolean) => (isGreater ? 3n : 2n) << 254n
  const greater = (y: bigint) => 2n * y > P
  const point = ([x = '', y = '']: readonly string[]) => element(BigInt(x) | flag(greater(BigInt(y))))
  const [[x0 = '', x1 = ''] = [], [y0 = '', y1 = ''] = []] = pi_b
  const isGreater = BigInt(y1) === 0n ? greater(BigInt(y0)) : greater(BigInt(y1))
  const b = [element(BigInt(x1) | flag(isGreater)), element(BigInt(x0))]
  const bytes = [point(pi_a), ...b, point(pi_c), ...signals.map((signal) => element(BigInt(signal)))]
  return `zk1.${Buffer.concat(bytes).toString('base64url')}`
}

const scalar = fc.bigInt({ min: 1n, max: R - 1n })
const proofs = fc.tuple(scalar, scalar, scalar).map(([a, b, c]): SnarkProof => {
  const { G1, G2 } = bn254
  const [pi_a, pi_c] = [a, c].map((k) => g1Json(G1.Point.BASE.multiply(k))) as [string[], string[]]
  return { pi_a, pi_b: g2Json(G2.Point.BASE.multiply(b)), pi_c, protocol: 'groth16', curve: 'bn128' }
})
const signals = fc.array(fc.bigInt({ min: 0n, max: R - 1n }).map(String), { maxLength: 12 })

describe('zk1', () => {
  for (const { circuit, proof, publicSignals, text, digest } of published) {
    it(`has the published text and digest of a proof of ${circuit}`, () => {
      expect(encodeZk1(proof, publicSignals)).to.equal(text)
      expect(naive(proof, publicSignals)).to.equal(text)
      expect(decodeZk1(text)).to.deep.equal({ proof, publicSignals })
      const hash = createHash('sha256').update(`digest/1${circuit}`)
      for (const signal of publicSignals) hash.update(element(BigInt(signal)))
      expect(proofDigest(circuit, publicSignals)).to.equal(digest)
      expect(hash.digest('hex')).to.equal(digest)
    })
  }

  it('gives back every proof, whichever root its points have', () => {
    fc.assert(
      fc.property(proofs, signals, (proof, publicSignals) => {
        const text = encodeZk1(proof, publicSignals)
        expect(text).to.equal(naive(proof, publicSignals))
        expect(decodeZk1(text)).to.deep.equal({ proof, publicSignals })
      }),
      { numRuns: 30 },
    )
  })

  it('has one text for each proof: whatever can be read is written so', () => {
    const { text = '' } = published[0] ?? {}
    const bytes = Buffer.from(text.slice(4), 'base64url')
    let readable = 0
    for (let i = 0; i < bytes.length * 8; i += 5) {
      const changed = Buffer.from(bytes)
      changed[i >> 3] = (changed[i >> 3] ?? 0) ^ (1 << (i & 7))
      const altered = `zk1.${changed.toString('base64url')}`
      const read = decodeZk1(altered)
      if (read === undefined) continue
      readable++
      expect(encodeZk1(read.proof, read.publicSignals), `bit ${i}`).to.equal(altered)
    }
    expect(readable).to.be.greaterThan(0)
  })

  it('refuses flags, coordinates and signals that no proof has', () => {
    const { text = '' } = published[0] ?? {}
    const good = Buffer.from(text.slice(4), 'base64url')
    const withBytes = (at: number, bytes: Uint8Array) => {
      const changed = Buffer.from(good)
      changed.set(bytes, at)
      return decodeZk1(`zk1.${changed.toString('base64url')}`)
    }
    for (const at of [0, 32, 96]) {
      for (const flag of [0n, 1n]) {
        const x = BigInt(`0x${good.toString('hex', at, at + 32)}`) & ((1n << 254n) - 1n)
        expect(withBytes(at, element(x | (flag << 254n))), `flag ${flag} at ${at}`).to.equal(undefined)
      }
      expect(withBytes(at, element(P | (2n << 254n)))).to.equal(undefined)
    }
    expect(withBytes(64, element(P))).to.equal(undefined)
    expect(withBytes(128, element(R))).to.equal(undefined)
    expect(withBytes(128, element(R - 1n))?.publicSignals[0]).to.equal(String(R - 1n))
    // x = 0 has y² = 3, which has no root.
    expect(withBytes(0, element(2n << 254n))).to.equal(undefined)
  })

  it('refuses texts of any other form', () => {
    const { text = '' } = published[0] ?? {}
    for (const bad of [
      '',
      'zk1.',
      'zk1',
      text.slice(4),
      `zk2.${text.slice(4)}`,
      text.slice(0, -1),
      `${text}A`,
      `${text}=`,
      ` ${text}`,
      text.replace(/.$/, '!'),
      `zk1.${randomBytes(127).toString('base64url')}`,
      `zk1.${Buffer.alloc(128 + 32 * 65, 1).toString('base64url')}`,
      'zk1.'.repeat(100_000),
    ])
      expect(decodeZk1(bad), bad.slice(0, 20)).to.equal(undefined)
  })

  it('writes nothing that it would not read', () => {
    const { proof, publicSignals } = published[0] ?? { proof: {} as SnarkProof, publicSignals: [] }
    const [x = '', y = ''] = proof.pi_a
    const [[x0 = '', x1 = ''] = [], ys = [], one = []] = proof.pi_b
    for (const bad of [
      { ...proof, pi_a: [String(BigInt(x) + P), y, '1'] },
      { ...proof, pi_a: [x, x, '1'] },
      { ...proof, pi_a: ['0', '1', '0'] },
      { ...proof, pi_a: [x, y, '2'] },
      { ...proof, pi_b: [[x1, x0], ys, one] },
      { ...proof, pi_b: [[x0, String(BigInt(x1) + P)], ys, one] },
      { ...proof, pi_c: [`0${x}`, y, '1'] },
    ])
      expect(() => encodeZk1(bad, publicSignals)).to.throw(RangeError)
    for (const signal of [String(R), '-1', '01', '', '1.5'])
      for (const use of [() => encodeZk1(proof, [signal]), () => proofDigest('yesno', [signal])])
        expect(use, signal).to.throw(RangeError)
    expect(() =>
      encodeZk1(
        proof,
        Array.from({ length: 65 }, () => '0'),
      ),
    ).to.throw(RangeError)
  })

  it('digests of other circuits and other signals differ', () => {
    const digests = [
      proofDigest('yesno', ['1', '2']),
      proofDigest('simple_yesno', ['1', '2']),
      proofDigest('yesno', ['2', '1']),
      proofDigest('yesno', ['1', '2', '0']),
      proofDigest('yesno', ['1']),
    ]
    expect(new Set(digests).size).to.equal(digests.length)
  })
})
