/** Payments about which the server was asked and did not answer: what decides them, and what is taken beside them. */
import { expect } from 'chai'
import type { QueuedTransaction } from '../../src/protocol/sync.ts'
import { memoryStorage, type Terminal } from '../../src/terminal/index.ts'
import { terminals } from '../support/domain/terminals.ts'
import { type Script, type ScriptedServer, startScriptedServer } from '../support/servers/scripted-server.ts'

const VALIDATE = '/api/merchant/payments/validate'
/** Above what may be taken offline. */
const AMOUNT = 6

describe('an undecided payment of a terminal', () => {
  const open = terminals()
  let server: ScriptedServer
  beforeEach(async () => {
    server = await startScriptedServer()
    server.on(VALIDATE, () => 'drop')
  })
  afterEach(() => server.close())

  const valid: Script = ({ transactionId }: { transactionId: string }) => ({
    body: { valid: true, transactionId, doubleSpend: false, assurance: 'mac' },
  })
  const saysNo =
    (reason: string, doubleSpend = false): Script =>
    ({ transactionId }: { transactionId: string }) => ({
      body: { valid: false, transactionId, doubleSpend, assurance: 'structural', reason },
    })
  const refuses =
    (status: number, error: string): Script =>
    () => ({ status, body: { error, message: 'No.' } })

  const pay = (terminal: Terminal, changes: object = {}) =>
    terminal.pay({ cardToken: 'tok_1', amount: AMOUNT, ...changes })

  /** A terminal, online, with such a payment. */
  const undecidedOn = async (storage = memoryStorage(), changes: object = {}): Promise<Terminal> => {
    const terminal = await open({ baseUrl: server.url, storage, limits: { floorLimit: 5 } })
    await terminal.probe()
    expect(await pay(terminal, changes)).to.include({ accepted: false, undecided: true })
    await terminal.probe()
    return terminal
  }

  for (const [what, script, code] of [
    ['a credential that is no longer taken', refuses(401, 'unauthorized'), 'unauthorized'],
    ['something in between that forbids it', refuses(403, 'forbidden'), 'forbidden'],
    ['a body that a later version refuses', refuses(422, 'validation_failed'), 'validation_failed'],
    ['a key that was revoked meanwhile', saysNo('KEY_REVOKED'), 'KEY_REVOKED'],
    ['a MAC that fits no key', saysNo('INVALID_MAC'), 'INVALID_MAC'],
    ['a clock that is wrong', saysNo('CLOCK_SKEW'), 'CLOCK_SKEW'],
  ] as const)
    it(`stays undecided, also over a restart, when it is repeated and refused for ${what}`, async () => {
      const storage = memoryStorage()
      const first = await undecidedOn(storage)
      server.on(VALIDATE, script)
      const again = await pay(first)
      expect(again).to.include({ accepted: false, undecided: true })
      expect(again.error)
        .to.match(new RegExp(`^${code}: `))
        .and.include('says nothing of the attempt before')
      expect(first.undecided().map(({ transactionId }) => transactionId)).to.deep.equal([again.transactionId])
      await first.close()
      server.on(VALIDATE, valid)
      const second = await open({ baseUrl: server.url, storage, limits: { floorLimit: 5 } })
      await second.probe()
      expect(await pay(second)).to.include({ accepted: true, transactionId: again.transactionId })
      expect(second.undecided()).to.deep.equal([])
    })

  for (const [code, script] of [
    ['DOUBLE_SPEND', saysNo('DOUBLE_SPEND', true)],
    ['TOO_OLD', saysNo('TOO_OLD')],
    ['LIMIT_EXCEEDED', saysNo('LIMIT_EXCEEDED')],
    ['ASSURANCE_TOO_LOW', saysNo('ASSURANCE_TOO_LOW')],
    ['transaction_conflict', refuses(409, 'transaction_conflict')],
  ] as const)
    it(`is refused once it is repeated and the server, which has looked for it, says ${code}`, async () => {
      const terminal = await undecidedOn()
      server.on(VALIDATE, script)
      const again = await pay(terminal)
      expect(again.accepted).to.equal(false)
      expect(again).to.not.have.property('undecided')
      expect(terminal.undecided()).to.deep.equal([])
    })

  it('lets its card token pay no other amount, with and without the server, until it is decided', async () => {
    const terminal = await undecidedOn()
    const asked = server.requests.length
    const before = terminal.undecided()
    const refusedOther = async () => {
      for (const changes of [{ amount: 1 }, { currency: 'EUR' }, { transactionId: 'order-1' }]) {
        const other = await pay(terminal, changes)
        expect(other).to.include({ accepted: false, queued: false })
        expect(other.error).to.match(/^UNDECIDED: A payment of 6 GBP with this card token is undecided/)
      }
    }
    await refusedOther()
    server.on('/health', () => ({ status: 503, body: {} }))
    expect(await terminal.probe()).to.equal(false)
    await refusedOther()
    expect(terminal.pending().count).to.equal(0)
    expect(terminal.undecided()).to.deep.equal(before)
    expect(server.requests).to.have.length(asked)
    // Another card pays as always.
    expect(await pay(terminal, { cardToken: 'tok_2', amount: 1 })).to.include({ accepted: true })
    server.on('/health', () => ({ body: { status: 'healthy' } }))
    server.on(VALIDATE, valid)
    await terminal.probe()
    expect(await pay(terminal)).to.include({ accepted: true, transactionId: before[0]?.transactionId })
  })

  it('is not taken offline once it is older than what may wait, which would be refused when it is uploaded', async () => {
    const storage = memoryStorage()
    let now = Date.now()
    const maxOfflineAgeMs = 3_600_000
    const openWith = (storedSumLimit: number) =>
      open({
        ...{ baseUrl: server.url, storage, clock: { now: () => now } },
        limits: { storedSumLimit, maxOfflineAgeMs },
      })
    const first = await openWith(5)
    await first.probe()
    const { transactionId, undecided } = await pay(first)
    expect(undecided).to.equal(true)
    await first.close()
    server.on('/health', () => ({ status: 503, body: {} }))
    now += maxOfflineAgeMs + 1
    const second = await openWith(10)
    const again = await pay(second)
    expect(again).to.include({ accepted: false, queued: false, undecided: true, transactionId })
    expect(again.error).to.match(/^LIMIT_EXCEEDED: .* waited/)
    // Another card waits for nothing.
    expect(await pay(second, { cardToken: 'tok_2', amount: 1 })).to.include({ accepted: true, queued: true })
    server.on('/health', () => ({ body: { status: 'healthy' } }))
    server.on(VALIDATE, valid)
    await second.probe()
    expect(await pay(second)).to.include({ accepted: true, synced: true, transactionId })
  })

  it('counts from when it was made once it waits behind later ones, also over a restart', async () => {
    const storage = memoryStorage()
    const hour = 3_600_000
    const begun = Date.now()
    let now = begun
    const at = (hours: number): void => {
      now = begun + hours * hour
    }
    const limits = { maxOfflineAgeMs: 24 * hour }
    const openAgain = () => open({ baseUrl: server.url, storage, clock: { now: () => now }, limits })
    const first = await open({
      ...{ baseUrl: server.url, storage, clock: { now: () => now } },
      limits: { ...limits, storedSumLimit: 5 },
    })
    await first.probe()
    expect(await pay(first)).to.include({ accepted: false, undecided: true })
    await first.close()
    server.on('/health', () => ({ status: 503, body: {} }))
    const second = await openAgain()
    at(20)
    expect(await pay(second, { cardToken: 'tok_2' })).to.include({ accepted: true, queued: true })
    at(23)
    expect(await pay(second)).to.include({ accepted: true, queued: true })
    expect(second.pending().count).to.equal(2)
    const expectLimit = async (terminal: Terminal, cardToken = 'tok_3') => {
      const { accepted, error } = await pay(terminal, { cardToken })
      expect([accepted, error]).to.deep.equal([
        false,
        `LIMIT_EXCEEDED: a payment has waited for upload for more than ${24 * hour} ms; connect first.`,
      ])
    }
    at(30)
    await expectLimit(second)
    await second.close()
    const third = await openAgain()
    await expectLimit(third)
    // Clocks ahead hide nothing, and tell nothing once they are set right.
    at(23)
    expect(await pay(third, { cardToken: 'tok_3' })).to.include({ accepted: true, queued: true })
    at(-1)
    expect(await pay(third, { cardToken: 'tok_4' })).to.include({ accepted: true, queued: true })
    at(24)
    await expectLimit(third, 'tok_5')
    server.on(
      '/api/merchant/transactions/sync',
      ({ transactions }: { transactions: QueuedTransaction[] }) => ({
        body: {
          ...{ synced: transactions.length, failed: 0, errors: [] },
          results: transactions.map(({ transactionId }, index) => ({
            ...{ index, transactionId, status: 'synced', assurance: 'mac' },
          })),
        },
      }),
    )
    expect(await third.flush()).to.include({ synced: 4, pending: 0 })
    expect(await pay(third, { cardToken: 'tok_5' })).to.include({ accepted: true, queued: true })
  })

  it('names its own transaction id to whoever presents the card under another', async () => {
    const terminal = await undecidedOn(memoryStorage(), { transactionId: 'order-1' })
    const other = await pay(terminal, { transactionId: 'order-2' })
    expect(other.error).to.match(/^UNDECIDED: .* under the transaction id order-1, is undecided/)
    server.on(VALIDATE, valid)
    // Whoever gives no id means the payment that is undecided.
    expect(await pay(terminal)).to.include({ accepted: true, transactionId: 'order-1' })
  })
})
