/** The checks of a signed result, on both implementations that a browser may use. */
import { generateKeyPairSync, hash, sign, webcrypto } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { bundledCrypto } from '../../src/web/crypto/bundled-crypto.ts'
import { openCrypto } from '../../src/web/crypto/crypto.ts'
import type { PageCrypto } from '../../src/web/crypto/page-crypto.ts'
import { UnreachableError } from '../../src/web/http.ts'
import { type CheckName, type Evidence, examine, type Published } from '../../src/web/result/result-checks.ts'

const ISSUER = 'https://assay.example.org'
const NOW = Date.parse('2026-01-01T00:00:00.000Z')
const NOW_SECONDS = NOW / 1000
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const hashOf = (jws: string): string => hash('sha256', jws, 'buffer').toString('base64url')

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'EdDSA', use: 'sig' }
const PAYLOAD = { iss: ISSUER, jti: 'ver_1', iat: NOW_SECONDS - 10, decision: 'YES' }

const signed = (payload: object = PAYLOAD, header: object = {}): string => {
  const covered = `${base64url({ alg: 'EdDSA', kid: 'k1', typ: 'vr+jws', ...header })}.${base64url(payload)}`
  return `${covered}.${sign(null, Buffer.from(covered), privateKey).toString('base64url')}`
}

/** The service publishes nothing else. */
const away = (): Promise<never> => Promise.reject(new UnreachableError('It is away.'))
const nothing: Published = {
  verificationKey: away,
  logAt: () => ({ checkpoint: away, keys: away, tile: away }),
}
/** Checks that results without more have nothing for. */
const FURTHER: CheckName[] = ['question', 'proof', 'inclusion']

const evidence = (jws: string, changes: Partial<Evidence> = {}, status = 'VALID'): Evidence => ({
  hash: hashOf(jws),
  record: { jws, status, issuer: ISSUER },
  jwks: { keys: [{ kty: 'EC', kid: 'k0' }, jwk] },
  origin: ISSUER,
  now: NOW,
  published: nothing,
  ...changes,
})

/** The browser's, and the one for browsers without. */
const IMPLEMENTATIONS: readonly [string, () => Promise<PageCrypto>][] = [
  ['WebCrypto', () => openCrypto(webcrypto.subtle as SubtleCrypto)],
  ['the bundled code', async () => bundledCrypto],
]

