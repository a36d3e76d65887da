import { expect } from 'chai'
import fc from 'fast-check'
import type { QueuedPayment, Storage, Terminal } from '../../src/terminal/index.ts'
import { memoryStorage, TerminalError } from '../../src/terminal/index.ts'
import { TEST_MERCHANT, terminals } from '../support/domain/terminals.ts'
import { rejection } from '../support/rejection.ts'

const DAY_MS = 24 * 3_600_000
const VECTOR_AT = 1_763_683_200_000
const VECTOR_STORED = '1-G_E31gJBF1PaGvvUgcSJ_MEMlHPqCGRu4ikzvPS0at8URtI0ywXXu3h6ONnh4AAQ'

const nonceOf = ({ proof }: QueuedPayment): number => Buffer.from(proof, 'base64url').readUInt16BE(47)

/** Pays `count` times with cards of its own and returns the nonces. */
const nonces = async (terminal: Terminal, prefix: string, count: number): Promise<number[]> => {
  const before = terminal.pending().count
  for (let i = 0; i < count; i++) await terminal.pay({ cardToken: `${prefix}${i}`, amount: 1 })
  return terminal.pending().transactions.slice(before).map(nonceOf)
}

describe('terminal, offline', () => {
  const open = terminals()

  it('makes the published proof', async () => {
    const terminal = await open({ clock: { now: () => VECTOR_AT } })
    await terminal.pay({ cardToken: 'something else first', amount: 1 })
    const result = await terminal.pay({ cardToken: 'tok_4242424242424242', amount: 12.5 })
    expect(result).to.deep.include({ accepted: true, proofBytes: 49, synced: false, queued: true })
    expect(result.transactionId).to.match(/^txn_[0-9a-z]{26}$/)
    expect(terminal.pending().transactions[1]).to.deep.include({ proof: VECTOR_STORED, timestamp: VECTOR_AT })
  })

  it('queues what it accepts, and says how much', async () => {
    const terminal = await open()
    const seen: string[] = []
    terminal.on('queued', ({ transactionId }) => seen.push(transactionId))
    for (const [amount, currency] of [
      [0.1, 'GBP'],
      [0.2, 'GBP'],
      [200, 'JPY'],
    ] as const) {
      await terminal.pay({ cardToken: `${amount}${currency}`, amount, currency })
    }
    const { count, sums, transactions } = terminal.pending()
    expect([count, sums]).to.deep.equal([3, { GBP: '0.30', JPY: '200' }])
    expect(transactions.map(({ transactionId }) => transactionId)).to.deep.equal(seen)
    expect(terminal.status()).to.deep.include({ online: false, pending: 3, rejected: [] })
  })

  it('never keeps a card token', async () => {
    const storage = memoryStorage()
    const terminal = await open({ storage })
    await terminal.pay({ cardToken: 'tok_secret', amount: 1, customerId: 'cus_secret' })
    await terminal.close()
    const { contents } = await storage.open()
    expect(JSON.stringify(contents)).to.include('"kind":"payment"').and.not.include('secret')
  })

  it('refuses bad input without using up the card', async () => {
    const terminal = await open()
    const refused = { accepted: false, transactionId: '', proofBytes: 0, synced: false, queued: false }
    const result = await terminal.pay({ cardToken: 'tok_1', amount: 1.005 })
    expect(result).to.deep.include(refused)
    expect(result.error).to.match(/^amount_precision: /)
    expect(await terminal.pay({ cardToken: 'tok_1', amount: 1 })).to.include({ accepted: true })
  })

  it('refuses a card it has seen, in whatever amount', async () => {
    const terminal = await open()
    await terminal.pay({ cardToken: 'tok_1', amount: 1 })
    const result = await terminal.pay({ cardToken: 'tok_1', amount: 2 })
    expect(result).to.include({ accepted: false, queued: false })
    expect(result.error).to.match(/^DOUBLE_SPEND: /)
    expect(terminal.pending().count).to.equal(1)
  })

  it('accepts one of many payments with the same card at once', async () => {
    const terminal = await open()
    const results = await Promise.all(
      Array.from({ length: 64 }, (_, i) => terminal.pay({ cardToken: 'tok_1', amount: i + 1 })),
    )
    expect(results.filter(({ accepted }) => accepted)).to.have.length(1)
    expect(terminal.pending().count).to.equal(1)
  })

  it('refuses an own transaction id it has seen', async () => {
    const storage = memoryStorage()
    let terminal = await open({ storage })
    expect(await terminal.pay({ cardToken: 'a', amount: 1, transactionId: 'order-7' })).to.include({
      accepted: true,
      transactionId: 'order-7',
    })
    const again = { cardToken: 'b', amount: 1, transactionId: 'order-7' }
    expect((await terminal.pay(again)).error).to.match(/^TRANSACTION_CONFLICT: /)
    await terminal.close()
    terminal = await open({ storage })
    expect((await terminal.pay(again)).error).to.match(/^TRANSACTION_CONFLICT: /)
    expect(await terminal.pay({ ...again, transactionId: null })).to.include({ accepted: true })
  })

  it('refuses as an own id that of a payment that waits, which still waits, also after a restart', async () => {
    const storage = memoryStorage()
    let terminal = await open({ storage })
    const { transactionId } = await terminal.pay({ cardToken: 'a', amount: 1 })
    const waiting = terminal.pending()
    const expectRefused = async () => {
      expect((await terminal.pay({ cardToken: 'b', amount: 2, transactionId })).error).to.match(
        /^TRANSACTION_CONFLICT: /,
      )
      expect(terminal.pending()).to.deep.equal(waiting)
    }
    await expectRefused()
    await terminal.close()
    terminal = await open({ storage })
    await expectRefused()
    expect(await terminal.pay({ cardToken: 'b', amount: 2 })).to.include({ accepted: true })
  })

  it('knows after a restart what it knew before', async () => {
    const storage = memoryStorage()
    let terminal = await open({ storage })
    for (const card of ['a', 'b', 'c']) await terminal.pay({ cardToken: card, amount: 2.5 })
    const before = terminal.pending()
    await terminal.close()
    terminal = await open({ storage })
    expect(terminal.pending()).to.deep.equal(before)
    expect((await terminal.pay({ cardToken: 'b', amount: 2.5 })).error).to.match(/^DOUBLE_SPEND: /)
    expect(await terminal.pay({ cardToken: 'd', amount: 1 })).to.include({ accepted: true })
    expect(terminal.pending().sums).to.deep.equal({ GBP: '8.50' })
  })

  it('counts nonces on across restarts and wraps them', async function () {
    this.timeout(60_000)
    const options = { storage: memoryStorage(), limits: { storedSumLimit: 'none' } } as const
    let terminal = await open(options)
    expect(await nonces(terminal, 'a', 3)).to.deep.equal([0, 1, 2])
    await terminal.close()
    terminal = await open(options)
    await nonces(terminal, 'b', 65_531)
    expect(await nonces(terminal, 'c', 4)).to.deep.equal([65_534, 65_535, 0, 1])
  })

  it('refuses storage of another merchant and storage in use', async () => {
    const storage = memoryStorage()
    const terminal = await open({ storage })
    expect(await rejection(open({ storage }))).to.include({ code: 'storage_locked' })
    await terminal.close()
    const error = await rejection(open({ storage, merchantId: 'mer_2' }))
    expect(error).to.include({ code: 'wrong_merchant' })
    expect(error.message).to.include(TEST_MERCHANT)
  })

  it('refuses options that can not work, naming them', async () => {
    for (const [options, name] of [
      [{ baseUrl: 'nowhere' }, 'baseUrl'],
      [{ baseUrl: 'ftp://127.0.0.1' }, 'baseUrl'],
      [{ apiKey: '' }, 'apiKey'],
      [{ merchantId: '' }, 'merchantId'],
      [{ merchantId: 'é'.repeat(33) }, 'merchantId'],
      [{ terminalId: 'ter_1' }, 'terminalSecret'],
      [{ limits: { floorLimit: -1 } }, 'limits.floorLimit'],
      [{ limits: { maxOfflineAgeMs: Number.NaN } }, 'limits.maxOfflineAgeMs'],
    ] as const) {
      const error = await rejection(open(options))
      expect(error).to.include({ code: 'invalid_options' })
      expect(error.message).to.include(name)
    }
  })

  it('takes no payment once closed', async () => {
    const terminal = await open()
    await terminal.close()
    expect(await rejection(terminal.pay({ cardToken: 'a', amount: 1 }))).to.include({ code: 'closed' })
    expect(await rejection(terminal.flush())).to.include({ code: 'closed' })
  })

  it('finishes payments that have begun before it closes', async () => {
    const storage = memoryStorage()
    const terminal = await open({ storage })
    const paying = Array.from({ length: 20 }, (_, i) => terminal.pay({ cardToken: `t${i}`, amount: 1 }))
    await terminal.close()
    expect((await Promise.all(paying)).every(({ accepted }) => accepted)).to.equal(true)
    expect((await open({ storage })).pending().count).to.equal(20)
  })

  it('says that it could not record, and leaves the card free', async () => {
    const inner = memoryStorage()
    let isFull = true
    const storage: Storage = {
      open: async () => {
        const opened = await inner.open()
        return {
          ...opened,
          append: async (records, apply) => {
            if (isFull && records.some(({ kind }) => kind === 'payment')) {
              throw new TerminalError('storage_failed', 'The disk is full.')
            }
            return opened.append(records, apply)
          },
        }
      },
    }
    const terminal = await open({ storage })
    const result = await terminal.pay({ cardToken: 'a', amount: 1 })
    expect(result).to.deep.include({
      accepted: false,
      queued: false,
      error: 'storage_failed: The disk is full.',
    })
    expect(terminal.pending()).to.deep.include({ count: 0, sums: {} })
    isFull = false
    expect(await terminal.pay({ cardToken: 'a', amount: 1 })).to.include({ accepted: true })
  })
})

