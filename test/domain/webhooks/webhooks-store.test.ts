/** What servers write about deliveries that another one may have moved on meanwhile. */
import { expect } from 'chai'
import { createDispatcher, type Dispatcher } from '../../../src/domain/webhooks/dispatcher.ts'
import type { OpenedEndpoint } from '../../../src/domain/webhooks/sealed-endpoint.ts'
import {
  countDeliveries,
  countWaiting,
  deliveries,
  dropBeyond,
  findDue,
  findOverfull,
  type LeasedDelivery,
  leaseDeliveries,
  MAX_COUNTED_DELIVERIES,
  type Result,
  settleResults,
} from '../../../src/domain/webhooks/store-deliveries.ts'
import type { Database } from '../../../src/store/database.ts'
import { createRowWriter } from '../../../src/store/write-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { onPostgres, openTestDatabase } from '../../support/servers/database.ts'

const LEASE_MS = 60_000
const DISTANT_FUTURE_MS = 4_000_000_000_000

describe('rows of webhook deliveries', () => {
  let database: Database
  let endpoints = 0
  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())

  const newEndpoint = async (): Promise<string> => {
    const id = `whk_${endpoints++}`
    const bytes = Buffer.of(0)
    const row = {
      id,
      organisation: 'org_1',
      label: '',
      sealed_url: bytes,
      sealed_secret: bytes,
      created_at: 0,
    }
    const rest = { events: '[]', active: true, private_egress: false, announces_from: 0 }
    await database.knex('webhook_endpoints').insert({ ...row, ...rest })
    return id
  }

  /** Deliveries with ids `<endpoint> <number>`, due one ms after the other. */
  const add = async (endpoint: string, count: number, dueAt = 1): Promise<void> => {
    const writer = createRowWriter()
    for (let n = 0; n < count; n++) {
      const row = {
        id: `${endpoint} ${n}`,
        endpoint,
        event: 'proof.verified' as const,
        entry_index: n,
        body: '{}',
      }
      writer.add(deliveries.row({ ...row, due_at: dueAt + n }))
    }
    const { text, values, name } = writer.query('SELECT 1', [])
    await database.query(text, values, name)
  }

  const endpointOf = (id: string) => database.knex('webhook_endpoints').where({ id }).first()
  const idsOf = async (endpoint: string): Promise<string[]> =>
    (await database.knex('webhook_deliveries').where({ endpoint }).orderBy('due_at').select('id')).map(
      ({ id }: { id: string }) => id,
    )

  const opened = (id: string, active = true, announces_from = 0): OpenedEndpoint => ({
    id,
    organisation: 'org_1',
    active,
    announces_from,
    private_egress: false,
    url: 'https://receiver.example/',
    secret: 'whsec_0',
  })
  /** Makes what is due, to receivers that take all. */
  const dispatch = (
    findEndpoint: (id: string) => Promise<OpenedEndpoint | undefined>,
    made: (delivery: LeasedDelivery) => void,
  ): Dispatcher =>
    createDispatcher({
      database,
      logger: { warn: () => undefined },
      pausesMs: [0],
      random: () => 0.5,
      findEndpoint,
      attempt: async (delivery) => {
        made(delivery)
        return { outcome: 'delivered', at: 1, status: 204 }
      },
      attempted: () => undefined,
      ended: () => undefined,
      turned: () => undefined,
    })

  it('change no more for a server whose claim another one has used', async () => {
    const endpoint = await newEndpoint()
    await add(endpoint, 1)
    const id = `${endpoint} 0`
    const result = (end: Result['end'], attempts: number): Result[] => [
      { id, endpoint, attempts, end, at: 1_000, status: 500, ...(end === 'failed' && { pauseMs: LEASE_MS }) },
    ]
    await settleResults(database, result('failed', 0))
    const before = await database.knex('webhook_deliveries').where({ id }).first()
    expect(before).to.include({ attempts: 1 })
    for (const end of ['failed', 'delivered', 'dropped', 'discarded', 'released'] as const)
      expect([...(await settleResults(database, result(end, 0))).ended], end).to.deep.equal([])
    expect(await database.knex('webhook_deliveries').where({ id }).first()).to.deep.equal(before)
    expect(await endpointOf(endpoint)).to.include({ failure_count: 0, last_status: 500 })
    expect([...(await settleResults(database, result('dropped', 1))).ended]).to.deep.equal([id])
    expect([...(await settleResults(database, result('dropped', 1))).ended]).to.deep.equal([])
    expect(await endpointOf(endpoint)).to.include({ failure_count: 1 })
  })

  it('are claimed once, the longest due first, and again only when the claim has ended', async () => {
    const endpoint = await newEndpoint()
    await add(endpoint, 5)
    const claim = async (leaseMs: number) =>
      (await leaseDeliveries(database, new Map([[endpoint, 3]]), leaseMs)).map(({ id }) => id).sort()
    const numbered = (...numbers: number[]) => numbers.map((n) => `${endpoint} ${n}`)
    expect(await claim(LEASE_MS)).to.deep.equal(numbered(0, 1, 2))
    expect(await claim(-LEASE_MS)).to.deep.equal(numbered(3, 4))
    expect(await claim(LEASE_MS)).to.deep.equal(numbered(3, 4))
    expect(await claim(LEASE_MS)).to.deep.equal([])
  })

  it('say who has something due, the longest due first, unless too many are due to say so', async () => {
    await database.knex('webhook_deliveries').delete()
    const [late, early, waiting] = [await newEndpoint(), await newEndpoint(), await newEndpoint()]
    expect(await findDue(database, 1)).to.deep.equal([])
    await add(waiting, 50, DISTANT_FUTURE_MS)
    expect(await findDue(database, 1)).to.deep.equal([])
    await add(late, 3, 100)
    await add(early, 2, 99)
    expect(await findDue(database, 6)).to.deep.equal([early, late])
    expect(await findDue(database, 5)).to.equal(undefined)
    await leaseDeliveries(database, new Map([[early, 2]]), LEASE_MS)
    expect(await findDue(database, 5)).to.deep.equal([late])
  })

  it('beyond a limit go oldest first, a few at a time, and are counted; what is claimed stays', async () => {
    const endpoint = await newEndpoint()
    await add(endpoint, 10)
    expect(await findOverfull(database, [endpoint], 9)).to.deep.equal([endpoint])
    const drop = async (limit: number) => (await dropBeyond(database, endpoint, limit, 3)).length
    expect([await drop(5), await drop(5), await drop(5)]).to.deep.equal([3, 2, 0])
    expect(await idsOf(endpoint)).to.deep.equal([5, 6, 7, 8, 9].map((n) => `${endpoint} ${n}`))
    expect(await findOverfull(database, [endpoint], 5)).to.deep.equal([])
    await database.knex('webhook_deliveries').where({ endpoint }).update({ due_at: DISTANT_FUTURE_MS })
    expect(await drop(0)).to.equal(0)
    expect(await endpointOf(endpoint)).to.include({ failure_count: 5 })
  })

  onPostgres.it('beyond a limit lock nothing of what stays, so that servers go on with it', async () => {
    const endpoint = await newEndpoint()
    await add(endpoint, 10)
    const session = await database.session()
    try {
      await session.query('BEGIN')
      const dropped = await dropBeyond({ ...database, query: session.query }, endpoint, 6, 3)
      expect(dropped).to.have.length(3)
      const claimed = await leaseDeliveries(database, new Map([[endpoint, 10]]), LEASE_MS)
      expect(claimed).to.have.length(7)
      await session.query('COMMIT')
    } finally {
      session.release()
    }
    expect(await idsOf(endpoint)).to.have.length(7)
  })

  it('that follow a pause wait for a server that still remembers it, and those of before and during it go', async () => {
    const endpoint = await newEndpoint()
    // Of entries 0 to 6: paused before 5, which the server remembers, and resumed before 6.
    await add(endpoint, 7)
    let isKnown = false
    let looks = 0
    const made: number[] = []
    const dispatcher = dispatch(
      async () => {
        looks += 1
        return isKnown ? opened(endpoint, true, 6) : opened(endpoint, false, 5)
      },
      ({ entry_index }) => made.push(entry_index),
    )
    try {
      const left = (...numbers: number[]) =>
        eventually(`only ${numbers} are left`, async () => {
          const ids = (await idsOf(endpoint)).sort()
          return ids.join() === numbers.map((n) => `${endpoint} ${n}`).join()
        })
      await left(5, 6)
      const before = looks
      await eventually('it is looked at again', () => looks > before)
      isKnown = true
      await left()
    } finally {
      await dispatcher.close()
    }
    expect(made).to.deep.equal([6])
    // It is looked at now and then, not all the time.
    expect(looks).to.be.below(20)
  })

  it('are made to everybody, also where more are due than to be told at once to whom', async () => {
    await database.knex('webhook_deliveries').delete()
    const counts = new Map([
      [await newEndpoint(), 1],
      [await newEndpoint(), 700],
      [await newEndpoint(), 2],
    ])
    for (const [endpoint, count] of counts) await add(endpoint, count)
    const made = new Map<string, number>()
    const dispatcher = dispatch(
      async (id) => opened(id),
      ({ endpoint }) => made.set(endpoint, (made.get(endpoint) ?? 0) + 1),
    )
    try {
      await eventually('nothing is left', async () => (await countDeliveries(database)) === 0)
    } finally {
      await dispatcher.close()
    }
    expect(made).to.deep.equal(counts)
  })

  it('are counted a few endpoints at a time, and no more of them than are told', async () => {
    const endpoints = await Promise.all(Array.from({ length: 5 }, newEndpoint))
    for (const [i, endpoint] of endpoints.entries()) await add(endpoint, i * 10)
    const asked: string[] = []
    const watched: Pick<Database, 'query'> = {
      query(text, values, name) {
        asked.push(String(values?.[0]))
        return database.query(text, values, name)
      },
    }
    const counts = await countWaiting(watched, endpoints, 25)
    expect(endpoints.map((endpoint) => counts.get(endpoint))).to.deep.equal([0, 10, 20, 25, 25])
    expect(asked).to.deep.equal([0, 2, 4].map((i) => endpoints.slice(i, i + 2).join()))
    const crowd = await newEndpoint()
    await database.knex.raw(
      `INSERT INTO webhook_deliveries (id, endpoint, event, entry_index, body, due_at)
        SELECT 'crowd ' || i, ?, 'proof.verified', i, '{}', ${DISTANT_FUTURE_MS} FROM generate_series(1, ?::int) AS i`,
      [crowd, MAX_COUNTED_DELIVERIES + 1000],
    )
    expect(await countDeliveries(database)).to.equal(MAX_COUNTED_DELIVERIES)
    await database.knex('webhook_deliveries').where({ endpoint: crowd }).delete()
    expect(await countDeliveries(database)).to.be.within(75, 500)
  })

  it('that are counted leave others a turn of the event loop after each query', async () => {
    const passed: string[] = []
    const instant: Pick<Database, 'query'> = {
      async query() {
        passed.push('query')
        setImmediate(() => passed.push('turn'))
        return { rows: [], rowCount: 0 }
      },
    }
    await countWaiting(instant, ['a', 'b', 'c', 'd', 'e'], 25)
    expect(passed).to.deep.equal(['query', 'turn', 'query', 'turn', 'query', 'turn'])
  })
})
