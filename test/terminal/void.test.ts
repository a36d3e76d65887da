import { expect } from 'chai'
import type { QueuedTransaction } from '../../src/protocol/sync.ts'
import { memoryStorage, type QueuedPayment } from '../../src/terminal/index.ts'
import { terminals } from '../support/domain/terminals.ts'
import { type ScriptedServer, startScriptedServer } from '../support/servers/scripted-server.ts'

const SYNC = '/api/merchant/transactions/sync'
const VALIDATE = '/api/merchant/payments/validate'

describe('taking back a payment of a terminal', () => {
  const open = terminals()
  let server: ScriptedServer
  let uploaded: QueuedTransaction[]

  beforeEach(async () => {
    server = await startScriptedServer()
    server.on('/health', () => ({ status: 503, body: {} }))
    uploaded = []
    server.on(SYNC, ({ transactions }: { transactions: QueuedTransaction[] }) => {
      uploaded.push(...transactions)
      const results = transactions.map(({ transactionId }, index) => ({
        index,
        transactionId,
        status: 'synced',
        assurance: 'mac',
      }))
      return { body: { synced: results.length, failed: 0, errors: [], results } }
    })
  })
  afterEach(() => server.close())

  it('removes it from what waits and from the sums, is told once, and nobody hears of it', async () => {
    const terminal = await open({ baseUrl: server.url })
    const voided: QueuedPayment[] = []
    terminal.on('voided', (payment) => voided.push(payment))
    const { transactionId } = await terminal.pay({ cardToken: 'tok_1', amount: 12.5 })
    await terminal.pay({ cardToken: 'tok_2', amount: 1 })
    expect(terminal.voidable()).to.have.length(2)
    expect(await Promise.all([terminal.void(transactionId), terminal.void(transactionId)])).to.deep.equal([
      true,
      false,
    ])
    expect(terminal.pending()).to.deep.include({ count: 1, sums: { GBP: '1.00' } })
    expect(voided.map((one) => one.transactionId)).to.deep.equal([transactionId])
    expect(await terminal.flush()).to.deep.equal({ synced: 1, conflicts: 0, rejected: 0, pending: 0 })
    expect(uploaded.map(({ amount }) => amount)).to.deep.equal([1])
  })

  it('leaves its card token and its id used, its own or not, also after a restart', async () => {
    const storage = memoryStorage()
    const first = await open({ baseUrl: server.url, storage })
    await first.pay({ cardToken: 'tok_1', amount: 1, transactionId: 'mine' })
    expect(await first.void('mine')).to.equal(true)
    const { transactionId: generated } = await first.pay({ cardToken: 'tok_3', amount: 1 })
    expect(await first.void(generated)).to.equal(true)
    const expectUsed = async (terminal: typeof first) => {
      expect((await terminal.pay({ cardToken: 'tok_1', amount: 1 })).error).to.match(/^DOUBLE_SPEND: /)
      for (const transactionId of ['mine', generated])
        expect((await terminal.pay({ cardToken: 'tok_2', amount: 1, transactionId })).error).to.match(
          /^TRANSACTION_CONFLICT: /,
        )
    }
    await expectUsed(first)
    await first.close()
    const second = await open({ baseUrl: server.url, storage })
    expect(second.pending().count).to.equal(0)
    await expectUsed(second)
  })

  it('is refused once an upload has begun, however it ends', async () => {
    server.on(SYNC, () => ({ status: 503, body: {} }))
    const terminal = await open({ baseUrl: server.url })
    const { transactionId } = await terminal.pay({ cardToken: 'tok_1', amount: 1 })
    const flushed = terminal.flush()
    await new Promise((resolve) => setImmediate(resolve))
    expect(await terminal.void(transactionId)).to.equal(false)
    expect((await flushed).pending).to.equal(1)
    expect(await terminal.void(transactionId)).to.equal(false)
    expect([terminal.pending().count, terminal.voidable()]).to.deep.equal([1, []])
  })

  it('is refused of a payment about which the server was asked, since it may have it', async () => {
    server.on('/health', () => ({ body: { status: 'healthy' } }))
    server.on(VALIDATE, () => ({ status: 503, body: {} }))
    server.on(SYNC, () => ({ status: 503, body: {} }))
    const terminal = await open({ baseUrl: server.url })
    await terminal.probe()
    const { transactionId, queued } = await terminal.pay({ cardToken: 'tok_1', amount: 1 })
    expect(queued).to.equal(true)
    expect(await terminal.void(transactionId)).to.equal(false)
  })

  it('is told apart from one of which nobody knows whether the server has it, until that is presented again', async () => {
    server.on('/health', () => ({ body: { status: 'healthy' } }))
    server.on(VALIDATE, () => ({ status: 503, body: {} }))
    const storage = memoryStorage()
    const terminal = await open({ baseUrl: server.url, storage, limits: { floorLimit: 5 } })
    await terminal.probe()
    const refused = await terminal.pay({ cardToken: 'tok_1', amount: 6 })
    expect(refused).to.include({ accepted: false, undecided: true })
    expect(terminal.undecided().map(({ transactionId }) => transactionId)).to.deep.equal([
      refused.transactionId,
    ])
    expect(await terminal.void(refused.transactionId)).to.equal(false)
    await terminal.close()
    const second = await open({ baseUrl: server.url, storage, limits: { floorLimit: 5 } })
    expect(second.undecided()).to.have.length(1)
    server.on(VALIDATE, () => ({
      body: { valid: true, transactionId: refused.transactionId, doubleSpend: false, assurance: 'mac' },
    }))
    await second.probe()
    const again = await second.pay({ cardToken: 'tok_1', amount: 6 })
    expect(again).to.include({ accepted: true, synced: true, transactionId: refused.transactionId })
    expect(again).to.not.have.property('undecided')
    expect(second.undecided()).to.deep.equal([])
    expect(await second.pay({ cardToken: 'tok_2', amount: -1 })).to.not.have.property('undecided')
  })

  it('of which nobody knows whether the server has it keeps its own id from other payments', async () => {
    server.on('/health', () => ({ body: { status: 'healthy' } }))
    server.on(VALIDATE, () => 'drop')
    const terminal = await open({ baseUrl: server.url, limits: { floorLimit: 5 } })
    await terminal.probe()
    const pay = (cardToken: string, amount: number) =>
      terminal.pay({ cardToken, amount, transactionId: 'order-1' })
    expect(await pay('tok_1', 6)).to.include({ accepted: false, undecided: true })
    for (const cardToken of ['tok_2', 'tok_1'])
      expect((await pay(cardToken, 1)).error).to.match(
        /^TRANSACTION_CONFLICT: .* is undecided: .* Present it again, with the same card token and amount/,
      )
    expect(terminal.undecided().map(({ amount }) => amount)).to.deep.equal([6])
    server.on(VALIDATE, () => ({
      body: { valid: true, transactionId: 'order-1', doubleSpend: false, assurance: 'mac' },
    }))
    await terminal.probe()
    expect(await pay('tok_1', 6)).to.include({ accepted: true, synced: true, transactionId: 'order-1' })
  })

  it('is refused after a restart, of what is unknown, and when closed', async () => {
    const storage = memoryStorage()
    const first = await open({ baseUrl: server.url, storage })
    const { transactionId } = await first.pay({ cardToken: 'tok_1', amount: 1 })
    expect(await first.void('txn_unknown')).to.equal(false)
    await first.close()
    await first.void(transactionId).then(
      () => expect.fail('it should have thrown'),
      (error: { code: string }) => expect(error.code).to.equal('closed'),
    )
    const second = await open({ baseUrl: server.url, storage })
    expect(await second.void(transactionId)).to.equal(false)
    expect(second.pending().count).to.equal(1)
  })

  it('that can’t be recorded leaves it waiting, to be uploaded or taken back later', async () => {
    const kept = memoryStorage()
    let full = false
    const storage: typeof kept = {
      async open() {
        const opened = await kept.open()
        return {
          ...opened,
          append: (records, apply) =>
            full ? Promise.reject(new Error('no space left')) : opened.append(records, apply),
        }
      },
    }
    const terminal = await open({ baseUrl: server.url, storage })
    const { transactionId } = await terminal.pay({ cardToken: 'tok_1', amount: 1 })
    full = true
    await terminal.void(transactionId).then(
      () => expect.fail('it should have thrown'),
      (error: Error) => expect(error.message).to.equal('no space left'),
    )
    expect([terminal.pending().count, terminal.voidable()]).to.deep.equal([1, [transactionId]])
    full = false
    expect(await terminal.void(transactionId)).to.equal(true)
    expect(terminal.pending().count).to.equal(0)
  })
})
