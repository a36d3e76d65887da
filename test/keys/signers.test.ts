/** The service's own signing keys, over a real database. */
import { createPublicKey, randomBytes, verify } from 'node:crypto'
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import { expect } from 'chai'
import { calculateJwkThumbprint, compactVerify, createLocalJWKSet } from 'jose'
import { systemClock } from '../../src/clock.ts'
import type { PublishedJwk } from '../../src/keys/jwks.ts'
import type { KeyChange } from '../../src/keys/rotation.ts'
import { createSealing, SealingError } from '../../src/keys/sealing.ts'
import { algorithmsOf, createSigners, SIGNING_PURPOSES, type Signers } from '../../src/keys/signers.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { sharedApp } from '../support/app.ts'
import { verifyWithPython } from '../support/outside-programs.ts'
import { rejection } from '../support/rejection.ts'
import { rotate, rotateNoticed } from '../support/rotation.ts'

const message = Buffer.from('what was checked')

const keyOf = async (signers: Signers, kid: string): Promise<PublishedJwk> => {
  const found = (await signers.jwks()).keys.find((key) => key.kid === kid)
  return found ?? expect.fail(`no key ${kid} is published`)
}

/** The new Ed25519 key. */
const kidOf = (changes: readonly KeyChange[]): string =>
  changes.find(({ change, alg }) => change === 'new' && alg === 'Ed25519')?.kid ?? expect.fail('no new key')

