/** Public keys of others: the vectors of the standards, through the one path that everything here verifies by. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { calculateJwkThumbprint } from 'jose'
import type { Jwk } from '../../src/keys/jwks.ts'
import { readPublicKey } from '../../src/keys/public-key.ts'

const read = <T>(name: string): T => {
  const bytes = readFileSync(new URL(`../vectors/${name}`, import.meta.url))
  return JSON.parse((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString())
}
const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'))
const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

interface MlDsaVectors {
  readonly tests: readonly {
    readonly comment: string
    readonly alg: 'ML-DSA-44' | 'ML-DSA-65'
    readonly key: string
    readonly message: string
    readonly signature: string
    readonly context?: string
    readonly valid: boolean
  }[]
}
interface P256Vectors {
  readonly tests: readonly {
    readonly id: number
    readonly comment: string
    readonly x: string
    readonly y: string
    readonly message: string
    readonly signature: string
    readonly valid: boolean
  }[]
}
interface Ed25519Vectors {
  readonly tests: readonly {
    readonly id: number
    readonly key: string
    readonly message: string
    readonly signature: string
    readonly valid: boolean
  }[]
}

/** Whether the key is read and says that it signed. */
const verified = async (
  jwk: object,
  { message, signature, context }: { message: string; signature: string; context?: string },
): Promise<boolean> => {
  const key = await readPublicKey(jwk)
  if (key === undefined) return false
  return context === undefined
    ? key.verify(hex(message), hex(signature))
    : key.verify(hex(message), hex(signature), hex(context))
}

const MESSAGE = new TextEncoder().encode('what was signed')

const ed25519Key = () => generateKeyPairSync('ed25519')
const p256Key = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwkOf = ({ publicKey }: ReturnType<typeof p256Key>): Jwk => publicKey.export({ format: 'jwk' }) as Jwk
const akp = (alg: string, publicKey: Uint8Array) => ({ kty: 'AKP', alg, pub: base64url(publicKey) })

