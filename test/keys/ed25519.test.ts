/** Strict Ed25519: what other verifiers let through is refused here. */
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ed25519 } from '@noble/curves/ed25519.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { verifyEd25519 } from '../../src/keys/ed25519.ts'

interface Wycheproof {
  readonly tests: readonly {
    readonly id: number
    readonly comment: string
    readonly key: string
    readonly message: string
    readonly signature: string
    readonly valid: boolean
  }[]
}

const { tests }: Wycheproof = JSON.parse(
  readFileSync(new URL('../vectors/wycheproof-ed25519.json', import.meta.url), 'utf8'),
)
const { Point } = ed25519
type Point = InstanceType<typeof Point>
const L = Point.Fn.ORDER
const P = Point.Fp.ORDER
const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'))

const littleEndian = (value: bigint): Uint8Array => hex(value.toString(16).padStart(64, '0')).reverse()
const fromLittleEndian = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
const challenge = (...parts: Uint8Array[]): bigint =>
  fromLittleEndian(new Uint8Array(createHash('sha512').update(Buffer.concat(parts)).digest())) % L
const join = (r: Uint8Array, s: bigint): Uint8Array => new Uint8Array([...r, ...littleEndian(s)])

/** What OpenSSL says by itself. */
const lenient = (key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean => {
  const x = Buffer.from(key).toString('base64url')
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, message, publicKey, signature)
}

/** A point of order 8; its multiples are all points of small order. */
const T8 = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05')
const torsion: Point[] = Array.from({ length: 8 }, (_, i) =>
  i === 0 ? Point.ZERO : T8.multiplyUnsafe(BigInt(i)),
)
/** Encodings of points of small order, with either sign bit, and with y not reduced where that fits. */
const smallOrderEncodings = (): Uint8Array[] => {
  const ys = [...new Set(torsion.map(({ y }) => y))]
  const all = ys.flatMap((y) => (y + P < 1n << 255n ? [y, y + P] : [y]))
  return all.flatMap((y) => [littleEndian(y), littleEndian(y | (1n << 255n))])
}

const secret = new Uint8Array(32).fill(7)
const key = ed25519.getPublicKey(secret)
const message = new TextEncoder().encode('agent-relay/1\n{}')
const signature = ed25519.sign(message, secret)

