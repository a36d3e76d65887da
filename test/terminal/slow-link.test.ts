import { expect } from 'chai'
import {
  memoryStorage,
  type Terminal,
  type TerminalEvents,
  type TerminalOptions,
} from '../../src/terminal/index.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { terminals } from '../support/domain/terminals.ts'
import { eventually } from '../support/eventually.ts'
import { rejection } from '../support/rejection.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { type ScriptedServer, startScriptedServer } from '../support/servers/scripted-server.ts'
import { type SlowProxy, startSlowProxy } from '../support/servers/slow-proxy.ts'

/** More than a quick probe may take, and less than a request may. */
const DELAY_MS = 700

interface NewTerminal {
  terminalId: string
  terminalSecret: string
  merchantId: string
  apiKey: string
}

const pay = (terminal: Terminal, cardToken: string, amount = 12.5) => terminal.pay({ cardToken, amount })

/** What the terminal says of uploads from now on. */
const uploadsOf = (terminal: Terminal): TerminalEvents['synced'][] => {
  const seen: TerminalEvents['synced'][] = []
  terminal.on('synced', (detail) => seen.push(detail))
  return seen
}

describe('a terminal on a slow link', () => {
  const open = terminals()
  let app: TestApp
  let shop: TestOrganisation
  let link: SlowProxy
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    shop = await app.organisation()
    link = await startSlowProxy(app.url, DELAY_MS)
  })
  afterEach(() => link.close())

  const till = async (options: Partial<TerminalOptions> = {}): Promise<Terminal> => {
    const { body } = await app.request<NewTerminal>('POST', '/console/api/terminals', {
      key: shop.apiKey,
      body: { label: 'Till' },
    })
    return open({ baseUrl: link.url, ...body, ...options })
  }
  const booked = async (): Promise<number> => {
    const rows = await app.services.database.knex('payments').where({ organisation: shop.organisationId })
    return rows.length
  }

  it('accepts without asking, and uploads by itself', async () => {
    const terminal = await till()
    const uploads = uploadsOf(terminal)
    expect(await terminal.probe()).to.equal(false)
    expect(await pay(terminal, 'tok_1')).to.include({ accepted: true, queued: true })
    await eventually('the upload', () => uploads.length === 1)
    expect(uploads[0]?.status).to.equal('synced')
    // Later ones too, though the terminal never was online.
    expect(await pay(terminal, 'tok_2')).to.include({ accepted: true, queued: true })
    await eventually('the second upload', () => uploads.length === 2)
    expect(terminal.status()).to.deep.include({ online: false, pending: 0, rejected: [] })
    expect(await booked()).to.equal(2)
  })

  it('uploads a payment that it asked about and had no answer to in time, once', async () => {
    link.delayMs = 0
    const terminal = await till()
    await eventually('a quick answer', () => terminal.probe())
    const uploads = uploadsOf(terminal)
    link.delayMs = DELAY_MS
    expect(await pay(terminal, 'tok_1')).to.include({ accepted: true, queued: true })
    await eventually('the upload', () => uploads.length === 1)
    expect(uploads[0]?.status).to.equal('duplicate')
    expect(terminal.status()).to.deep.include({ pending: 0, rejected: [] })
    expect(await booked()).to.equal(1)
  })

  it('has as long as its options say', async () => {
    const patient = await till({ timeouts: { quickMs: 20_000 } })
    expect(await patient.probe()).to.equal(true)
    expect(await pay(patient, 'tok_1')).to.include({ accepted: true, synced: true })
    const hasty = await till({ timeouts: { requestMs: DELAY_MS / 2 } })
    expect(await pay(hasty, 'tok_2')).to.include({ accepted: true, queued: true })
    const { pending, error } = await hasty.flush()
    expect([pending, error]).to.deep.equal([
      1,
      `The server can't be reached: no answer within ${DELAY_MS / 2} ms`,
    ])
    for (const [timeouts, name] of [
      [{ quickMs: 0 }, 'timeouts.quickMs'],
      [{ requestMs: 600_001 }, 'timeouts.requestMs'],
    ] as const)
      expect((await rejection(till({ timeouts }))).message).to.include(name)
  })

  it('books each payment once, whoever asks for an upload meanwhile, and after the journal changed hands', async () => {
    const storage = memoryStorage()
    const made = await till({ storage })
    const cards = Array.from({ length: 60 }, (_, i) => `tok_${i}`)
    const paying = Promise.all(cards.map((card) => pay(made, card)))
    const asking = Promise.all([made.probe(), made.flush(), made.probe(), made.flush()])
    expect((await paying).every(({ accepted }) => accepted)).to.equal(true)
    expect(await rejection(till({ storage }))).to.include({ code: 'storage_locked' })
    const closing = made.close()
    await Promise.all([asking, closing])
    const heir = await till({ storage })
    await eventually('the uploads', () => heir.pending().count === 0)
    expect(heir.status().rejected).to.deep.equal([])
    expect(await booked()).to.equal(cards.length)
  })
})

onEmbedded.describe('a server that asks a terminal to wait', () => {
  const open = terminals()
  const SYNC = '/api/merchant/transactions/sync'
  let server: ScriptedServer
  let uploadedAt: number[]
  beforeEach(async () => {
    server = await startScriptedServer()
    uploadedAt = []
  })
  afterEach(() => server.close())

  const RETRY_AFTER_MS = 2000
  const busy = { status: 503, body: { error: 'unavailable', message: '' }, headers: { 'retry-after': '2' } }
  const uploads = (answers: (typeof busy)[]): void =>
    server.on(SYNC, (body: { transactions: { transactionId: string }[] }) => {
      uploadedAt.push(performance.now())
      const results = body.transactions.map(({ transactionId }, index) => ({
        index,
        transactionId,
        status: 'synced',
        assurance: 'mac',
      }))
      return answers.shift() ?? { body: { synced: results.length, failed: 0, errors: [], results } }
    })

  it('is left alone so long, though probes are answered and payments come', async () => {
    uploads([busy])
    server.on('/api/merchant/payments/validate', () => ({
      status: 500,
      body: { error: 'internal', message: '' },
    }))
    const terminal = await open({ baseUrl: server.url })
    await pay(terminal, 'tok_1')
    await eventually('the first upload', () => uploadedAt.length === 1)
    expect(await terminal.probe()).to.equal(true)
    await pay(terminal, 'tok_2')
    await terminal.probe()
    await eventually('the upload', () => terminal.pending().count === 0)
    expect(uploadedAt).to.have.length(2)
    expect((uploadedAt[1] ?? 0) - (uploadedAt[0] ?? 0)).to.be.at.least(RETRY_AFTER_MS - 5)
  })

  it('is left alone when it said so of a payment, also until a date', async () => {
    uploads([])
    let askedAt = 0
    server.on('/api/merchant/payments/validate', () => {
      askedAt = performance.now()
      // In whole seconds, as a date is.
      const until = new Date(Date.now() + RETRY_AFTER_MS + 1000).toUTCString()
      return { ...busy, headers: { 'retry-after': until } }
    })
    const terminal = await open({ baseUrl: server.url })
    await eventually('a quick answer', () => terminal.probe())
    expect(await pay(terminal, 'tok_1')).to.include({ accepted: true, queued: true })
    await eventually('the upload', () => terminal.pending().count === 0)
    expect(uploadedAt).to.have.length(1)
    expect((uploadedAt[0] ?? 0) - askedAt).to.be.at.least(RETRY_AFTER_MS - 5)
  })
})
