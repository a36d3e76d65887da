import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { QueuedTransaction, SyncAnswer, SyncStatus } from '../../src/protocol/sync.ts'
import { memoryStorage, type Terminal, type TerminalEvents } from '../../src/terminal/index.ts'
import { DEFAULT_QUICK_MS } from '../../src/terminal/merchant-api.ts'
import { TEST_KEY, terminals } from '../support/domain/terminals.ts'
import { type ScriptedServer, startScriptedServer } from '../support/servers/scripted-server.ts'

const SYNC = '/api/merchant/transactions/sync'

/** The answer that gives every item of a request the status that `statusOf` says; undefined leaves it unnamed. */
const answerTo = (
  { transactions }: { transactions: QueuedTransaction[] },
  statusOf: (index: number) => SyncStatus | undefined = () => 'synced',
): SyncAnswer => {
  const results = transactions.flatMap(({ transactionId = '' }, index) => {
    const status = statusOf(index)
    return status ? [{ index, transactionId, status, assurance: 'mac' as const }] : []
  })
  const failed = results.filter(({ status }) => status === 'conflict' || status === 'rejected')
  return {
    synced: results.length - failed.length,
    failed: failed.length,
    errors: failed.map(({ index, transactionId, status }) => ({
      index,
      transactionId,
      code: status === 'conflict' ? 'DOUBLE_SPEND' : 'TOO_OLD',
      message: 'So it is.',
      retryable: false,
    })),
    results,
  }
}

/** Resolves with the first event of a kind. */
const next = <E extends keyof TerminalEvents>(terminal: Terminal, event: E): Promise<TerminalEvents[E]> =>
  new Promise((resolve) => {
    const off = terminal.on(event, (detail) => {
      off()
      resolve(detail)
    })
  })

const payMany = async (terminal: Terminal, count: number, prefix = 'tok_'): Promise<void> => {
  for (let i = 0; i < count; i++) await terminal.pay({ cardToken: `${prefix}${i}`, amount: 1 })
}

