/** What servers write about deliveries that another one may have moved on meanwhile. */
import { expect } from 'chai'
import {
  deliveries,
  dropBeyond,
  findOverfull,
  leaseDeliveries,
  type Result,
  settleResults,
} from '../../../src/domain/webhooks/store-deliveries.ts'
import type { Database } from '../../../src/store/database.ts'
import { createRowWriter } from '../../../src/store/write-rows.ts'
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
})
