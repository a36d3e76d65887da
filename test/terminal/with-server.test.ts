import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { memoryStorage, type Terminal, type TerminalOptions } from '../../src/terminal/index.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { terminals } from '../support/domain/terminals.ts'

interface ShownTerminal {
  terminalId: string
  queued: object | null
  version: string | null
  clockSkewMs: number | null
}

interface CreatedTerminal {
  terminalId: string
  terminalSecret: string
  merchantId: string
  apiKey: string
}

describe('terminals with the server', () => {
  const open = terminals()
  let app: TestApp
  let shop: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    shop = await app.organisation()
  })

  /** A till of the shop whose line to the server a test can cut. */
  const openTill = async (limits?: object, more: Partial<TerminalOptions> = {}) => {
    const { status, body } = await app.request<CreatedTerminal>('POST', '/console/api/terminals', {
      key: shop.apiKey,
      body: { label: 'Till', ...(limits && { limits }) },
    })
    expect(status).to.equal(201)
    const { terminalId, terminalSecret, merchantId, apiKey } = body
    let isCut = false
    const options: Partial<TerminalOptions> = {
      baseUrl: app.url,
      apiKey,
      merchantId,
      terminalId,
      terminalSecret,
      storage: memoryStorage(),
      fetch: (input, init) => (isCut ? Promise.reject(new TypeError('cut')) : fetch(input, init)),
      ...more,
    }
    const terminal = await open(options)
    return {
      terminal,
      options,
      terminalId,
      cut: async () => {
        isCut = true
        expect(await terminal.probe()).to.equal(false)
      },
      mend: async () => {
        isCut = false
        expect(await terminal.probe()).to.equal(true)
      },
      online: async () => {
        expect(await terminal.probe()).to.equal(true)
        return terminal
      },
    }
  }

  const pay = (terminal: Terminal, cardToken: string, amount = 12.5) => terminal.pay({ cardToken, amount })

  it('are told of a payment that a clock years ahead stamped, so that it waits no longer', async () => {
    let aheadMs = 12 * 365 * 24 * 3_600_000
    const { terminal, cut, mend } = await openTill(undefined, { clock: { now: () => Date.now() + aheadMs } })
    await cut()
    expect(await pay(terminal, 'tok_1')).to.include({ accepted: true, queued: true })
    aheadMs = 0
    await mend()
    await terminal.flush()
    expect(terminal.pending()).to.deep.include({ count: 0, sums: {} })
    expect(terminal.status().rejected.map(({ code }) => code)).to.deep.equal(['CLOCK_SKEW'])
  })

  it('have payments checked while it is there, with an API key as well as with a terminal token', async () => {
    const { terminal } = await openTill()
    await terminal.probe()
    expect(await pay(terminal, 'tok_1')).to.include({ accepted: true, synced: true, queued: false })
    const keyed = await open({ baseUrl: app.url, apiKey: shop.apiKey, merchantId: shop.merchantId })
    await keyed.probe()
    expect(await pay(keyed, 'tok_2')).to.include({ accepted: true, synced: true, queued: false })
    expect((await pay(keyed, 'tok_1')).error).to.match(/^DOUBLE_SPEND: /)
  })

  it('refuse what the server refuses for their merchant, which is not that of their key', async () => {
    const { merchantId } = await app.organisation()
    const terminal = await open({ baseUrl: app.url, apiKey: shop.apiKey, merchantId })
    await terminal.probe()
    const { error, ...result } = await pay(terminal, 'tok_1')
    expect(result).to.include({ accepted: false, synced: false, queued: false })
    expect(result).to.not.have.property('undecided')
    expect(error).to.equal('not_found: /merchantId is not a merchant of the caller')
    expect([terminal.pending().count, terminal.undecided()]).to.deep.equal([0, []])
  })

  /** The till as the console shows it. */
  const shownTill = async (terminalId: string) => {
    const path = '/console/api/terminals'
    const { body } = await app.request<{ terminals: ShownTerminal[] }>('GET', path, { key: shop.apiKey })
    return body.terminals.find((shown) => shown.terminalId === terminalId) ?? expect.fail()
  }

  it('tell the server what waits on them, their version and their clock', async () => {
    const till = await openTill()
    await till.cut()
    for (let i = 0; i < 51; i++) await pay(till.terminal, `tok_${i}`)
    await till.terminal.pay({ cardToken: 'tok_yen', amount: 70, currency: 'JPY' })
    await till.terminal.close()
    // It gets no further than to authenticate.
    const away = await open({
      ...till.options,
      fetch: (input, init) =>
        String(input).endsWith('/sync') ? Promise.reject(new TypeError('cut')) : fetch(input, init),
    })
    await away.probe()
    const waiting = await shownTill(till.terminalId)
    expect(waiting.queued).to.deep.equal({
      count: 52,
      sum: [
        { currency: 'GBP', amount: 637.5 },
        { currency: 'JPY', amount: 70 },
      ],
    })
    expect(waiting.version).to.equal(JSON.parse(readFileSync('package.json', 'utf8')).version)
    expect(waiting.clockSkewMs).to.be.within(-60_000, 0)
    await away.close()
    const back = await open({ ...till.options, fetch })
    expect(await back.flush()).to.include({ synced: 52, pending: 0 })
    expect((await shownTill(till.terminalId)).queued).to.deep.equal({ count: 0, sum: [] })
  })

  it('work with a server of an earlier version, which refuses members that it does not know', async () => {
    const refused: string[] = []
    const till = await openTill(undefined, {
      fetch: async (input, init) => {
        if (typeof init?.body === 'string' && 'version' in JSON.parse(init.body)) {
          refused.push(String(input))
          return Response.json({ error: 'validation_failed', message: 'unknown' }, { status: 422 })
        }
        return fetch(input, init)
      },
    })
    expect(await till.terminal.probe()).to.equal(true)
    expect(await pay(till.terminal, 'tok_1')).to.include({ accepted: true, synced: true })
    expect(refused).to.have.lengthOf(1)
    expect((await shownTill(till.terminalId)).version).to.equal(null)
  })

  it('upload what they accepted without it, once', async () => {
    const till = await openTill()
    await till.cut()
    const results = []
    for (let i = 0; i < 60; i++) results.push(await pay(till.terminal, `tok_${i}`))
    expect(results.every(({ accepted, queued }) => accepted && queued)).to.equal(true)
    await till.mend()
    expect(await till.terminal.flush()).to.include({ conflicts: 0, rejected: 0, pending: 0 })
    expect(till.terminal.status()).to.deep.include({ pending: 0, rejected: [] })
    const other = await (await openTill()).online()
    expect((await pay(other, 'tok_59')).error).to.match(/^DOUBLE_SPEND: /)
  })

  it('learn of a card that two of them accepted offline: the first to upload wins', async () => {
    const [first, second] = [await openTill(), await openTill()]
    await Promise.all([first.cut(), second.cut()])
    expect(await pay(first.terminal, 'tok_1')).to.include({ accepted: true })
    const loser = await pay(second.terminal, 'tok_1')
    expect(loser).to.include({ accepted: true, queued: true })
    await first.mend()
    await first.terminal.flush()
    await second.mend()
    await second.terminal.flush()
    expect(first.terminal.status().rejected).to.deep.equal([])
    const { rejected } = second.terminal.status()
    expect(rejected).to.have.length(1)
    expect(rejected[0]).to.include({
      transactionId: loser.transactionId,
      status: 'conflict',
      code: 'DOUBLE_SPEND',
    })
    // The server knows that id, and would refuse another payment under it.
    await second.cut()
    const { transactionId } = loser
    expect((await second.terminal.pay({ cardToken: 'tok_2', amount: 1, transactionId })).error).to.match(
      /^TRANSACTION_CONFLICT: /,
    )
  })

  it('lose nothing when an answer is lost: the upload recognises the payment', async () => {
    let isAnswerLost = true
    const till = await openTill(undefined, {
      fetch: async (input, init) => {
        const response = await fetch(input, init)
        if (isAnswerLost && String(input).endsWith('/validate')) throw new TypeError('the answer was lost')
        return response
      },
    })
    await till.online()
    const statuses: string[] = []
    till.terminal.on('synced', ({ status }) => statuses.push(status))
    expect(await pay(till.terminal, 'tok_1')).to.include({ accepted: true, queued: true })
    isAnswerLost = false
    await till.terminal.flush()
    expect(till.terminal.status()).to.deep.include({ pending: 0, rejected: [] })
    expect(statuses).to.deep.equal(['duplicate'])
  })

  it('keep to the limits that the server sets for them', async () => {
    const till = await openTill({ floorLimit: 20, storedSumLimit: 30 })
    await pay(await till.online(), 'tok_0')
    expect(till.terminal.status().limits).to.include({ floorLimit: 20, storedSumLimit: 30 })
    await till.cut()
    expect((await pay(till.terminal, 'tok_1', 20.01)).error).to.match(/^LIMIT_EXCEEDED: /)
    expect(await pay(till.terminal, 'tok_2', 20)).to.include({ accepted: true })
    expect((await pay(till.terminal, 'tok_3', 10.01)).error).to.match(/^LIMIT_EXCEEDED: /)
    await till.mend()
    expect(await till.terminal.flush()).to.include({ rejected: 0, pending: 0 })
    expect(await pay(till.terminal, 'tok_1', 20.01)).to.include({ accepted: true, synced: true })
  })

  it('upload late what they accepted before their key was revoked, and take no more online', async () => {
    const till = await openTill()
    await pay(await till.online(), 'tok_0')
    await till.cut()
    await pay(till.terminal, 'tok_1')
    const { body } = await app.request<{ keys: { keyId: string; scopes: string[] }[] }>(
      'GET',
      '/console/api/keys',
      {
        key: shop.apiKey,
      },
    )
    const own = body.keys.find(({ scopes }) => scopes.join() === 'merchant')
    const revoked = await app.request('DELETE', `/console/api/keys/${own?.keyId}`, { key: shop.apiKey })
    expect(revoked.status).to.be.oneOf([200, 204])
    const statuses: string[] = []
    till.terminal.on('synced', ({ status }) => statuses.push(status))
    await till.mend()
    await till.terminal.flush()
    expect(statuses).to.deep.equal(['late'])
    expect((await pay(till.terminal, 'tok_2')).error).to.match(/^(unauthorized|invalid_credentials): /)
  })

  it('say nothing of a payment that was booked, its answer lost, when its key is revoked before it is repeated', async () => {
    let isAnswerLost = true
    const fetchOrLose: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (isAnswerLost && String(input).endsWith('/validate')) throw new TypeError('the answer was lost')
      return response
    }
    const till = await openTill({ floorLimit: 20 }, { fetch: fetchOrLose })
    const terminal = await till.online()
    const first = await pay(terminal, 'tok_1', 30)
    expect(first).to.include({ accepted: false, undecided: true })
    isAnswerLost = false
    const { body } = await app.request<{ payments: { transactionId: string; status: string }[] }>(
      'GET',
      '/console/api/payments',
      { key: shop.apiKey },
    )
    expect(body.payments.map(({ transactionId, status }) => [transactionId, status])).to.deep.equal([
      [first.transactionId, 'accepted'],
    ])
    const { body: shown } = await app.request<{ keys: { keyId: string; scopes: string[] }[] }>(
      'GET',
      '/console/api/keys',
      { key: shop.apiKey },
    )
    const own = shown.keys.find(({ scopes }) => scopes.join() === 'merchant')
    await app.request('DELETE', `/console/api/keys/${own?.keyId}`, { key: shop.apiKey })
    await till.online()
    const again = await pay(terminal, 'tok_1', 30)
    expect(again).to.include({ accepted: false, undecided: true, transactionId: first.transactionId })
    expect(terminal.undecided()).to.have.length(1)
  })
})
