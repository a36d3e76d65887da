/** The issuer's keys, over a real database. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { issuerSignatureHolds } from '../../src/circuits/issuer-signature.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { createIssuer, type Issuer, issuerKeyId } from '../../src/keys/issuer.ts'
import { createSealing, SealingError } from '../../src/keys/sealing.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { sharedApp } from '../support/app.ts'

const START_MS = 1_800_000_000_000
const DAY_MS = 86_400_000

describe("the issuer's keys", () => {
  let database: Database
  let issuer: Issuer
  let now = START_MS
  const clock = { now: () => now }
  const sealing = createSealing(randomBytes(32))
  const create = () => createIssuer({ database, sealing, clock })

  beforeEach(async () => {
    now = START_MS
    database = await openDatabase({ dataDir: 'memory' })
    issuer = await create()
  })
  afterEach(() => database.close())

  it('sign what their published points verify, and the same each time', async () => {
    const { kid, point, sign } = await issuer.current()
    const [key, ...others] = await issuer.keys()
    expect(others).to.deep.equal([])
    expect(key).to.deep.equal({ kid, ...point, validFrom: START_MS, validUntil: undefined })
    expect(issuerSignatureHolds(5n, sign(5n), point)).to.equal(true)
    expect(issuerSignatureHolds(6n, sign(5n), point)).to.equal(false)
    expect(sign(5n)).to.deep.equal(sign(5n))
    expect(sign(5n).r8x).to.not.equal(sign(6n).r8x)
    for (const outside of [-1n, R]) expect(() => sign(outside)).to.throw(RangeError, 'message')
  })

  it('are the same after a restart, and when several servers start at once', async () => {
    const other = await openDatabase({ dataDir: 'memory' })
    try {
      const servers = await Promise.all(
        Array.from({ length: 4 }, () => createIssuer({ database: other, sealing, clock })),
      )
      const kids = await Promise.all(servers.map(async (server) => (await server.current()).kid))
      expect(new Set(kids).size).to.equal(1)
    } finally {
      await other.close()
    }
    expect((await (await create()).current()).kid).to.equal((await issuer.current()).kid)
  })

  it('are replaced by rotation, and what they signed counts until their end', async () => {
    const old = await issuer.current()
    now += 1000
    const kid = await issuer.rotate(DAY_MS)
    const fresh = await issuer.current()
    expect(fresh.kid).to.equal(kid)
    expect(fresh.point).to.not.deep.equal(old.point)
    expect((await issuer.keys()).map((key) => [key.kid, key.validUntil])).to.deep.equal([
      [kid, undefined],
      [old.kid, now + DAY_MS],
    ])
    expect(await issuer.isValid(old.point, now + DAY_MS - 1)).to.equal(true)
    expect(await issuer.isValid(old.point, now + DAY_MS)).to.equal(false)
    expect(await issuer.isValid(fresh.point, now + 1000 * DAY_MS)).to.equal(true)
    expect(await issuer.isValid(fresh.point, now - 1)).to.equal(false)
  })

  it('end at once where they leaked, without ending the ones before sooner', async () => {
    const first = await issuer.current()
    await issuer.rotate()
    const leaked = await issuer.current()
    await issuer.rotate(0)
    expect(await issuer.isValid(leaked.point, now)).to.equal(false)
    expect(await issuer.isValid(first.point, now + 399 * DAY_MS)).to.equal(true)
    expect((await (await create()).keys()).map(({ validUntil }) => validUntil)).to.deep.equal([
      undefined,
      now,
      now + 400 * DAY_MS,
    ])
  })

  it('end once when two servers rotate together', async () => {
    const other = await create()
    const old = await issuer.current()
    const kids = await Promise.all([issuer.rotate(DAY_MS), other.rotate(DAY_MS)])
    expect(kids[0]).to.equal(kids[1])
    expect(await issuer.keys()).to.have.length(2)
    expect(await other.isValid(old.point, now)).to.equal(true)
  })

  it('are nobody else’s: an unknown point is not valid', async () => {
    const { x, y } = (await issuer.current()).point
    for (const point of [
      { x, y: R - y },
      { x: R - x, y },
      { x: y, y: x },
    ])
      expect(await issuer.isValid(point, now)).to.equal(false)
  })

  it('lie sealed in the database, and are noticed at the start as of another master key', async () => {
    const [row] = await database.knex('issuer_keys')
    // Version, nonce, seed and tag.
    expect(row.sealed_private).to.have.length(1 + 12 + 32 + 16)
    const stranger = createSealing(randomBytes(32))
    const failure = await createIssuer({ database, sealing: stranger, clock }).catch((e: unknown) => e)
    expect(failure).to.be.instanceOf(SealingError)
  })
})

describe('GET /.well-known/issuer-keys', () => {
  it('publishes the keys to anybody, named by a hash of their points', async () => {
    const app = await sharedApp()
    const { status, body, headers } = await app.request<{ keys: Record<string, string | null>[] }>(
      'GET',
      '/.well-known/issuer-keys',
      { headers: { origin: 'https://verifier.example' } },
    )
    expect(status).to.equal(200)
    expect(headers.get('cache-control')).to.equal('public, max-age=300')
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    const { kid, point } = await app.services.issuer.current()
    const [key] = body.keys
    expect(key).to.deep.include({ kid, alg: 'EdDSA-Poseidon', curve: 'BabyJubJub', validUntil: null })
    expect({ x: BigInt(key?.x ?? ''), y: BigInt(key?.y ?? '') }).to.deep.equal(point)
    expect(kid).to.equal(issuerKeyId(point))
    expect(kid).to.match(/^[\w-]{43}$/)
    expect(Date.parse(key?.validFrom ?? '')).to.be.at.most(app.services.clock.now())
  })
})