describe('limits of a terminal, offline', () => {
  const open = terminals()

  it('are on unless none are asked for: 250 a payment, 5,000 in all, of each currency', async () => {
    const pay = (terminal: Terminal, card: string, amount: number, currency = 'GBP') =>
      terminal.pay({ cardToken: card, amount, currency })
    const limited = await open()
    expect((await pay(limited, 'a', 250.01)).error).to.match(/^LIMIT_EXCEEDED: .* at most 250 GBP/)
    for (let i = 0; i < 20; i++)
      expect(await pay(limited, `b${i}`, 250), `payment ${i}`).to.include({ accepted: true })
    expect((await pay(limited, 'a', 0.01)).error).to.match(/^LIMIT_EXCEEDED: .* at most 5000 GBP/)
    expect(await pay(limited, 'c', 250, 'EUR')).to.include({ accepted: true })
    const unlimited = await open({ limits: { floorLimit: 'none', storedSumLimit: 'none' } })
    expect(await pay(unlimited, 'a', 1_000_000)).to.include({ accepted: true })
    expect(unlimited.status().limits).to.deep.include({ floorLimit: undefined, storedSumLimit: undefined })
  })

  it('refuse a payment above the floor limit and leave its card free', async () => {
    const terminal = await open({ limits: { floorLimit: 20 } })
    expect((await terminal.pay({ cardToken: 'a', amount: 20.01 })).error).to.match(
      /^LIMIT_EXCEEDED: .* at most 20 GBP/,
    )
    expect(await terminal.pay({ cardToken: 'a', amount: 20 })).to.include({ accepted: true })
  })

  it('refuse what would raise the stored sum of a currency too far, also at once', async () => {
    const terminal = await open({ limits: { storedSumLimit: 10 } })
    const pay = (card: string, amount: number, currency?: string) =>
      terminal.pay({ cardToken: card, amount, currency })
    const results = await Promise.all(['a', 'b', 'c', 'd'].map((card) => pay(card, 3.4)))
    expect(results.map(({ accepted }) => accepted)).to.deep.equal([true, true, false, false])
    expect(results[3]?.error).to.match(/^LIMIT_EXCEEDED: .* at most 10 GBP/)
    expect(await pay('e', 10, 'EUR')).to.include({ accepted: true })
    expect(await pay('f', 3.2)).to.include({ accepted: true })
  })

  it('refuse further payments once one has waited too long', async () => {
    let now = VECTOR_AT
    const terminal = await open({ clock: { now: () => now } })
    await terminal.pay({ cardToken: 'a', amount: 1 })
    now += 30 * DAY_MS
    expect(await terminal.pay({ cardToken: 'b', amount: 1 })).to.include({ accepted: true })
    now += 1
    expect((await terminal.pay({ cardToken: 'c', amount: 1 })).error).to.match(/^LIMIT_EXCEEDED: .* waited/)
  })
})