describe('upload of a terminal', () => {
  const open = terminals()
  let server: ScriptedServer
  beforeEach(async () => {
    server = await startScriptedServer()
    // Payments of these tests are made offline: what was away comes back when a test says so.
    server.on('/health', () => ({ status: 503, body: {} }))
  })
  afterEach(() => server.close())

  const batches = (statusOf?: (index: number) => SyncStatus | undefined): QueuedTransaction[][] => {
    const seen: QueuedTransaction[][] = []
    server.on(SYNC, (body: { transactions: QueuedTransaction[] }) => {
      seen.push(body.transactions)
      return { body: answerTo(body, statusOf) }
    })
    return seen
  }

  it('sends at most fifty at a time, in order, each with all that the server needs', async () => {
    const seen = batches()
    const terminal = await open({ baseUrl: server.url })
    await payMany(terminal, 120)
    const { transactions } = terminal.pending()
    expect(await terminal.flush()).to.deep.equal({ synced: 120, conflicts: 0, rejected: 0, pending: 0 })
    expect(seen.map(({ length }) => length)).to.deep.equal([50, 50, 20])
    expect(seen.flat().map(({ transactionId }) => transactionId)).to.deep.equal(
      transactions.map(({ transactionId }) => transactionId),
    )
    const { proof, timestamp = 0, transactionId } = transactions[0] ?? {}
    expect(seen[0]?.[0]).to.deep.equal({
      proofData: proof,
      amount: 1,
      currency: 'GBP',
      timestamp: new Date(timestamp).toISOString(),
      transactionId,
      merchantId: 'mer_1',
    })
    expect(terminal.pending()).to.deep.equal({ count: 0, sums: {}, transactions: [] })
  })

  it('sends nothing when nothing waits', async () => {
    const terminal = await open({ baseUrl: server.url })
    expect(await terminal.flush()).to.deep.equal({ synced: 0, conflicts: 0, rejected: 0, pending: 0 })
    expect(server.requests).to.deep.equal([])
  })

  it('sends what was accepted after an upload that found nothing', async () => {
    const seen = batches()
    const terminal = await open({ baseUrl: server.url })
    await terminal.flush()
    await payMany(terminal, 1)
    expect(await terminal.flush()).to.include({ synced: 1, pending: 0 })
    expect(seen).to.have.length(1)
  })

  it('runs once at a time; who calls meanwhile joins', async () => {
    const seen = batches()
    const terminal = await open({ baseUrl: server.url })
    await payMany(terminal, 60)
    const reports = await Promise.all([terminal.flush(), terminal.flush(), terminal.flush()])
    expect(reports.map(({ synced }) => synced)).to.deep.equal([60, 60, 60])
    expect(seen).to.have.length(2)
  })

  it('settles every status as it is meant and remembers refusals', async () => {
    const statuses: SyncStatus[] = ['synced', 'duplicate', 'late', 'conflict', 'rejected']
    batches((index) => statuses[index])
    const storage = memoryStorage()
    let terminal = await open({ baseUrl: server.url, storage })
    await payMany(terminal, 5)
    const events: string[] = []
    terminal.on('synced', ({ status }) => events.push(status))
    terminal.on('conflict', ({ code }) => events.push(`conflict ${code}`))
    terminal.on('rejected', ({ code }) => events.push(`rejected ${code}`))
    expect(await terminal.flush()).to.deep.equal({ synced: 3, conflicts: 1, rejected: 1, pending: 0 })
    expect(events).to.deep.equal(['synced', 'duplicate', 'late', 'conflict DOUBLE_SPEND', 'rejected TOO_OLD'])
    const { rejected } = terminal.status()
    expect(rejected.map(({ status, code, message }) => [status, code, message])).to.deep.equal([
      ['conflict', 'DOUBLE_SPEND', 'So it is.'],
      ['rejected', 'TOO_OLD', 'So it is.'],
    ])
    await terminal.close()
    terminal = await open({ storage })
    expect(terminal.status()).to.deep.include({ pending: 0, rejected })
    for (let i = 0; i < 5; i++) {
      expect((await terminal.pay({ cardToken: `tok_${i}`, amount: 1 })).error).to.match(/^DOUBLE_SPEND/)
    }
  })

  it('keeps what the server does not name', async () => {
    const terminal = await open({ baseUrl: server.url })
    await payMany(terminal, 3)
    const unnamed = terminal.pending().transactions.slice(1, 2)
    server.on(SYNC, (body: { transactions: QueuedTransaction[] }) => {
      const isNamed = (index: number) => body.transactions[index]?.transactionId !== unnamed[0]?.transactionId
      return { body: answerTo(body, (index) => (isNamed(index) ? 'synced' : undefined)) }
    })
    const report = await terminal.flush()
    expect(report).to.include({ synced: 2, pending: 1 })
    expect(report.error).to.include('named none')
    expect(terminal.pending().transactions).to.deep.equal(unnamed)
  })

  it('keeps what is named by another id, and what may be tried again', async () => {
    server.on(SYNC, (body: { transactions: QueuedTransaction[] }) => {
      const answer = answerTo(body, (index) => (index === 0 ? 'synced' : 'rejected'))
      const results = answer.results.map((result) =>
        result.index === 0 ? { ...result, transactionId: 'x' } : result,
      )
      return {
        body: { ...answer, results, errors: answer.errors.map((error) => ({ ...error, retryable: true })) },
      }
    })
    const terminal = await open({ baseUrl: server.url })
    await payMany(terminal, 2)
    const report = await terminal.flush()
    expect(report).to.include({ synced: 0, rejected: 0, pending: 2 })
    expect(report.error).to.include('named none')
  })

  for (const [what, answer] of [
    ['server errors', { status: 500, body: { error: 'internal', message: '' } }],
    ['an unavailable server', { status: 503, body: { error: 'unavailable', message: '' } }],
    ['rate limits', { status: 429, body: { error: 'rate_limited', message: '', retry_after: 60 } }],
    ['a wrong address', { status: 404, body: { error: 'not_found', message: '' } }],
    ['a refused credential', { status: 401, body: { error: 'unauthorized', message: 'No.' } }],
    ['a page of a captive portal', { status: 200, body: '<html></html>' }],
    ['an answer of another kind', { status: 200, body: { ok: true } }],
    ['a cut connection', 'drop'],
  ] as const) {
    it(`keeps everything after ${what}`, async () => {
      server.on(SYNC, () => answer)
      const terminal = await open({ baseUrl: server.url })
      await payMany(terminal, 2)
      const report = await terminal.flush()
      expect(report).to.include({ synced: 0, rejected: 0, pending: 2 })
      expect(report.error).to.be.a('string').and.equal(terminal.status().lastError)
      const seen = batches()
      expect(await terminal.flush()).to.deep.equal({ synced: 2, conflicts: 0, rejected: 0, pending: 0 })
      expect([seen.length, terminal.status().lastError]).to.deep.equal([1, undefined])
    })
  }

  it('begins by itself once the server is back', async () => {
    const seen = batches()
    const terminal = await open({ baseUrl: server.url })
    await payMany(terminal, 3)
    const synced = Promise.all([next(terminal, 'online'), next(terminal, 'synced')])
    server.on('/health', () => ({ body: { status: 'healthy' } }))
    await synced
    expect(await terminal.flush()).to.include({ pending: 0 })
    expect(seen).to.have.length(1)
  })

  it('resumes after a restart where it was', async () => {
    const storage = memoryStorage()
    let terminal = await open({ baseUrl: server.url, storage })
    await payMany(terminal, 70)
    let answered = 0
    server.on(SYNC, (body: { transactions: QueuedTransaction[] }) =>
      answered++ === 0 ? { body: answerTo(body) } : 'drop',
    )
    expect(await terminal.flush()).to.include({ synced: 50, pending: 20 })
    await terminal.close()
    terminal = await open({ baseUrl: server.url, storage })
    expect(terminal.pending().count).to.equal(20)
    const seen = batches()
    expect(await terminal.flush()).to.include({ synced: 20, pending: 0 })
    expect(seen[0]).to.have.length(20)
  })

  it('rewrites the journal once most of it is settled, and loses nothing', async () => {
    batches()
    const storage = memoryStorage()
    const terminal = await open({ baseUrl: server.url, storage })
    await payMany(terminal, 3000)
    await terminal.flush()
    await payMany(terminal, 100, 'later_')
    const before = terminal.pending()
    await terminal.close()
    const stored = await storage.open()
    expect(stored.contents.nullifiers).to.be.instanceOf(Uint8Array)
    expect(stored.contents.records.length).to.be.lessThan(3000)
    await stored.close()
    const again = await open({ storage })
    expect(again.pending()).to.deep.equal(before)
    expect(again.status().nullifiers).to.equal(3100)
    expect((await again.pay({ cardToken: 'tok_7', amount: 1 })).error).to.match(/^DOUBLE_SPEND/)
  })

  it('authenticates when it first needs to, renews a refused token once, and takes over limits', async () => {
    const tokens: (string | undefined)[] = []
    let authentications = 0
    server.on('/api/merchant/terminals/authenticate', (body, request) => {
      expect(body).to.include({ terminalId: 'ter_1', terminalSecret: 's' })
      expect(request.headers.authorization).to.equal(`Bearer ${TEST_KEY}`)
      authentications++
      const config = { floorLimit: 5, storedSumLimit: null, maxOfflineAgeMs: 1000, minAssurance: 'mac' }
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      return {
        body: { token: `mt_${authentications}`, expiresAt, terminalId: 'ter_1', merchantId: 'mer_1', config },
      }
    })
    server.on(SYNC, (body: { transactions: QueuedTransaction[] }, request) => {
      tokens.push(request.headers.authorization)
      return request.headers.authorization === 'Bearer mt_2'
        ? { body: answerTo(body) }
        : { status: 401, body: { error: 'unauthorized', message: '' } }
    })
    const storage = memoryStorage()
    const terminal = await open({
      baseUrl: server.url,
      storage,
      terminalId: 'ter_1',
      terminalSecret: 's',
      limits: { floorLimit: 7, storedSumLimit: 20 },
    })
    await payMany(terminal, 1)
    expect(authentications).to.equal(0)
    expect(await terminal.flush()).to.include({ synced: 1, pending: 0 })
    expect(tokens).to.deep.equal(['Bearer mt_1', 'Bearer mt_2'])
    const limits = { floorLimit: 5, storedSumLimit: 20, maxOfflineAgeMs: 1000 }
    expect(terminal.status().limits).to.deep.equal(limits)
    await terminal.close()
    const again = await open({ storage, limits: { storedSumLimit: 20 } })
    expect(again.status().limits).to.deep.equal(limits)
  })

  it('uploads with the old token while a new one is refused', async () => {
    let answers = 0
    server.on('/api/merchant/terminals/authenticate', () => {
      const expiresAt = new Date(Date.now() + 60_000).toISOString()
      return answers++ === 0
        ? { body: { token: 'mt_1', expiresAt, terminalId: 'ter_1', merchantId: 'mer_1', config: {} } }
        : { status: 401, body: { error: 'unauthorized', message: '' } }
    })
    batches(() => 'late')
    const terminal = await open({ baseUrl: server.url, terminalId: 'ter_1', terminalSecret: 's' })
    for (const card of ['a', 'b']) {
      await terminal.pay({ cardToken: card, amount: 1 })
      expect(await terminal.flush()).to.include({ synced: 1, pending: 0 })
    }
    // The token has less than five minutes left, so a new one was asked for and refused.
    expect(answers).to.equal(2)
  })
})