describe('signing keys', () => {
  let database: Database
  let signers: Signers
  const sealing = createSealing(randomBytes(32))
  const create = () => createSigners({ database, sealing, clock: systemClock })
  let service: Parameters<typeof rotate>[0]

  before(async () => {
    database = await openDatabase({ dataDir: 'memory' })
    service = { database, sealing, clock: systemClock }
    signers = await create()
  })
  after(() => database.close())

  it('are one per purpose and algorithm, named by their thumbprint', async () => {
    const { keys } = await signers.jwks()
    expect(keys).to.have.length(SIGNING_PURPOSES.flatMap(algorithmsOf).length)
    expect(new Set(keys.map(({ kid }) => kid)).size).to.equal(keys.length)
    for (const key of keys) {
      const thumbprint = await calculateJwkThumbprint({ ...key }, 'sha256')
      expect(key.kid).to.be.oneOf([thumbprint, thumbprint.slice(0, 8)])
      expect(key.use).to.equal('sig')
      expect(key).to.not.have.any.keys('d', 'priv', 'k')
    }
  })

  it('for tickets are Ed25519 keys with short names, and no others are', async () => {
    const { kid } = await signers.current('tickets', 'Ed25519')
    const short = (await signers.jwks()).keys.filter((key) => key.kid.length < 43)
    expect(short.map((key) => key.kid)).to.deep.equal([kid])
    expect(short[0]).to.include({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' })
    expect(kid).to.have.length(8)
    expect(await rejection(signers.postQuantum('tickets', 'ML-DSA-44'))).to.be.an('error')
  })

  it('are found by their id for their own purpose and algorithm only, also those of another server', async () => {
    const { kid } = await signers.current('tokens', 'Ed25519')
    expect(await signers.publicKey('tokens', 'Ed25519', kid)).to.include({ kty: 'OKP', crv: 'Ed25519' })
    expect(await signers.publicKey('results', 'Ed25519', kid)).to.equal(undefined)
    expect(await signers.publicKey('tokens', 'ES256', kid)).to.equal(undefined)
    expect(await signers.publicKey('tokens', 'Ed25519', '__proto__')).to.equal(undefined)
    const before = await create()
    const fresh = kidOf(await rotate(service, 'tokens'))
    expect(await before.publicKey('tokens', 'Ed25519', fresh), 'at once').to.include({ crv: 'Ed25519' })
    expect(await before.publicKey('tokens', 'Ed25519', kid)).to.include({ crv: 'Ed25519' })
  })

  it('of ML-DSA sign what their published half verifies, under a context', async () => {
    const context = Buffer.from('hybrid-token/1')
    for (const [alg, scheme, bytes] of [
      ['ML-DSA-44', ml_dsa44, 2420],
      ['ML-DSA-65', ml_dsa65, 3309],
    ] as const) {
      const { kid, sign } = await signers.postQuantum('tokens', alg)
      const { kty, alg: named, pub = '' } = await keyOf(signers, kid)
      expect({ kty, named }).to.deep.equal({ kty: 'AKP', named: alg })
      const key = new Uint8Array(Buffer.from(pub, 'base64url'))
      const signature = await sign(message, context)
      expect(signature).to.have.length(bytes)
      expect(scheme.verify(signature, message, key, { context })).to.equal(true)
      expect(scheme.verify(signature, message, key)).to.equal(false)
      expect(scheme.verify(signature, Buffer.from('other'), key, { context })).to.equal(false)
      expect(scheme.verify(await sign(message), message, key)).to.equal(true)
      const longest = new Uint8Array(255)
      expect(scheme.verify(await sign(message, longest), message, key, { context: longest })).to.equal(true)
      expect(await rejection(sign(message, new Uint8Array(256)))).to.be.instanceOf(RangeError)
    }
  })

  it('of Ed25519 and P-256 sign what their published half verifies', async () => {
    for (const [alg, hash] of [
      ['Ed25519', null],
      ['ES256', 'sha256'],
    ] as const) {
      const { kid, sign } = await signers.current('results', alg)
      const signature = sign(message)
      expect(signature).to.have.length(64)
      const key = createPublicKey({ key: { ...(await keyOf(signers, kid)) }, format: 'jwk' })
      expect(verify(hash, message, { key, dsaEncoding: 'ieee-p1363' }, signature)).to.equal(true)
      expect(verify(hash, Buffer.from('other'), { key, dsaEncoding: 'ieee-p1363' }, signature)).to.equal(
        false,
      )
    }
  })

  it('are the same after a restart, and when several servers start at once', async () => {
    const others = await Promise.all([create(), create(), create()])
    const { kid } = await signers.current('log', 'Ed25519')
    for (const other of others) expect((await other.current('log', 'Ed25519')).kid).to.equal(kid)
    // Those of one purpose were replaced above.
    const count = SIGNING_PURPOSES.flatMap(algorithmsOf).length + algorithmsOf('tokens').length
    for (const other of others) expect((await other.jwks()).keys).to.have.length(count)
  })

  it('are replaced by rotation, and stay published for what they signed', async () => {
    const before = await signers.current('results', 'Ed25519')
    const signature = before.sign(message)
    const kid = kidOf(await rotateNoticed(service, 'results'))
    expect(kid).to.not.equal(before.kid)
    expect((await signers.current('results', 'Ed25519')).kid).to.equal(kid)
    const key = createPublicKey({ key: { ...(await keyOf(signers, before.kid)) }, format: 'jwk' })
    expect(verify(null, message, key, signature)).to.equal(true)
    expect((await (await create()).current('results', 'Ed25519')).kid).to.equal(kid)
    expect((await signers.current('tokens', 'Ed25519')).kid).to.not.equal(kid)
  })

  it('sign with the newest, however fast they follow each other', async () => {
    const clock = { now: () => 0 }
    const seen = new Set<string>()
    for (let i = 0; i < 5; i++) {
      const kid = kidOf(await rotate({ database, sealing, clock }, 'tokens'))
      expect(seen.has(kid)).to.equal(false)
      const still = await createSigners({ database, sealing, clock })
      expect((await still.current('tokens', 'Ed25519')).kid).to.equal(kid)
      seen.add(kid)
    }
  })

  it('lie sealed in the database', async () => {
    const rows: { sealed_private: Uint8Array; public_jwk: { x?: string } }[] =
      await database.knex('signing_keys')
    expect(rows).to.not.deep.equal([])
    for (const { sealed_private } of rows) {
      // An unsealed PKCS #8 key begins with a DER SEQUENCE.
      expect(sealed_private[0]).to.equal(1)
      expect(sealed_private.length).to.be.at.least(32 + 29)
    }
  })

  it('notice at the start that the database belongs to another master key', async () => {
    const stranger = createSealing(randomBytes(32))
    const failure = await createSigners({ database, sealing: stranger, clock: systemClock }).catch(
      (e: unknown) => e,
    )
    expect(failure).to.be.instanceOf(SealingError)
  })

  it('are read ten times a second at most, whatever ids strangers make up, and found within that', async () => {
    let now = Date.now()
    const own = await createSigners({ database, sealing, clock: { now: () => now } })
    const find = (kid: string) => own.publicKey('tokens', 'Ed25519', kid)
    now += 1000
    let reads = 0
    const count = ({ sql }: { sql: string }) => {
      if (sql.includes('signing_keys')) reads++
    }
    database.knex.on('query', count)
    for (let i = 0; i < 20; i++) expect(await find(`made up ${i}`)).to.equal(undefined)
    database.knex.removeListener('query', count)
    expect(reads).to.equal(2)
    const fresh = kidOf(await rotate(service, 'tokens'))
    now += 100
    expect(await find(fresh)).to.include({ crv: 'Ed25519' })
  })
})

describe('the published keys', () => {
  const setAt = async (path: string) =>
    (await (await sharedApp()).request<{ keys: PublishedJwk[] }>('GET', path)).body

  it('stand in two documents: what JWT libraries know, and ML-DSA', async () => {
    const { signers } = (await sharedApp()).services
    const [known, postQuantum] = [
      await setAt('/.well-known/jwks.json'),
      await setAt('/.well-known/jwks-pq.json'),
    ]
    expect(new Set(known.keys.map(({ crv }) => crv))).to.deep.equal(new Set(['Ed25519', 'P-256']))
    const algorithms = postQuantum.keys.map(({ kty, alg }) => `${kty} ${alg}`)
    expect(new Set(algorithms)).to.deep.equal(new Set(['AKP ML-DSA-44', 'AKP ML-DSA-65']))
    const { keys } = await signers.jwks()
    expect([...known.keys, ...postQuantum.keys]).to.have.deep.members([...keys])
  })

  for (const library of ['jwcrypto', 'authlib'] as const)
    it(`of the first load whole into ${library}, which verifies what they sign`, async function () {
      const { signers } = (await sharedApp()).services
      const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      for (const [alg, name] of [
        ['Ed25519', 'EdDSA'],
        ['ES256', 'ES256'],
      ] as const) {
        const { kid, sign } = await signers.current('tokens', alg)
        const input = `${encode({ alg: name, kid })}.${encode({ hello: 'world' })}`
        const token = `${input}.${Buffer.from(sign(Buffer.from(input))).toString('base64url')}`
        const set = await setAt('/.well-known/jwks.json')
        expect(verifyWithPython(this, library, token, set)).to.deep.equal({ hello: 'world' })
        const other = `${input.slice(0, -2)}AA.${token.split('.')[2]}`
        expect(() => verifyWithPython(this, library, other, set)).to.throw()
      }
    })

  it('lets jose verify a JWS that the service signed', async () => {
    const app = await sharedApp()
    const { signers } = app.services
    const { status, body, headers } = await app.request<{ keys: PublishedJwk[] }>(
      'GET',
      '/.well-known/jwks.json',
      {
        headers: { origin: 'https://verifier.example' },
      },
    )
    expect(status).to.equal(200)
    expect(headers.get('cache-control')).to.equal('public, max-age=300')
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    const { kid, sign } = await signers.current('results', 'Ed25519')
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const input = `${encode({ alg: 'EdDSA', kid, typ: 'test+jws' })}.${encode({ hello: 'world' })}`
    const keys = createLocalJWKSet({ keys: body.keys.map((key) => ({ ...key })) })
    const jws = `${input}.${Buffer.from(sign(Buffer.from(input))).toString('base64url')}`
    const { payload } = await compactVerify(jws, keys)
    expect(JSON.parse(Buffer.from(payload).toString())).to.deep.equal({ hello: 'world' })
    const forged = await compactVerify(`${jws.slice(0, -10)}AAAAAAAAAA`, keys).catch(
      (error: unknown) => error,
    )
    expect(forged).to.be.instanceOf(Error)
  })
})