describe('the age of what waits on a terminal', () => {
  const open = terminals()

  it('is that of what a right clock has stamped, though a clock far ahead stamped one before it', async () => {
    let now = VECTOR_AT + 12 * 365 * DAY_MS
    const terminal = await open({ clock: { now: () => now } })
    const pay = (cardToken: string) => terminal.pay({ cardToken, amount: 1 })
    expect(await pay('a')).to.include({ accepted: true })
    now = VECTOR_AT
    expect(await pay('b')).to.include({ accepted: true })
    now += 30 * DAY_MS
    expect(await pay('c')).to.include({ accepted: true })
    now += 1
    expect((await pay('d')).error).to.match(/^LIMIT_EXCEEDED: .* waited/)
  })
})

describe('terminal, against a model', () => {
  const open = terminals()

  it('accepts every card exactly once, whatever happens in between', async function () {
    this.timeout(60_000)
    const operation = fc.oneof(
      { weight: 8, arbitrary: fc.record({ card: fc.nat(15), amount: fc.integer({ min: 1, max: 300 }) }) },
      { weight: 1, arbitrary: fc.constant('restart' as const) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
        const storage = memoryStorage()
        let terminal = await open({ storage, limits: { floorLimit: 2.5 } })
        const used = new Map<string, number>()
        for (const step of operations) {
          if (step === 'restart') {
            await terminal.close()
            terminal = await open({ storage, limits: { floorLimit: 2.5 } })
            continue
          }
          const card = `tok_${step.card}`
          const { accepted } = await terminal.pay({ cardToken: card, amount: step.amount / 100 })
          expect(accepted).to.equal(!used.has(card) && step.amount <= 250)
          if (accepted) used.set(card, step.amount)
        }
        const sum = [...used.values()].reduce((total, amount) => total + amount, 0)
        const { count, sums } = terminal.pending()
        expect([count, sums]).to.deep.equal([used.size, used.size ? { GBP: (sum / 100).toFixed(2) } : {}])
        await terminal.close()
      }),
      { numRuns: 40 },
    )
  })
})
