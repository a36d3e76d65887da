/** The issuer's keys, over a real database. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { issuerSignatureHolds } from '../../src/circuits/issuer-signature.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { createIssuer, type Issuer, issuerKeyId } from '../../src/keys/issuer.ts'
import { createSealing, SealingError } from '../../src/keys/sealing.ts'
import { MARGIN_MS, PUBLISHED_AHEAD_MS } from '../../src/keys/succession.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { sharedApp } from '../support/app.ts'
import { rotate } from '../support/rotation.ts'

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
    expect(key).to.deep.equal({ kid, ...point, validFrom: START_MS - MARGIN_MS, validUntil: undefined })
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
    await rotate({ database, sealing, clock }, 'issuer')
    const fresh = await issuer.current()
    expect(fresh.point).to.not.deep.equal(old.point)
    expect((await issuer.keys()).map((key) => [key.kid, key.validUntil])).to.deep.equal([
      [fresh.kid, undefined],
      [old.kid, now + 400 * DAY_MS],
    ])
    expect(await issuer.isValid(old.point, now + 400 * DAY_MS - 1)).to.equal(true)
    expect(await issuer.isValid(old.point, now + 400 * DAY_MS)).to.equal(false)
    expect(await issuer.isValid(fresh.point, now + 1000 * DAY_MS)).to.equal(true)
    expect(await issuer.isValid(fresh.point, now - MARGIN_MS - 1)).to.equal(false)
  })

  it('that sign at once count also by the clock of a server that is a minute behind, the others from when they were made', async () => {
    const leaked = await issuer.current()
    now += 1000
    await rotate({ database, sealing, clock }, 'issuer', { leaked: [leaked.kid] })
    const behind = await createIssuer({ database, sealing, clock: { now: () => now - MARGIN_MS } })
    const fresh = await behind.current()
    expect(fresh.kid).to.not.equal(leaked.kid)
    expect(await behind.isValid(fresh.point, now - MARGIN_MS)).to.equal(true)
    expect(await behind.isValid(leaked.point, now - MARGIN_MS)).to.equal(false)
    now += 1000
    await rotate({ database, sealing, clock }, 'issuer', { aheadMs: PUBLISHED_AHEAD_MS })
    const [next] = await (await create()).keys()
    expect(next?.validFrom).to.equal(now)
  })

  it('count for nothing once they leaked, at any time, also where they were replaced before', async () => {
    const service = { database, sealing, clock }
    const first = await issuer.current()
    now += 1000
    await rotate(service, 'issuer')
    const second = await issuer.current()
    now += 1000
    await rotate(service, 'issuer', { leaked: [first.kid] })
    expect((await issuer.keys()).map(({ validUntil }) => validUntil)).to.deep.equal([
      undefined,
      now + 400 * DAY_MS,
    ])
    expect(await issuer.isValid(first.point, START_MS)).to.equal(false)
    expect(await issuer.isValid(second.point, now + 399 * DAY_MS)).to.equal(true)
    now += 1000
    await rotate(service, 'issuer', { leaked: [(await issuer.current()).kid] })
    now += 1000
    expect(await issuer.keys()).to.have.length(2)
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
