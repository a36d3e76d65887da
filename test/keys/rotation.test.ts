/** Rotations of the service's keys, over a real database: who signs when, what ends, and two that meet. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { createIssuer, type Issuer } from '../../src/keys/issuer.ts'
import { draftAllKeys, type KeyChange, rotateKeys } from '../../src/keys/rotation.ts'
import { createSealing } from '../../src/keys/sealing.ts'
import { createSigners, type Signers } from '../../src/keys/signers.ts'
import { KEY_MEMORY_MS, PUBLISHED_AHEAD_MS } from '../../src/keys/succession.ts'
import { KEYS_MAX_AGE_SECONDS } from '../../src/protocol/key-sets.ts'
import type { Database } from '../../src/store/database.ts'
import { rejection } from '../support/rejection.ts'
import { openTestDatabase } from '../support/servers/database.ts'

const START_MS = 1_800_000_000_000

describe('a rotation of the keys', function () {
  this.timeout(60_000)
  let database: Database
  let signers: Signers
  let issuer: Issuer
  let now = START_MS
  const clock = { now: () => now }
  const sealing = createSealing(randomBytes(32))

  beforeEach(async () => {
    now = START_MS
    database = await openTestDatabase()
    signers = await createSigners({ database, sealing, clock })
    issuer = await createIssuer({ database, sealing, clock })
  })
  afterEach(() => database.close())

  const rotate = (leaked: readonly string[] = [], at = now) => {
    const drafts = draftAllKeys(sealing)
    return database.knex.transaction((trx) => rotateKeys(trx, drafts, { leaked, at }))
  }
  const later = (ms: number): void => {
    now += ms
  }
  const token = async () => (await signers.current('tokens', 'Ed25519')).kid
  const published = async () => (await signers.jwks()).keys.map(({ kid }) => kid)
  const idsOf = (changes: readonly KeyChange[], change: KeyChange['change']) =>
    changes.filter((one) => one.change === change).map(({ kid }) => kid)
  const newToken = (changes: readonly KeyChange[]) =>
    changes.find((one) => one.change === 'new' && one.purpose === 'tokens' && one.alg === 'Ed25519')?.kid ??
    expect.fail('no new key')

  it('publishes new keys of each kind but the log’s for longer than anybody keeps a set, before they sign', async () => {
    const kinds = [
      ['results', 'Ed25519'],
      ['tickets', 'Ed25519'],
      ['status', 'ES256'],
      ['credentials', 'ES256'],
    ] as const
    const signing = async () => [
      ...(await Promise.all(kinds.map(async ([purpose, alg]) => (await signers.current(purpose, alg)).kid))),
      (await signers.postQuantum('tokens', 'ML-DSA-65')).kid,
      (await issuer.current()).kid,
    ]
    const [before, log] = [await signing(), await signers.current('log', 'Ed25519')]
    const changes = await rotate()
    expect(changes).to.have.length(2 * (4 + 4 + 1 + 1 + 1 + 1))
    expect(idsOf(changes, 'replaced')).to.include.members(before)
    expect(PUBLISHED_AHEAD_MS).to.be.at.least(KEYS_MAX_AGE_SECONDS * 1000 + KEY_MEMORY_MS)
    for (const { change, at } of changes)
      expect([change, at]).to.deep.equal([change, START_MS + PUBLISHED_AHEAD_MS])
    later(KEY_MEMORY_MS)
    const fresh = idsOf(changes, 'new')
    const all = [...(await published()), ...(await issuer.keys()).map(({ kid }) => kid)]
    expect(all).to.include.members([...fresh, ...before])
    const { x, y } = (await issuer.keys())[0] ?? expect.fail('no issuer key')
    expect(await issuer.isValid({ x, y }, now)).to.equal(true)

    later(PUBLISHED_AHEAD_MS - KEY_MEMORY_MS - 1)
    expect(await signing()).to.deep.equal(before)
    later(1)
    const after = await signing()
    expect(fresh).to.include.members(after)
    expect(await published(), 'replaced keys stay').to.include.members(before.slice(0, -1))
    expect((await signers.current('log', 'Ed25519')).kid).to.equal(log.kid)
  })

  it('ends a key that leaked at once, and puts its successor in its place', async () => {
    const leaked = await token()
    const results = (await signers.current('results', 'Ed25519')).kid
    const changes = await rotate([leaked])
    expect(idsOf(changes, 'ended')).to.deep.equal([leaked])
    expect(idsOf(changes, 'replaced')).to.not.include(leaked)
    later(KEY_MEMORY_MS)
    expect(await token()).to.equal(newToken(changes))
    expect(await published()).to.not.include(leaked)
    expect(await signers.publicKey('tokens', 'Ed25519', leaked)).to.equal(undefined)
    expect((await signers.current('results', 'Ed25519')).kid, 'others wait').to.equal(results)
    // By a clock that is behind, too.
    const behind = await createSigners({ database, sealing, clock: { now: () => START_MS - 60_000 } })
    expect((await behind.current('tokens', 'Ed25519')).kid).to.equal(newToken(changes))
    const again = await rotate([leaked], now)
    expect(again.find(({ change }) => change === 'ended')).to.include({ kid: leaked, at: START_MS })
  })

  it('ends a key that was replaced before, or signs later, without letting another sign sooner', async () => {
    const first = await token()
    const second = newToken(await rotate())
    later(PUBLISHED_AHEAD_MS)
    expect(await token()).to.equal(second)
    const third = newToken(await rotate([first]))
    later(KEY_MEMORY_MS)
    expect(await published()).to.not.include(first)
    expect(await token()).to.equal(second)
    const fourth = newToken(await rotate([third]))
    later(PUBLISHED_AHEAD_MS - 1)
    expect(await token()).to.equal(second)
    expect(await published())
      .to.include(second)
      .and.not.include(third)
    later(1)
    expect(await token()).to.equal(fourth)
  })

  it('lets none sign again that was replaced, when its successor leaked', async () => {
    const first = await token()
    const second = newToken(await rotate())
    later(PUBLISHED_AHEAD_MS)
    expect(await token()).to.equal(second)
    const changes = await rotate([second])
    later(KEY_MEMORY_MS)
    expect(await token())
      .to.equal(newToken(changes))
      .and.not.equal(first)
    expect(changes.find(({ kid }) => kid === newToken(changes))?.at).to.equal(now - KEY_MEMORY_MS)
  })

  it('lets the oldest sign for a server whose clock is behind that of a second rotation', async () => {
    const first = await token()
    const second = newToken(await rotate())
    await rotate([first], START_MS + PUBLISHED_AHEAD_MS)
    later(KEY_MEMORY_MS)
    expect(await token()).to.equal(second)
  })

  it('changes nothing for an id that is no key, or a key of the log', async () => {
    const { kid } = await signers.postQuantum('log', 'ML-DSA-44')
    const rows = () => database.knex('signing_keys').count('* as rows').first()
    const before = await rows()
    for (const [id, text] of [
      ['unknown', 'unknown is no key of this service'],
      [kid, `${kid} is a key of the log`],
    ] as const) {
      const { message } = await rejection(rotate([await token(), id]))
      expect(message).to.include(text).and.include('Nothing was changed')
    }
    expect(await rows()).to.deep.equal(before)
    expect(await database.knex('signing_keys').whereNotNull('ended_at')).to.deep.equal([])
  })

  it('ends all keys but the log’s, where all leaked', async () => {
    const before = await published()
    const { kid } = await issuer.current()
    const log = (await signers.jwks()).keys.length - 11
    const changes = await rotate(['all'])
    expect(idsOf(changes, 'ended')).to.have.length(12).and.include(kid)
    expect(idsOf(changes, 'replaced')).to.deep.equal([])
    later(KEY_MEMORY_MS)
    expect((await published()).filter((one) => before.includes(one))).to.have.length(log)
    expect(idsOf(await rotate(['all']), 'ended')).to.not.include(kid)
  })

  for (const [name, order] of [
    ['first', [true, false]],
    ['second', [false, true]],
  ] as const)
    it(`meets another one, and the key that leaked ends, whether its rotation comes ${name}`, async () => {
      const [leaked, point] = [await issuer.current(), (await issuer.current()).point]
      const kid = await token()
      const both = await Promise.all(order.map((ends) => rotate(ends ? [leaked.kid, kid] : [])))
      later(KEY_MEMORY_MS)
      expect(await issuer.isValid(point, START_MS)).to.equal(false)
      expect((await issuer.keys()).map((key) => key.kid)).to.not.include(leaked.kid)
      expect(await published()).to.not.include(kid)
      expect(both.flat().filter(({ change }) => change === 'new')).to.have.length(24)
      const versions: number[] = await database.knex('issuer_keys').orderBy('version').pluck('version')
      expect(versions).to.deep.equal([1, 2, 3])
      expect(await token()).to.be.oneOf(both.map(newToken))
    })

  it('keeps the first end of two', async () => {
    const kid = await token()
    await Promise.all([rotate([kid], START_MS), rotate([kid], START_MS)])
    await rotate([kid], START_MS + 5000)
    const rows = await database.knex('signing_keys').where({ kid }).pluck('ended_at')
    expect(rows).to.deep.equal([START_MS])
  })
})