describe('public keys of others', function () {
  this.timeout(60_000)

  for (const name of ['wycheproof-ml-dsa.json.gz', 'acvp-ml-dsa-sigver.json.gz']) {
    const { tests } = read<MlDsaVectors>(name)
    it(`of ML-DSA agree with all ${tests.length} vectors of ${name}`, async () => {
      const wrong: string[] = []
      for (const test of tests) {
        const jwk = { kty: 'AKP', alg: test.alg, pub: base64url(hex(test.key)) }
        if ((await verified(jwk, test)) !== test.valid) wrong.push(`${test.alg} ${test.comment}`)
      }
      expect(wrong).to.deep.equal([])
      for (const alg of ['ML-DSA-44', 'ML-DSA-65'])
        for (const valid of [true, false])
          expect(tests.some((test) => test.alg === alg && test.valid === valid)).to.equal(true)
    })
  }

  it('of P-256 agree with the vectors of Wycheproof for r ‖ s', async () => {
    const { tests } = read<P256Vectors>('wycheproof-ecdsa-p256.json.gz')
    const wrong: number[] = []
    for (const test of tests)
      if ((await verified({ kty: 'EC', crv: 'P-256', x: test.x, y: test.y }, test)) !== test.valid)
        wrong.push(test.id)
    expect(wrong).to.deep.equal([])
    expect(tests).to.have.length(219)
  })

  it('of Ed25519 agree with the vectors of Wycheproof', async () => {
    const { tests } = read<Ed25519Vectors>('wycheproof-ed25519.json')
    const wrong: number[] = []
    for (const test of tests)
      if ((await verified({ kty: 'OKP', crv: 'Ed25519', x: base64url(hex(test.key)) }, test)) !== test.valid)
        wrong.push(test.id)
    expect(wrong).to.deep.equal([])
  })

  it('are named by their thumbprint and hold their required members only', async () => {
    const { publicKey } = ml_dsa44.keygen(new Uint8Array(32).fill(1))
    for (const jwk of [jwkOf(ed25519Key()), jwkOf(p256Key()), akp('ML-DSA-44', publicKey)]) {
      const key = await readPublicKey({ ...jwk, kid: 'mine', use: 'sig', key_ops: ['verify'] })
      expect(key?.kid).to.equal(await calculateJwkThumbprint({ ...jwk }, 'sha256'))
      expect(key?.jwk).to.deep.equal(jwk)
    }
  })

  it('are refused when they are private, of another kind, another length or no point', async () => {
    const ed = jwkOf(ed25519Key())
    const p256 = jwkOf(p256Key())
    const { publicKey } = ml_dsa65.keygen(new Uint8Array(32).fill(1))
    const pq = akp('ML-DSA-65', publicKey)
    for (const jwk of [
      undefined,
      null,
      'key',
      [],
      {},
      { ...ed, d: ed.x },
      { ...ed, crv: 'X25519' },
      { ...ed, x: `${ed.x}=` },
      { ...ed, x: ed.x?.slice(1) },
      { ...ed, x: 7 },
      { ...ed, x: base64url(new Uint8Array(32)) },
      { ...ed, kty: 'EC' },
      { ...p256, d: p256.x },
      { ...p256, x: p256.y },
      { ...p256, y: base64url(new Uint8Array(32)) },
      { ...p256, crv: 'P-384' },
      { ...p256, crv: 'secp256k1' },
      { ...pq, priv: 'AA' },
      { ...pq, alg: 'ML-DSA-44' },
      { ...pq, alg: 'ML-DSA-87' },
      { ...pq, pub: pq.pub.slice(4) },
      { kty: 'RSA', n: 'AQAB', e: 'AQAB' },
      { kty: 'oct', k: 'AAAA' },
    ])
      expect(await readPublicKey(jwk), JSON.stringify(jwk)).to.equal(undefined)
  })

  it('of ML-DSA hold under the context that was signed, and under no other', async () => {
    for (const [alg, scheme] of [
      ['ML-DSA-44', ml_dsa44],
      ['ML-DSA-65', ml_dsa65],
    ] as const) {
      const { publicKey, secretKey } = scheme.keygen(new Uint8Array(32).fill(9))
      const key = await readPublicKey(akp(alg, publicKey))
      const context = new TextEncoder().encode('hybrid-token/1')
      const signature = scheme.sign(MESSAGE, secretKey, { context })
      expect(key?.verify(MESSAGE, signature, context)).to.equal(true)
      expect(key?.verify(MESSAGE, signature)).to.equal(false)
      expect(key?.verify(MESSAGE, signature, context.subarray(1))).to.equal(false)
      expect(key?.verify(MESSAGE, signature, new Uint8Array(256))).to.equal(false)
      expect(key?.verify(MESSAGE, scheme.sign(MESSAGE, secretKey))).to.equal(true)
    }
  })

  it('of the classical algorithms have no context', async () => {
    const [ed, p256] = [ed25519Key(), p256Key()]
    for (const [jwk, signature] of [
      [jwkOf(ed), sign(null, MESSAGE, ed.privateKey)],
      [jwkOf(p256), sign('sha256', MESSAGE, { key: p256.privateKey, dsaEncoding: 'ieee-p1363' })],
    ] as const) {
      const key = await readPublicKey(jwk)
      expect(key?.verify(MESSAGE, signature)).to.equal(true)
      expect(key?.verify(MESSAGE, signature, new Uint8Array(0))).to.equal(false)
      expect(key?.verify(MESSAGE, signature, MESSAGE)).to.equal(false)
    }
  })

  it('refuse DER, and any signature that differs in one bit or in its length', async () => {
    const p256 = p256Key()
    const key = await readPublicKey(jwkOf(p256))
    expect(key?.verify(MESSAGE, sign('sha256', MESSAGE, p256.privateKey))).to.equal(false)
    const { publicKey, secretKey } = ml_dsa44.keygen(new Uint8Array(32).fill(3))
    const pq = await readPublicKey(akp('ML-DSA-44', publicKey))
    const whole = ml_dsa44.sign(MESSAGE, secretKey)
    const own = sign('sha256', MESSAGE, { key: p256.privateKey, dsaEncoding: 'ieee-p1363' })
    fc.assert(
      fc.property(fc.nat(), (at) => {
        for (const [reader, signature] of [
          [key, own],
          [pq, whole],
        ] as const) {
          const bit = at % (signature.length * 8)
          const flipped = new Uint8Array(signature)
          flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
          expect(reader?.verify(MESSAGE, flipped)).to.equal(false)
        }
      }),
      { numRuns: 20 },
    )
    for (const [reader, signature] of [
      [key, own],
      [pq, whole],
    ] as const) {
      expect(reader?.verify(MESSAGE, signature.subarray(1))).to.equal(false)
      expect(reader?.verify(MESSAGE, new Uint8Array([...signature, 0]))).to.equal(false)
      expect(reader?.verify(MESSAGE, new Uint8Array(0))).to.equal(false)
    }
  })
})
