import { expect } from 'chai'
import { createPseudonyms } from '../../src/keys/pseudonyms.ts'
import { createSealing } from '../../src/keys/sealing.ts'
import type { Database } from '../../src/store/database.ts'
import { openTestDatabase } from '../support/database.ts'

const EPOCH_MS = 90 * 24 * 60 * 60 * 1000

describe('pseudonyms', () => {
  let database: Database
  let now = 230 * EPOCH_MS
  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())
  const create = () =>
    createPseudonyms({
      database,
      sealing: createSealing(new Uint8Array(32).fill(1)),
      clock: { now: () => now },
    })

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
    expect(await database.knex('pseudonym_epochs').pluck('epoch')).to.deep.equal([231])
  })

  it('keep their key sealed', async () => {
    await create().of('org_1', 'key', 'a')
    const row = await database.knex('pseudonym_epochs').first()
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
