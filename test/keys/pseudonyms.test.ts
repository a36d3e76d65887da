import { expect } from 'chai'
import { createPseudonyms } from '../../src/keys/pseudonyms.ts'
import { createSealing } from '../../src/keys/sealing.ts'
import type { Database } from '../../src/store/database.ts'
import { openTestDatabase } from '../support/servers/database.ts'

const EPOCH_MS = 90 * 24 * 60 * 60 * 1000

describe('pseudonyms', () => {
  let database: Database
  // Long past, so that the database's clock allows every step.
  let now = 200 * EPOCH_MS
  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())
  const create = (on = database) =>
    createPseudonyms({
      database: on,
      sealing: createSealing(new Uint8Array(32).fill(1)),
      clock: { now: () => now },
    })

  const keptKeys = (): Promise<number[]> =>
    database.knex('pseudonym_epochs').whereRaw('length(sealed_key) > 0').orderBy('epoch').pluck('epoch')

  it('are the same on every server, and differ by organisation, kind and id', async () => {
    const [one, two] = [create(), create()]
    const [first, second] = await Promise.all([
      one.of('org_1', 'terminal', 'a'),
      two.of('org_1', 'terminal', 'a'),
    ])
    expect(first).to.match(/^[0-9a-f]{64}$/)
    expect(second).to.equal(first)
    expect(await one.of('org_1', 'terminal', 'a')).to.equal(first)
    const others = await Promise.all([
      one.of('org_2', 'terminal', 'a'),
      one.of('org_1', 'key', 'a'),
      one.of('org_1', 'terminal', 'b'),
      one.of('org_1', 'termina', 'la'),
    ])
    expect(new Set([first, ...others]).size).to.equal(5)
  })

  it('change with the epoch, whose key is then destroyed', async () => {
    const pseudonyms = create()
    const before = await pseudonyms.of('org_1', 'key', 'a')
    now += EPOCH_MS - 1
    expect(await pseudonyms.of('org_1', 'key', 'a')).to.equal(before)
    now += 1
    expect(await pseudonyms.of('org_1', 'key', 'a')).not.to.equal(before)
    expect(await keptKeys()).to.deep.equal([201])
  })

  it('never come back to an epoch that has ended, not even on a server whose clock is slow', async () => {
    const [ahead, behind] = [create(), create()]
    const old = await behind.of('org_1', 'key', 'a')
    now += EPOCH_MS
    const later = await ahead.of('org_1', 'key', 'a')
    // Slow by a minute, and by more than an epoch: both are given the newest epoch, and no key is made for theirs.
    for (const slow of [60_000, EPOCH_MS, 3 * EPOCH_MS]) {
      now -= slow
      const { number, of } = await create().epoch()
      expect(number).to.equal(202)
      expect(of('org_1', 'key', 'a'))
        .to.equal(later)
        .and.not.to.equal(old)
      now += slow
    }
    expect(await keptKeys()).to.deep.equal([202])
  })

  it('are given one key by servers on both sides of the boundary that start at once', async () => {
    now += EPOCH_MS
    const sides = Array.from({ length: 6 }, (_, i) => create().epoch(i % 2 === 0 ? now : now - EPOCH_MS + 1))
    await Promise.all(sides)
    expect(await keptKeys()).to.deep.equal([203])
    expect((await create().epoch(now - EPOCH_MS + 1)).number).to.equal(203)
  })

  it('make no key for an epoch that ends between the look and the making', async () => {
    now += 5 * EPOCH_MS
    const overtaken = new Proxy(database.knex, {
      get: (knex, name) =>
        name === 'raw'
          ? async (...args: [string]) => {
              if (args[0].startsWith('INSERT')) await create().epoch(now)
              return knex.raw(...args)
            }
          : Reflect.get(knex, name),
    })
    const slow = create({ ...database, knex: overtaken })
    expect((await slow.epoch(now - 3 * EPOCH_MS)).number).to.equal(208)
    expect(await keptKeys()).to.deep.equal([208])
  })

  it('destroy the keys before theirs, also when the server that should have done so ended first', async () => {
    now += EPOCH_MS
    const dying = new Proxy(database.knex, {
      get: (knex, name) =>
        name === 'raw'
          ? async (...args: [string]) => {
              await knex.raw(...args)
              if (args[0].startsWith('INSERT')) throw new Error('killed')
              return knex.raw(...args)
            }
          : Reflect.get(knex, name),
    })
    const death = await create({ ...database, knex: dying })
      .epoch()
      .catch((error: Error) => error.message)
    expect(death).to.equal('killed')
    expect(await keptKeys()).to.deep.equal([208, 209])
    await create().epoch()
    expect(await keptKeys()).to.deep.equal([209])
  })

  it('go on changing after a server whose clock is far in the future has asked', async () => {
    const later = Math.floor(Date.now() / EPOCH_MS)
    for (const far of [later + 2, 60_000]) {
      const refused = await create()
        .epoch(far * EPOCH_MS)
        .catch((error: Error) => error.message)
      expect(refused).to.match(/far ahead/)
    }
    const before = await create().of('org_1', 'key', 'a')
    now += EPOCH_MS
    expect(await create().of('org_1', 'key', 'a')).not.to.equal(before)
    expect(await keptKeys()).to.deep.equal([210])
  })

  it('keep their key sealed', async () => {
    await create().of('org_1', 'key', 'a')
    const row = await database.knex('pseudonym_epochs').orderBy('epoch', 'desc').first()
    expect(row.sealed_key).to.have.length(32 + 29)
    const stranger = createPseudonyms({
      database,
      sealing: createSealing(new Uint8Array(32).fill(2)),
      clock: { now: () => now },
    })
    expect(await stranger.of('org_1', 'key', 'a').catch((error: Error) => error.name)).to.equal(
      'SealingError',
    )
  })
})
