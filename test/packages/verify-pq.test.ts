/** What `assay-verify/pq` says of what a real server signed twice, and of everything that resembles it. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import { expect } from 'chai'
import { readCheckpoint as readByEd25519 } from '../../src/bin/packages/contents/verify/index.ts'
import {
  type ExpectedHybridToken,
  type HybridToken,
  type PublishedHybridKey,
  readCheckpoint,
  verifyHybridToken,
} from '../../src/bin/packages/contents/verify/pq.ts'
import { HYBRID_TOKEN_CONTEXT, hybridSigningBytes } from '../../src/protocol/hybrid-token.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { demandSuccess } from '../support/client.ts'
import { createPqWitness, createWitness } from '../support/witnesses.ts'

interface Verdict {
  readonly valid: boolean
  readonly reason?: string
}
const said = (verdict: Verdict): string => (verdict.valid ? 'valid' : String(verdict.reason))
/** A byte of base64 changed, far from its end. */
const bent = (text: string): string => {
  const at = text.length - 40
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
}

describe('assay-verify/pq', () => {
  let app: TestApp
  let owner: TestOrganisation
  const get = async <T>(path: string): Promise<T> => demandSuccess(await app.request<T>('GET', path))

  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    // A log with an entry.
    demandSuccess(await app.request('POST', '/verify', { key: owner.apiKey, body: { data: { age: 36 } } }))
  })

  describe('checkpoints', () => {
    let note: string
    let keys: string
    let origin: string
    before(async () => {
      note = await get<string>('/checkpoint')
      keys = await get<string>('/checkpoint/keys')
      origin = new URL(app.url).host
    })
    const of = (text: string, changes: object = {}) =>
      said(readCheckpoint(text, { origin, keys, ...changes }))
    const lines = () => {
      const [text = '', signatures = ''] = note.split('\n\n')
      const [classical = '', postQuantum = ''] = signatures.split('\n')
      return { text: `${text}\n\n`, classical, postQuantum }
    }

    it('count where both signatures of the log hold', () => {
      const read = readCheckpoint(note, { origin, keys })
      expect(read.valid && read.size).to.equal(Number(note.split('\n')[1]))
      expect(of(note, { origin: 'other.example' })).to.equal('ORIGIN_MISMATCH')
      expect(of('x')).to.equal('CHECKPOINT_MALFORMED')
    })

    it('are refused without either, or where one does not fit', () => {
      const { text, classical, postQuantum } = lines()
      const [classicalKey = '', pqKey = ''] = keys.split('\n')
      expect(of(`${text}${classical}\n${postQuantum}\n`)).to.equal('valid')
      expect(of(`${text}${classical}\n`)).to.equal('COSIGNATURE_MISSING')
      expect(of(`${text}${classical}\n${bent(postQuantum)}\n`)).to.equal('COSIGNATURE_INVALID')
      expect(of(`${text}${postQuantum}\n`)).to.equal('CHECKPOINT_UNSIGNED')
      expect(of(`${text}${bent(classical)}\n${postQuantum}\n`)).to.equal('CHECKPOINT_UNSIGNED')
      expect(of(note.replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 1}\n`))).to.equal(
        'CHECKPOINT_UNSIGNED',
      )
      expect(of(note, { keys: `${classicalKey}\n` })).to.equal('COSIGNATURE_MISSING')
      expect(of(note, { keys: `${pqKey}\n` })).to.equal('CHECKPOINT_UNSIGNED')
      // Whoever doesn't check it ignores it, as signed-note asks.
      expect(readByEd25519(`${text}${classical}\n${bent(postQuantum)}\n`, { origin, keys }).valid).to.equal(
        true,
      )
    })

    it('count the witnesses that cosigned with ML-DSA-44 beside those with Ed25519', () => {
      const [first, second] = [createWitness('w1.example'), createPqWitness('w2.example')]
      const witnesses = `${first.key}\n${second.key}\n`
      expect(of(note + first.cosign(note), { witnesses })).to.equal('WITNESSES_MISSING')
      expect(of(note + first.cosign(note) + second.cosign(note), { witnesses })).to.equal('valid')
      expect(of(`${note}${first.cosign(note)}${bent(second.cosign(note))}`, { witnesses })).to.equal(
        'WITNESSES_MISSING',
      )
      const policy = `witness B ${second.key}\nquorum B`
      expect(of(note, { policy })).to.equal('WITNESSES_MISSING')
      expect(of(note + second.cosign(note), { policy })).to.equal('valid')
    })
  })

  describe('hybrid tokens', () => {
    let expected: ExpectedHybridToken
    const generate = async (body: object = {}): Promise<HybridToken> =>
      demandSuccess(
        await app.request<HybridToken>('POST', '/v1/tokens/generate-quantum-safe', {
          key: owner.apiKey,
          body: { subject: 'member-7', ...body },
        }),
      )
    before(async () => {
      expected = {
        keys: await get<ExpectedHybridToken['keys']>('/.well-known/jwks.json'),
        pqKeys: await get<ExpectedHybridToken['pqKeys']>('/.well-known/jwks-pq.json'),
      }
    })
    const of = (token: unknown, changes: Partial<ExpectedHybridToken> = {}) =>
      said(verifyHybridToken(token, { ...expected, ...changes }))

    it('count under both signatures, of all algorithms', async () => {
      for (const alg_classical of ['Ed25519', 'ECDSA_P256'])
        for (const alg_pq of ['Dilithium2', 'Dilithium3']) {
          const token = await generate({ alg_classical, alg_pq })
          const names = `${alg_classical} ${alg_pq}`
          expect(of(token), names).to.equal('valid')
          expect(of({ ...token, sig_pq: bent(token.sig_pq) }), names).to.equal('PQ_SIGNATURE_INVALID')
          expect(of({ ...token, sig_classical: bent(token.sig_classical) }), names).to.equal(
            'CLASSICAL_SIGNATURE_INVALID',
          )
          expect(of({ ...token, subject: 'member-8' }), names).to.equal('CLASSICAL_SIGNATURE_INVALID')
          const zeros = Buffer.alloc(64).toString('base64url')
          expect(of({ ...token, sig_classical: zeros }), names).to.equal('CLASSICAL_SIGNATURE_INVALID')
        }
    })

    it('are held to both signatures, whatever policy they name', async () => {
      const token = await generate({ verification_policy: 'classical_only' })
      expect(of(token)).to.equal('valid')
      const stripped = { ...token, sig_pq: '' }
      expect(of(stripped)).to.equal('PQ_SIGNATURE_MISSING')
      expect(of(stripped, { required: 'classical_only' })).to.equal('valid')
      // What the token itself demands can't be waived.
      const both = await generate()
      expect(of({ ...both, sig_pq: '' }, { required: 'classical_only' })).to.equal('PQ_SIGNATURE_MISSING')
      expect(of({ ...both, sig_classical: '' }, { required: 'pq_only' })).to.equal(
        'CLASSICAL_SIGNATURE_MISSING',
      )
      expect(of({ ...both, verification_policy: 'pq_only', sig_classical: '' })).to.equal(
        'CLASSICAL_SIGNATURE_MISSING',
      )
    })

    it('are refused by other keys, keys of another kind, and keys that were forgotten', async () => {
      const token = await generate({ alg_pq: 'Dilithium2' })
      expect(of(token, { keys: { keys: [] } })).to.equal('CLASSICAL_KEY_UNKNOWN')
      expect(of(token, { pqKeys: { keys: [] } })).to.equal('PQ_KEY_UNKNOWN')
      const { publicKey, secretKey } = ml_dsa44.keygen()
      const pub = Buffer.from(publicKey).toString('base64url')
      const stranger = { kty: 'AKP', alg: 'ML-DSA-44', kid: token.kid_pq, pub }
      expect(of(token, { pqKeys: { keys: [stranger] } })).to.equal('PQ_SIGNATURE_INVALID')
      expect(of(token, { pqKeys: { keys: [{ ...stranger, alg: 'ML-DSA-65' }] } })).to.equal('PQ_KEY_UNKNOWN')
      expect(of(token, { pqKeys: { keys: [{ ...stranger, pub: 'AA' }] } })).to.equal('PQ_SIGNATURE_INVALID')
      // Signed as another message, or under another context, it is no signature of a token.
      const message = hybridSigningBytes(token)
      const under = (options: object) => ({
        ...token,
        sig_pq: Buffer.from(ml_dsa44.sign(message, secretKey, options)).toString('base64url'),
      })
      const pqKeys = { keys: [stranger] }
      expect(of(under({ context: HYBRID_TOKEN_CONTEXT }), { pqKeys })).to.equal('valid')
      expect(of(under({}), { pqKeys })).to.equal('PQ_SIGNATURE_INVALID')
    })

    it('are not checked under a key of P-256 that is no point of the curve', async () => {
      const token = await generate({ alg_classical: 'ECDSA_P256' })
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const signature = sign('sha256', hybridSigningBytes(token), {
        key: pair.privateKey,
        dsaEncoding: 'ieee-p1363',
      })
      const key = {
        ...(pair.publicKey.export({ format: 'jwk' }) as PublishedHybridKey),
        kid: token.kid_classical,
      }
      const other = { ...token, sig_classical: signature.toString('base64url') }
      expect(of(other, { keys: { keys: [key] } })).to.equal('valid')
      const zero = Buffer.alloc(32).toString('base64url')
      expect(of(other, { keys: { keys: [{ ...key, y: zero }] } })).to.equal('CLASSICAL_SIGNATURE_INVALID')
      expect(of(other, { keys: { keys: [{ ...key, x: 'AA' }] } })).to.equal('CLASSICAL_SIGNATURE_INVALID')
    })

    it('are refused in another form, after their time, and by a clock that is none', async () => {
      const token = await generate()
      expect(of('token')).to.equal('TOKEN_MALFORMED')
      expect(of({ ...token, more: 1 })).to.equal('TOKEN_MALFORMED')
      expect(of({ ...token, alg_pq: 'Dilithium5' })).to.equal('ALGORITHM_UNKNOWN')
      expect(of({ ...token, sig_pq: `${token.sig_pq}=` })).to.equal('PQ_SIGNATURE_MALFORMED')
      expect(of(token, { now: token.exp * 1000 - 1 })).to.equal('valid')
      expect(of(token, { now: token.exp * 1000 })).to.equal('TOKEN_EXPIRED')
      for (const now of [Number.NaN, Infinity, token.iat])
        expect(of(token, { now }), String(now)).to.equal('CLOCK_REFUSED')
    })
  })
})