describe('payments of a terminal, online', () => {
  const open = terminals()
  const VALIDATE = '/api/merchant/payments/validate'
  let server: ScriptedServer
  beforeEach(async () => {
    server = await startScriptedServer()
  })
  afterEach(() => server.close())

  const openOnline = async (options: Parameters<typeof open>[0] = {}): Promise<Terminal> => {
    const terminal = await open({ baseUrl: server.url, ...options })
    expect(await terminal.probe()).to.equal(true)
    return terminal
  }
  const valid = ({ transactionId }: { transactionId: string }) => ({
    body: { valid: true, transactionId, doubleSpend: false, assurance: 'mac' },
  })
  const invalid =
    (reason: string) =>
    ({ transactionId }: { transactionId: string }) => ({
      body: { valid: false, transactionId, doubleSpend: reason === 'DOUBLE_SPEND', assurance: 'mac', reason },
    })

  it('are asked of the server first and need no upload', async () => {
    const sent: object[] = []
    server.on(VALIDATE, (body: { transactionId: string }) => {
      sent.push(body)
      return valid(body)
    })
    const terminal = await openOnline()
    const result = await terminal.pay({
      cardToken: 'a',
      amount: 1.5,
      customerId: 'cus_1',
      paymentMethod: 'nfc',
    })
    expect(result).to.include({ accepted: true, synced: true, queued: false, proofBytes: 49 })
    expect(terminal.pending().count).to.equal(0)
    expect(sent[0]).to.include({
      amount: 1.5,
      currency: 'GBP',
      merchantId: 'mer_1',
      customerId: 'cus_1',
      paymentMethod: 'nfc',
      transactionId: result.transactionId,
    })
    expect((await terminal.pay({ cardToken: 'a', amount: 1.5 })).error).to.match(/^DOUBLE_SPEND/)
    expect(sent).to.have.length(1)
  })

  it('are refused when the card was used elsewhere, and stay refused offline', async () => {
    server.on(VALIDATE, invalid('DOUBLE_SPEND'))
    const storage = memoryStorage()
    const terminal = await openOnline({ storage })
    const result = await terminal.pay({ cardToken: 'a', amount: 1 })
    expect(result).to.include({ accepted: false, synced: false, queued: false, proofBytes: 0 })
    expect(result.error).to.match(/^DOUBLE_SPEND: /)
    await terminal.close()
    const offline = await open({ storage })
    expect((await offline.pay({ cardToken: 'a', amount: 1 })).error).to.match(/^DOUBLE_SPEND: /)
  })

  it('leave the card free when they are refused for anything else', async () => {
    server.on(VALIDATE, invalid('TOO_OLD'))
    const storage = memoryStorage()
    const terminal = await openOnline({ storage })
    expect((await terminal.pay({ cardToken: 'a', amount: 1 })).error).to.match(/^TOO_OLD: /)
    server.on(VALIDATE, () => ({ status: 422, body: { error: 'validation_failed', message: 'No.' } }))
    expect((await terminal.pay({ cardToken: 'a', amount: 1 })).error).to.equal('validation_failed: No.')
    await terminal.close()
    const offline = await open({ storage })
    expect(await offline.pay({ cardToken: 'a', amount: 1 })).to.include({ accepted: true, queued: true })
  })

  it('accept one of many with the same card at once', async () => {
    server.on(VALIDATE, valid)
    const terminal = await openOnline()
    const results = await Promise.all(
      Array.from({ length: 16 }, () => terminal.pay({ cardToken: 'a', amount: 1 })),
    )
    expect(results.filter(({ accepted }) => accepted)).to.have.length(1)
    expect(server.requests.filter((path) => path === VALIDATE)).to.have.length(1)
  })

  it('accept one of many cards with the same own transaction id at once', async () => {
    server.on(VALIDATE, valid)
    const terminal = await openOnline()
    const results = await Promise.all(
      ['a', 'b', 'c'].map((card) => terminal.pay({ cardToken: card, amount: 1, transactionId: 'order-7' })),
    )
    expect(results.filter(({ accepted }) => accepted)).to.have.length(1)
    expect(server.requests.filter((path) => path === VALIDATE)).to.have.length(1)
  })

  for (const [what, answer] of [
    ['does not answer in time', 'hang'],
    ['cuts the connection', 'drop'],
    ['fails', { status: 500, body: { error: 'internal', message: '' } }],
    ['has had enough', { status: 429, body: { error: 'rate_limited', message: '', retry_after: 60 } }],
    ['is not the server', { status: 200, body: '<html></html>' }],
  ] as const) {
    it(`are accepted offline when the server ${what}, under the same id`, async () => {
      let asked = ''
      server.on(VALIDATE, (body: { transactionId: string }) => {
        asked = body.transactionId
        return answer
      })
      server.on(SYNC, () => 'drop')
      const terminal = await openOnline()
      const result = await terminal.pay({ cardToken: 'a', amount: 1 })
      expect(result).to.include({ accepted: true, synced: false, queued: true, transactionId: asked })
      expect(terminal.pending().transactions.map(({ transactionId }) => transactionId)).to.deep.equal([asked])
    })
  }

  const AUTHENTICATE = '/api/merchant/terminals/authenticate'
  const ownTerminal = { terminalId: 'ter_1', terminalSecret: 's' }

  it('do not wait for a token that an upload is waiting for', async () => {
    server.on('/health', () => ({ status: 503, body: {} }))
    server.on(AUTHENTICATE, () => 'hang')
    const terminal = await open({ baseUrl: server.url, ...ownTerminal })
    await payMany(terminal, 1)
    let isUploading = true
    const uploading = terminal.flush().finally(() => {
      isUploading = false
    })
    const online = next(terminal, 'online')
    server.on('/health', () => ({ body: { status: 'healthy' } }))
    await online
    expect(await terminal.pay({ cardToken: 'a', amount: 1 })).to.include({ accepted: true, queued: true })
    expect(isUploading).to.equal(true)
    await terminal.close()
    await uploading
  })

  it('spend none of their time on a token once the terminal was told to look for the server', async () => {
    server.on(AUTHENTICATE, async () => {
      // Longer than a payment may take.
      await sleep(DEFAULT_QUICK_MS + 200)
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      return { body: { token: 'mt_1', expiresAt, ...ownTerminal, merchantId: 'mer_1', config: {} } }
    })
    server.on(VALIDATE, valid)
    const terminal = await openOnline(ownTerminal)
    expect(await terminal.pay({ cardToken: 'a', amount: 1 })).to.include({ accepted: true, synced: true })
    expect(server.requests).to.deep.equal([AUTHENTICATE, VALIDATE])
  })

  it('that may not be accepted offline are refused, and take up the same attempt when presented again', async () => {
    const asked: string[] = []
    server.on(VALIDATE, (body: { proofData: string; transactionId: string }) => {
      asked.push(`${body.transactionId} ${body.proofData}`)
      return asked.length === 1 ? 'drop' : valid(body)
    })
    const storage = memoryStorage()
    let terminal = await openOnline({ storage, limits: { floorLimit: 5 } })
    const refused = await terminal.pay({ cardToken: 'a', amount: 9 })
    expect(refused).to.include({ accepted: false, queued: false })
    expect(refused.error).to.match(/^LIMIT_EXCEEDED: .*present the same payment again/)
    await terminal.close()
    // Even after a restart: had the server taken the first attempt, a new one would be a double spend.
    terminal = await openOnline({ storage, limits: { floorLimit: 5 } })
    expect(terminal.pending().count).to.equal(0)
    const accepted = await terminal.pay({ cardToken: 'a', amount: 9 })
    expect(accepted).to.include({ accepted: true, synced: true, transactionId: refused.transactionId })
    expect(asked[1]).to.equal(asked[0])
    expect((await terminal.pay({ cardToken: 'a', amount: 9 })).error).to.match(/^DOUBLE_SPEND/)
  })

  it('go on offline at once after the server was lost', async () => {
    server.on(VALIDATE, () => 'drop')
    const terminal = await openOnline()
    server.on('/health', () => ({ status: 503, body: {} }))
    const events: string[] = []
    terminal.on('offline', () => events.push('offline'))
    await terminal.pay({ cardToken: 'a', amount: 1 })
    expect([events, terminal.status().online]).to.deep.equal([['offline'], false])
    const asked = server.requests.length
    expect(await terminal.pay({ cardToken: 'b', amount: 1 })).to.include({ accepted: true, queued: true })
    expect(server.requests).to.have.length(asked)
  })

  it('that have begun are decided and recorded before the terminal closes', async () => {
    server.on(VALIDATE, () => 'hang')
    const storage = memoryStorage()
    const terminal = await openOnline({ storage })
    const paying = terminal.pay({ cardToken: 'a', amount: 1 })
    await terminal.close()
    const opened = await storage.open()
    expect(opened.contents.records.map(({ kind }) => kind)).to.deep.equal(['terminal', 'payment', 'queued'])
    expect(await paying).to.include({ accepted: true, queued: true })
  })
})
