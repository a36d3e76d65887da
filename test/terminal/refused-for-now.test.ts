/** What the server refuses for now, such as stamps of a clock that is ahead: it stays, and holds up nothing else. */
import { expect } from 'chai'
import type { QueuedTransaction } from '../../src/protocol/sync.ts'
import { memoryStorage, type Terminal } from '../../src/terminal/index.ts'
import { terminals } from '../support/domain/terminals.ts'
import { eventually } from '../support/eventually.ts'
import { type ScriptedServer, startScriptedServer } from '../support/servers/scripted-server.ts'

const AHEAD_MS = 3_600_000

describe('payments that the server refuses for now', () => {
  const open = terminals()
  let server: ScriptedServer
  /** Items of each upload. */
  let uploads: number[]
  /** Unix ms, of the server. */
  let now: number
  beforeEach(async () => {
    server = await startScriptedServer()
    uploads = []
    now = Date.now()
    server.on('/api/merchant/payments/validate', () => ({ status: 503, body: {} }))
    server.on(
      '/api/merchant/transactions/sync',
      ({ transactions }: { transactions: QueuedTransaction[] }) => {
        uploads.push(transactions.length)
        const results = transactions.map(({ transactionId = '', timestamp }, index) => ({
          index,
          transactionId,
          status: Date.parse(String(timestamp)) > now ? 'rejected' : 'synced',
          assurance: 'mac',
        }))
        const errors = results
          .filter(({ status }) => status === 'rejected')
          .map(({ index, transactionId }) => ({
            index,
            transactionId,
            code: 'CLOCK_SKEW',
            message: 'It is early.',
            retryable: true,
          }))
        return { body: { synced: results.length - errors.length, failed: errors.length, errors, results } }
      },
    )
  })
  afterEach(() => server.close())

  let tillClock: number
  const takeMany = async (terminal: Terminal, count: number, aheadMs: number): Promise<void> => {
    tillClock = now + aheadMs
    for (let i = 0; i < count; i++) await terminal.pay({ cardToken: `tok_${aheadMs}_${i}`, amount: 1 })
  }

  it('wait, also over a restart, until their time has come, and starve no others', async () => {
    const storage = memoryStorage()
    const clock = { now: () => tillClock }
    server.on('/health', () => ({ status: 503, body: {} }))
    let terminal = await open({ baseUrl: server.url, storage, clock })
    await takeMany(terminal, 60, AHEAD_MS)
    await takeMany(terminal, 45, 0)
    const error = 'CLOCK_SKEW: It is early.'
    expect(await terminal.flush()).to.deep.equal({
      synced: 45,
      conflicts: 0,
      rejected: 0,
      pending: 60,
      error,
    })
    expect(uploads).to.deep.equal([50, 50, 5])
    expect(terminal.status()).to.deep.include({ pending: 60, rejected: [], lastError: error })
    await terminal.close()
    terminal = await open({ baseUrl: server.url, storage, clock })
    expect(await terminal.flush()).to.include({ synced: 0, pending: 60 })
    now += AHEAD_MS
    expect(await terminal.flush()).to.deep.equal({ synced: 60, conflicts: 0, rejected: 0, pending: 0 })
    expect(terminal.status()).to.not.have.property('lastError')
  })

  it('are left alone for a while, during which what is new is uploaded by itself', async () => {
    const terminal = await open({ baseUrl: server.url, clock: { now: () => tillClock } })
    await takeMany(terminal, 3, AHEAD_MS)
    await eventually('the first are refused', () => terminal.status().lastError !== undefined)
    const before = uploads.length
    await terminal.probe()
    await terminal.probe()
    await takeMany(terminal, 1, 0)
    await eventually('the new one is uploaded', async () => {
      await terminal.probe()
      return terminal.pending().count === 3
    })
    expect(uploads.slice(before)).to.deep.equal([1])
  })
})