for (const [name, open] of IMPLEMENTATIONS) {
  describe(`checks of a signed result with ${name}`, () => {
    let crypto: PageCrypto
    before(async () => {
      crypto = await open()
    })
    const failures = async (given: Evidence) => {
      const { verdict, checks } = await examine(given, crypto)
      const failed = checks.filter(({ outcome }) => outcome !== 'passed').map((check) => check.name)
      const names = failed.filter((name) => !FURTHER.includes(name))
      return { verdict, names }
    }
    const expectVerdict = async (given: Evidence, verdict: string, ...names: CheckName[]) =>
      expect(await failures(given)).to.deep.equal({ verdict, names })

    it('all pass for what the service signed, which is not verified where the log is away', async () => {
      const { verdict, checks, claims } = await examine(evidence(signed()), crypto)
      expect(verdict).to.equal('UNVERIFIED')
      const lacking = checks.filter(({ isEssential }) => isEssential).map((check) => check.name)
      expect(lacking).to.deep.equal(['inclusion'])
      expect(checks.map((check) => check.name)).to.deep.equal([
        'address',
        'type',
        'key',
        'signature',
        'issuer',
        'expiry',
        'status',
        ...FURTHER,
      ])
      expect(claims).to.deep.equal(PAYLOAD)
    })

    /** Nothing counts that nobody signed. */
    const unsigned: CheckName[] = ['signature', 'issuer', 'expiry']

    it('a changed payload fails the signature, and nothing of it is shown', async () => {
      const [header, , signature] = signed().split('.')
      const forged = `${header}.${base64url({ ...PAYLOAD, decision: 'NO' })}.${signature}`
      await expectVerdict(evidence(forged), 'INVALID', ...unsigned)
      expect(await examine(evidence(forged), crypto)).to.not.have.property('claims')
      await expectVerdict(evidence(forged, { hash: hashOf(signed()) }), 'INVALID', 'address', ...unsigned)
    })

    it('no single changed character passes', async () => {
      const jws = signed()
      const place = fc.integer({ min: 0, max: jws.length - 1 })
      await fc.assert(
        fc.asyncProperty(place, fc.constantFrom(...'Aa0_-.'), async (at, character) => {
          fc.pre(jws[at] !== character)
          const changed = jws.slice(0, at) + character + jws.slice(at + 1)
          const { verdict, names } = await failures(evidence(changed, { hash: hashOf(jws) }))
          expect(verdict).to.equal('INVALID')
          expect(names).to.include('address')
        }),
        { numRuns: 60 },
      )
    })

    it('a genuine result under the address of another one is not valid', () =>
      expectVerdict(evidence(signed(), { hash: hashOf('another') }), 'INVALID', 'address'))

    it('other algorithms and other types of JWS are refused though their signature fits', async () => {
      for (const header of [
        { typ: 'hv+jws' },
        { typ: undefined },
        { alg: 'none' },
        { alg: 'ES256' },
        { crit: ['b64'] },
      ])
        await expectVerdict(evidence(signed(PAYLOAD, header)), 'INVALID', 'type')
    })

    it('a key that is not published, or is no Ed25519 key, is no key', async () => {
      const jws = signed()
      for (const keys of [
        [],
        [{ ...jwk, kid: 'k2' }],
        [{ ...jwk, crv: 'X25519' }],
        [{ kid: 'k1' }],
        [null, 'k1'],
        'k1',
      ])
        await expectVerdict(evidence(jws, { jwks: { keys } }), 'INVALID', 'key', ...unsigned)
      await expectVerdict(evidence(jws, { jwks: null }), 'INVALID', 'key', ...unsigned)
      const nameless = signed(PAYLOAD, { kid: undefined })
      const keys = [{ ...jwk, kid: undefined }]
      await expectVerdict(evidence(nameless, { jwks: { keys } }), 'INVALID', 'key', ...unsigned)
    })

    it('keys and signatures of another length are not valid', async () => {
      const jws = signed()
      for (const x of ['', 'AAAA', `${jwk.x}A`, `${jwk.x?.slice(1)}=`])
        await expectVerdict(evidence(jws, { jwks: { keys: [{ ...jwk, x }] } }), 'INVALID', 'key', ...unsigned)
      const short = { key: new Uint8Array(31), signature: new Uint8Array(64) }
      expect(await crypto.verifyEd25519(short.key, new Uint8Array(1), short.signature)).to.equal(false)
      for (const changed of [jws.slice(0, -4), `${jws}AAAA`, jws.slice(0, jws.lastIndexOf('.') + 1)])
        await expectVerdict(evidence(changed), 'INVALID', ...unsigned)
    })

    it('another issuer than the service is not valid', async () => {
      await expectVerdict(evidence(signed({ ...PAYLOAD, iss: 'https://other.example' })), 'INVALID', 'issuer')
      const nameless = signed({ ...PAYLOAD, iss: undefined })
      await expectVerdict(evidence(nameless), 'INVALID', 'issuer')
      const record = { jws: nameless, status: 'VALID' }
      await expectVerdict(evidence(nameless, { record }), 'INVALID', 'issuer')
      const { checks } = await examine(evidence(signed(), { origin: 'https://pod.example' }), crypto)
      expect(checks.find((check) => check.name === 'issuer')?.detail).to.include('https://pod.example')
    })

    it('expires at its second and not before', async () => {
      const expiring = (exp: unknown) => evidence(signed({ ...PAYLOAD, exp }))
      await expectVerdict(expiring(NOW_SECONDS + 1), 'UNVERIFIED')
      await expectVerdict(expiring(NOW_SECONDS), 'EXPIRED', 'expiry')
      await expectVerdict(expiring('tomorrow'), 'INVALID', 'type', 'expiry')
      await expectVerdict(expiring(null), 'INVALID', 'type', 'expiry')
    })

    it('says what the service says of it; revoked outweighs expired, and silence is not valid', async () => {
      const expired = signed({ ...PAYLOAD, exp: NOW_SECONDS - 1 })
      await expectVerdict(evidence(signed(), {}, 'EXPIRED'), 'EXPIRED', 'status')
      await expectVerdict(evidence(signed(), {}, 'REVOKED'), 'REVOKED', 'status')
      await expectVerdict(evidence(expired, {}, 'REVOKED'), 'REVOKED', 'expiry', 'status')
      await expectVerdict(evidence(signed(), {}, 'toString'), 'INVALID', 'status')
      await expectVerdict(evidence(signed(), {}, ''), 'INVALID', 'status')
    })

    it('what is no JWS is not valid, and says why', async () => {
      const all: CheckName[] = ['type', 'key', ...unsigned]
      for (const text of [
        '',
        'a.b',
        'a.b.c.d',
        'e30.W10.AA',
        'e30.e30',
        '!.e30.AA',
        'AAAA.e30.AA',
        'e30.e30.A',
      ])
        await expectVerdict(evidence(text), 'INVALID', ...all)
      for (const text of [`${signed()}.AA`, signed([])])
        await expectVerdict(evidence(text), 'INVALID', ...all)
      await expectVerdict(evidence('', { record: null }), 'INVALID', ...all, 'status')
    })
  })
}

describe('the crypto of a page', () => {
  it('is the browser’s own where that knows Ed25519, else the bundled one', async () => {
    const without = {
      importKey: () => Promise.reject(new DOMException('Unrecognized name.', 'NotSupportedError')),
    }
    expect((await openCrypto(webcrypto.subtle as SubtleCrypto)).name).to.include('WebCrypto')
    expect((await openCrypto(undefined)).name).to.equal(bundledCrypto.name)
    expect((await openCrypto(without as Partial<SubtleCrypto> as SubtleCrypto)).name).to.equal(
      bundledCrypto.name,
    )
  })
})
