/** How statuses are given out: once each, whoever asks, in an order that nobody can tell. */
import { expect } from 'chai'
import { shuffledIndex } from '../../../src/domain/status/numbers.ts'
import { createSealing } from '../../../src/keys/sealing.ts'
import { STATUS_LIST_ENTRIES, statusPlace } from '../../../src/protocol/status.ts'
import type { Database } from '../../../src/store/database.ts'
import { statusesOn } from '../../support/domain/statuses.ts'
import { openTestDatabase } from '../../support/servers/database.ts'

const sealing = createSealing(new Uint8Array(32).fill(7))
const SERVERS = 3
const EACH = 200

describe('statuses that are given out', () => {
  let database: Database
  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())

  it('are all different, also those of several servers at once', async () => {
    const servers = await Promise.all(Array.from({ length: SERVERS }, () => statusesOn(database)))
    const given = await Promise.all(
      servers.flatMap((server) => Array.from({ length: EACH }, () => server.reserve())),
    )
    expect(new Set(given).size).to.equal(SERVERS * EACH)
    expect(new Set(given.map((status) => statusPlace(status).list))).to.deep.equal(new Set([0]))
  })

  it('go on in the next list when one is full', async () => {
    await database.knex.raw(`SELECT setval('status_blocks', ${STATUS_LIST_ENTRIES / 64 - 2})`)
    const statuses = await statusesOn(database)
    const given: number[] = []
    for (let i = 0; i < 66; i++) given.push(await statuses.reserve())
    const lists = given.map((status) => statusPlace(status).list)
    expect(lists).to.deep.equal([...Array(64).fill(0), 1, 1])
    await database.knex.raw(`SELECT setval('status_blocks', ${(3 * STATUS_LIST_ENTRIES) / 64})`)
    expect(statusPlace(await statuses.reserve()).list).to.equal(1)
    const [last] = await Promise.all(Array.from({ length: 64 }, () => statuses.reserve())).then((all) =>
      all.slice(-1),
    )
    expect(statusPlace(last ?? 0).list).to.equal(3)
  })
})

describe('the order of a list', () => {
  it('has each index once, whatever the keyed hash', () => {
    const weak = {
      mac: (_: string, data: Uint8Array) =>
        Buffer.of(
          data.reduce((sum, byte) => (sum * 31 + byte) & 255, 7),
          data.length,
        ),
    }
    const order = Array.from({ length: STATUS_LIST_ENTRIES }, (_, count) => shuffledIndex(weak, 0, count))
    expect(order.toSorted((a, b) => a - b).every((index, at) => index === at)).to.equal(true)
  })

  it('is the same on every server, another for each list and each master key', () => {
    const start = (list: number, by = sealing) =>
      Array.from({ length: 16 }, (_, count) => shuffledIndex(by, list, count))
    expect(start(0)).to.deep.equal(start(0, createSealing(new Uint8Array(32).fill(7))))
    expect(start(1)).to.not.deep.equal(start(0))
    expect(start(0, createSealing(new Uint8Array(32).fill(8)))).to.not.deep.equal(start(0))
  })

  it('leaves neighbours as far apart as chance would, and bits even', () => {
    const COUNT = 4096
    const indexes = Array.from({ length: COUNT }, (_, count) => shuffledIndex(sealing, 5, count))
    const distances = indexes.slice(1).map((index, i) => Math.abs(index - (indexes[i] as number)))
    const mean = distances.reduce((sum, distance) => sum + distance, 0) / distances.length
    // A third of the range, of whose standard error of 0.4 % this is many.
    expect(mean / STATUS_LIST_ENTRIES).to.be.within(0.31, 0.355)
    for (let bit = 0; bit < 17; bit++) {
      const ones = indexes.filter((index) => (index >> bit) & 1).length
      expect(ones / COUNT, `bit ${bit}`).to.be.within(0.45, 0.55)
    }
  })
})