describe('verification of Ed25519', () => {
  it(`agrees with all ${tests.length} vectors of Wycheproof`, () => {
    const wrong = tests.filter(
      (test) => verifyEd25519(hex(test.key), hex(test.message), hex(test.signature)) !== test.valid,
    )
    expect(wrong).to.deep.equal([])
    expect(tests.filter(({ valid }) => valid)).to.have.length(88)
  })

  it('knows all points of small order, in every encoding of them', () => {
    expect(torsion.every((point) => point.isSmallOrder())).to.equal(true)
    expect(new Set(torsion.map((point) => point.toHex()))).to.have.length(8)
  })

  it('refuses keys of small order, under which one signature fits every message', () => {
    let letThrough = 0
    for (const weak of smallOrderEncodings()) {
      for (const r of smallOrderEncodings()) {
        const forged = join(r, 0n)
        expect(verifyEd25519(weak, message, forged)).to.equal(false)
        if (lenient(weak, message, forged)) letThrough++
      }
    }
    expect(letThrough, 'forgeries that OpenSSL accepts').to.be.greaterThan(0)
  })

  it('refuses keys of small order beside an R that is as it should be', () => {
    let letThrough = 0
    for (const weak of smallOrderEncodings()) {
      // It holds wherever the challenge is a multiple of the key's order: for one nonce in eight, or more.
      for (let nonce = 1n; nonce <= 16n; nonce++) {
        const forged = join(Point.BASE.multiply(nonce).toBytes(), nonce)
        expect(verifyEd25519(weak, message, forged)).to.equal(false)
        if (lenient(weak, message, forged)) letThrough++
      }
    }
    expect(letThrough, 'forgeries that OpenSSL accepts').to.be.greaterThan(0)
  })

  it('refuses R of small order, which makes S tell the private key', () => {
    const { scalar } = ed25519.utils.getExtendedPublicKey(secret)
    for (const r of torsion) {
      const encoded = r.toBytes()
      const k = challenge(encoded, key, message)
      expect(verifyEd25519(key, message, join(encoded, (k * scalar) % L))).to.equal(false)
    }
    const zero = Point.ZERO.toBytes()
    const signed = join(zero, (challenge(zero, key, message) * scalar) % L)
    expect(lenient(key, message, signed), 'OpenSSL accepts it').to.equal(true)
  })

  it('refuses what holds only up to the cofactor: keys and R that lie outside of the group', () => {
    const { scalar } = ed25519.utils.getExtendedPublicKey(secret)
    const nonce = 12345n
    for (const stray of torsion.slice(1)) {
      const mixedKey = Point.fromBytes(key).add(stray).toBytes()
      // A message whose challenge does not cancel the stray part, as one in eight does by chance.
      const text = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        .map((i) => new Uint8Array([i]))
        .find((one) => {
          const k = challenge(Point.BASE.multiply(nonce).toBytes(), mixedKey, one)
          return !stray.multiplyUnsafe(k % 8n === 0n ? 8n : k % 8n).is0()
        }) as Uint8Array
      const r = Point.BASE.multiply(nonce)
      const s = (nonce + challenge(r.toBytes(), mixedKey, text) * scalar) % L
      expect(verifyEd25519(mixedKey, text, join(r.toBytes(), s))).to.equal(false)
      expect(ed25519.verify(join(r.toBytes(), s), text, mixedKey), 'with cofactor it holds').to.equal(true)

      const mixedR = r.add(stray).toBytes()
      const forMixedR = join(mixedR, (nonce + challenge(mixedR, key, message) * scalar) % L)
      expect(verifyEd25519(key, message, forMixedR)).to.equal(false)
      expect(ed25519.verify(forMixedR, message, key), 'with cofactor it holds').to.equal(true)
    }
  })

  it('refuses S that is not reduced, and encodings that are not canonical', () => {
    const s = fromLittleEndian(signature.subarray(32))
    for (let multiple = 1n; s + multiple * L < 1n << 256n; multiple++)
      expect(verifyEd25519(key, message, join(signature.subarray(0, 32), s + multiple * L))).to.equal(false)
    for (let y = P; y < 1n << 255n; y++) {
      expect(verifyEd25519(littleEndian(y), message, signature)).to.equal(false)
      expect(verifyEd25519(key, message, join(littleEndian(y), s))).to.equal(false)
    }
  })

  it('refuses keys and signatures of another length, and keys that are no point', () => {
    expect(verifyEd25519(key.subarray(1), message, signature)).to.equal(false)
    expect(verifyEd25519(new Uint8Array(33), message, signature)).to.equal(false)
    expect(verifyEd25519(key, message, signature.subarray(1))).to.equal(false)
    expect(verifyEd25519(key, message, new Uint8Array(65))).to.equal(false)
    expect(verifyEd25519(key, message, new Uint8Array(0))).to.equal(false)
    expect(verifyEd25519(littleEndian(2n), message, signature)).to.equal(false)
  })

  it('accepts what was signed, and nothing that differs from it in one bit', () => {
    const bit = fc.nat({ max: 64 * 8 - 1 })
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ maxLength: 200 }),
        bit,
        (seed, text, at) => {
          const [publicKey, signed] = [ed25519.getPublicKey(seed), ed25519.sign(text, seed)]
          expect(verifyEd25519(publicKey, text, signed)).to.equal(true)
          const flipped = signed.slice()
          flipped[at >> 3] = (flipped[at >> 3] ?? 0) ^ (1 << (at & 7))
          expect(verifyEd25519(publicKey, text, flipped)).to.equal(false)
          const otherKey = publicKey.slice()
          otherKey[(at >> 3) % 32] = (otherKey[(at >> 3) % 32] ?? 0) ^ (1 << (at & 7))
          expect(verifyEd25519(otherKey, text, signed)).to.equal(false)
        },
      ),
      { numRuns: 40 },
    )
  })
})
