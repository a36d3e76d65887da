/** One card token pays once: what repetitions, races and other terminals get. */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { compactOf, parseProof } from '../../../src/protocol/payment-proof.ts'
import type { RefusalCode } from '../../../src/protocol/sync.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import {
  keyTill,
  type Owner,
  type PaymentWishes,
  type TestPayment,
  type Till,
  terminalTill,
} from '../../support/domain/tills.ts'

const DAY_MS = 24 * 3_600_000

interface Alert {
  type: string
  subject: string
  count: number
}

interface Listed {
  paymentId: string
  transactionId: string
  origin: string
  firstTransactionId: string | null
  firstOrigin: string | null
  reason: string
}

describe('repeated payments', () => {
  let app: TestApp
  let owner: Owner
  let till: Till
  let other: Till

  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    till = await terminalTill(app, owner)
    other = await terminalTill(app, owner)
  })

  const alerts = async (type: string): Promise<Alert[]> => {
    const { body } = await app.request('GET', '/api/security/alerts', { bearer: owner.apiKey })
    return (body as { alerts: Alert[] }).alerts.filter((alert) => alert.type === type)
  }
  const listed = async (status: string): Promise<Listed[]> => {
    const { body } = await app.request('GET', `/console/api/payments?status=${status}`, { key: owner.apiKey })
    return (body as { payments: Listed[] }).payments
  }
  const doubleSpend = (transactionId: string) => ({
    valid: false,
    transactionId,
    doubleSpend: true,
    assurance: 'mac',
    reason: 'DOUBLE_SPEND',
  })

  it('get the first answer when terminal, id and content are the same', async () => {
    const payment = till.payment()
    const first = await till.validate(payment)
    expect(first.body.valid).to.equal(true)
    expect((await till.validate(payment)).body).to.deep.equal(first.body)
    expect((await till.sync([payment])).body.results[0]?.status).to.equal('duplicate')
    expect((await till.sync([payment])).body).to.include({ synced: 1, failed: 0 })
    expect(await alerts('double_spend')).to.deep.equal([])
  })

  it('get the first answer when it was a sync and the second is a validate', async () => {
    const payment = till.payment()
    expect((await till.sync([payment])).body.results[0]?.status).to.equal('synced')
    expect((await till.validate(payment)).body).to.include({ valid: true, doubleSpend: false })
  })

  it('are a repeated card without a transaction id', async () => {
    const { transactionId: _, ...payment } = till.payment()
    expect((await till.validate(payment)).body.valid).to.equal(true)
    expect((await till.validate(payment)).body).to.include({
      valid: false,
      doubleSpend: true,
      reason: 'DOUBLE_SPEND',
    })
  })

  it('are a repeated card under another transaction id', async () => {
    const payment = till.payment()
    await till.validate(payment)
    expect((await till.validate({ ...payment, transactionId: 'other' })).body).to.deep.equal(
      doubleSpend('other'),
    )
  })

  it('are harmless on sync even under another id: the content is the same', async () => {
    const { transactionId: _, ...payment } = till.payment()
    expect((await till.validate(payment)).body.valid).to.equal(true)
    expect((await till.sync([payment])).body.results[0]?.status).to.equal('duplicate')
  })

  it('are harmless on sync even all under one id, however many: each is found by its card', async () => {
    const payments = Array.from({ length: 12 }, () => till.payment())
    await till.sync(payments)
    const again = payments.map((payment) => ({ ...payment, transactionId: 'one_for_all' }))
    const { status, body } = await till.sync(again)
    expect(status).to.equal(200)
    expect(body.results.map((result) => result.status)).to.deep.equal(again.map(() => 'duplicate'))
  })

  it('are recognised whichever form the proof comes in: both name the same payment', async () => {
    const payment = till.payment()
    const proof = parseProof(payment.proofData)
    const compact = { ...payment, proofData: proof.ok ? compactOf(proof) : '' }
    expect((await till.validate(compact)).body).to.include({ valid: true, assurance: 'structural' })
    expect((await till.sync([payment])).body.results[0]?.status).to.equal('duplicate')
    expect(await alerts('double_spend')).to.deep.equal([])
  })

  it('are 409 on validate when the id is the same and the content is not', async () => {
    const payment = till.payment()
    await till.validate(payment)
    const answer = await till.validate(till.payment({ transactionId: payment.transactionId }))
    expect([answer.status, answer.body.error]).to.deep.equal([409, 'transaction_conflict'])
  })

  it('are rejected on sync when the id is the same and the content is not', async () => {
    const payment = till.payment()
    await till.sync([payment])
    const fresh = till.payment()
    const { body } = await till.sync([till.payment({ transactionId: payment.transactionId }), fresh])
    expect(body.results.map(({ status }) => status)).to.deep.equal(['rejected', 'synced'])
    expect(body.errors[0]?.code).to.equal('TRANSACTION_CONFLICT')
  })

  it('are a double spend from another terminal, which keeps getting that answer with one alert', async () => {
    const cardToken = `tok_${randomUUID()}`
    const first = till.payment({ cardToken })
    const second = other.payment({ cardToken })
    expect((await till.validate(first)).body.valid).to.equal(true)
    for (let i = 0; i < 3; i++) {
      expect((await other.validate(second)).body).to.deep.equal(doubleSpend(second.transactionId))
    }
    expect((await other.sync([second])).body).to.deep.include({
      synced: 0,
      failed: 1,
      results: [{ index: 0, transactionId: second.transactionId, status: 'conflict', assurance: 'mac' }],
    })
    expect(await alerts('double_spend')).to.have.lengthOf(1)
    expect((await alerts('double_spend'))[0]).to.include({ subject: other.origin, count: 1 })
    const conflicts = await listed('conflict')
    expect(conflicts).to.have.lengthOf(1)
    expect(conflicts[0]).to.include({
      transactionId: second.transactionId,
      origin: other.origin,
      firstTransactionId: first.transactionId,
      firstOrigin: till.origin,
      reason: 'DOUBLE_SPEND',
    })
  })

  it('are a double spend from another terminal even with the same id and content', async () => {
    const payment = till.payment()
    expect((await till.validate(payment)).body.valid).to.equal(true)
    expect((await other.validate(payment)).body).to.deep.equal(doubleSpend(payment.transactionId))
    expect((await till.validate(payment)).body.valid).to.equal(true)
  })

  it('do not meet across organisations', async () => {
    const stranger = await keyTill(app, await app.organisation())
    const cardToken = `tok_${randomUUID()}`
    expect((await till.validate(till.payment({ cardToken }))).body.valid).to.equal(true)
    expect((await stranger.validate(stranger.payment({ cardToken }))).body.valid).to.equal(true)
  })

  it('replay the answer to an Idempotency-Key, without a second alert', async () => {
    const cardToken = `tok_${randomUUID()}`
    await till.validate(till.payment({ cardToken }))
    const { transactionId: _, ...repeated } = other.payment({ cardToken })
    const headers = { 'Idempotency-Key': 'once' }
    const first = await other.validate(repeated, headers)
    expect(first.body.doubleSpend).to.equal(true)
    expect((await other.validate(repeated, headers)).body).to.deep.equal(first.body)
    expect((await alerts('double_spend'))[0]?.count).to.equal(1)
  })

  it('inside one batch: the first is synced, its copy a duplicate, another payment of the card a conflict', async () => {
    const cardToken = `tok_${randomUUID()}`
    const payment = till.payment({ cardToken })
    const { body } = await till.sync([payment, payment, till.payment({ cardToken })])
    expect(body.results.map(({ status }) => status)).to.deep.equal(['synced', 'duplicate', 'conflict'])
    expect([body.synced, body.failed]).to.deep.equal([2, 1])
  })

  it('are remembered when policy would refuse them by now', async () => {
    const short = await terminalTill(app, owner, { maxOfflineAgeMs: 3_000 })
    const payment = short.payment({ at: Date.now() - 2_500 })
    expect((await short.sync([payment])).body.results[0]?.status).to.equal('synced')
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect((await short.sync([payment])).body.results[0]?.status).to.equal('duplicate')
  })

  describe('that the policy refuses as well', () => {
    const limits = { floorLimit: 10, minAssurance: 'mac', maxOfflineAgeMs: 60_000 }
    const cases: readonly [reason: RefusalCode, route: 'validate' | 'sync', wishes: PaymentWishes][] = [
      ['TOO_OLD', 'validate', { at: Date.now() - DAY_MS }],
      ['TOO_OLD', 'sync', { at: Date.now() - DAY_MS }],
      ['ASSURANCE_TOO_LOW', 'validate', { form: 'compact' }],
      ['ASSURANCE_TOO_LOW', 'sync', { form: 'compact' }],
      ['LIMIT_EXCEEDED', 'sync', { amountMinor: 1001 }],
    ]
    const reasonOf = async (strict: Till, route: 'validate' | 'sync', payment: TestPayment) =>
      route === 'validate'
        ? (await strict.validate(payment)).body.reason
        : (await strict.sync([payment])).body.errors[0]?.code

    for (const [reason, route, wishes] of cases)
      it(`are a double spend, with its alert, on ${route} beside ${reason}`, async () => {
        const strict = await terminalTill(app, owner, limits)
        const cardToken = `tok_${randomUUID()}`
        const second = strict.payment({ amountMinor: 500, cardToken, ...wishes })
        // Unspent, it is the policy that refuses it, and that decides nothing.
        expect(await reasonOf(strict, route, second)).to.equal(reason)
        const first = till.payment({ cardToken })
        expect((await till.validate(first)).body.valid).to.equal(true)
        if (route === 'validate') {
          const { assurance, ...told } = (await strict.validate(second)).body
          const { assurance: _, ...expected } = doubleSpend(second.transactionId)
          expect(told).to.deep.equal(expected)
        } else {
          const { results, errors } = (await strict.sync([second])).body
          expect([results[0]?.status, errors[0]?.code]).to.deep.equal(['conflict', 'DOUBLE_SPEND'])
        }
        expect((await alerts('double_spend')).map(({ subject }) => subject)).to.deep.equal([strict.origin])
        expect(await listed('conflict')).to.have.lengthOf(1)
        expect((await listed('conflict'))[0]).to.include({
          transactionId: second.transactionId,
          firstTransactionId: first.transactionId,
          firstOrigin: till.origin,
          reason: 'DOUBLE_SPEND',
        })
      })
  })

  it('are judged anew after a refusal for policy: that one decided nothing', async () => {
    const small = await terminalTill(app, owner, { floorLimit: 10 })
    const payment = small.payment()
    for (let i = 0; i < 2; i++) {
      expect((await small.sync([payment])).body.errors[0]?.code).to.equal('LIMIT_EXCEEDED')
    }
    expect((await small.validate(payment)).body.valid).to.equal(true)
    expect((await small.sync([payment])).body.results[0]?.status).to.equal('duplicate')
    expect((await small.validate(payment)).body.valid).to.equal(true)
    const { transactionId: _, ...nameless } = small.payment()
    expect((await small.validate(nameless)).body.valid).to.equal(true)
    expect((await small.sync([nameless])).body.results[0]?.status).to.equal('duplicate')
  })

  it('of 64 at once with one card, exactly one is valid', async () => {
    const cardToken = `tok_${randomUUID()}`
    const payments = Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? till : other).payment({ cardToken }))
    const answers = await Promise.all(
      payments.map((payment, i) => (i % 2 === 0 ? till : other).validate(payment)),
    )
    expect(answers.filter(({ body }) => body.valid)).to.have.lengthOf(1)
    expect(answers.filter(({ body }) => body.doubleSpend)).to.have.lengthOf(63)
  })

  it('of 64 at once with one id and content, all get the same answer and one is booked', async () => {
    const payment = till.payment()
    const before = await app.services.ledger.head()
    const answers = await Promise.all(Array.from({ length: 64 }, () => till.validate(payment)))
    expect(answers.every(({ body }) => body.valid && !body.doubleSpend)).to.equal(true)
    expect((await app.services.ledger.head()).size).to.equal(before.size + 1)
  })

  it('count as double spends in the metrics', async () => {
    const read = async () => {
      const { body } = await app.request('GET', '/metrics')
      return Number(/^double_spend_total (\d+)/m.exec(String(body))?.[1] ?? 0)
    }
    const before = await read()
    const cardToken = `tok_${randomUUID()}`
    await till.sync([till.payment({ cardToken }), till.payment({ cardToken }), till.payment({ cardToken })])
    expect((await read()) - before).to.equal(2)
  })
})

describe('clocks of terminals', () => {
  it('that are ahead put off what is uploaded until its time has come, and leave nothing in the list', async () => {
    let passedMs = 0
    const app = await startTestApp({ clock: { now: () => Date.now() + passedMs } })
    try {
      const owner = await app.organisation()
      const till = await terminalTill(app, owner)
      const listed = async () => {
        const { body } = await app.request('GET', '/console/api/payments', { key: owner.apiKey })
        return (body as { payments: { transactionId: string; status: string }[] }).payments
      }
      const payment = till.payment({ at: Date.now() + 10 * 60_000 })
      const { transactionId } = payment
      for (const _ of [1, 2]) {
        const [error] = (await till.sync([payment])).body.errors
        expect(error).to.include({ transactionId, code: 'CLOCK_SKEW', retryable: true })
      }
      expect(await listed()).to.deep.equal([])
      passedMs = 6 * 60_000
      expect((await till.sync([payment])).body.results[0]).to.include({ status: 'synced', assurance: 'mac' })
      expect((await till.sync([payment])).body.results[0]?.status).to.equal('duplicate')
      expect(await listed()).to.have.lengthOf(1)
      expect((await listed())[0]).to.include({ transactionId, status: 'accepted' })
    } finally {
      await app.close()
    }
  })

  it('that were ahead by more than a day have what is uploaded refused for good, and listed', async () => {
    const now = Date.now()
    const app = await startTestApp({ clock: { now: () => now } })
    try {
      const owner = await app.organisation()
      const till = await terminalTill(app, owner)
      const atMost = till.payment({ at: now + DAY_MS })
      const farther = till.payment({ at: now + DAY_MS + 1 })
      const { errors } = (await till.sync([atMost, farther])).body
      expect(errors.map(({ code, retryable }) => [code, retryable])).to.deep.equal([
        ['CLOCK_SKEW', true],
        ['CLOCK_SKEW', false],
      ])
      for (const payment of [atMost, farther])
        expect((await till.validate(payment)).body).to.include({ valid: false, reason: 'CLOCK_SKEW' })
      const { body } = await app.request('GET', '/console/api/payments', { key: owner.apiKey })
      const { payments } = body as { payments: Listed[] }
      const told = (id = '') => ({ id, reason: 'CLOCK_SKEW' })
      expect(payments.map(({ transactionId: id, reason }) => ({ id, reason }))).to.have.deep.members([
        // Both, by being asked about; one by being uploaded.
        ...[atMost, farther, farther].map(({ transactionId }) => told(transactionId)),
      ])
    } finally {
      await app.close()
    }
  })

  /** What is told of clocks that went back. */
  const rollbacksOf = async (app: TestApp, { apiKey }: Owner): Promise<Alert[]> => {
    const { body } = await app.request('GET', '/api/security/alerts', { bearer: apiKey })
    return (body as { alerts: Alert[] }).alerts.filter(({ type }) => type === 'clock_rollback')
  }

  it('raise clock_rollback when a later payment is stamped more than five minutes earlier', async () => {
    const app = await sharedApp()
    const owner = await app.organisation()
    const till = await terminalTill(app, owner)
    const rollbacks = () => rollbacksOf(app, owner)
    const now = Date.now()
    const minutes = (count: number) => now - count * 60_000
    // An outage's payments arrive after a later one: their nonces tell that the clock is right.
    await till.validate(till.payment({ nonce: 10, at: now }))
    await till.sync([3, 4, 5].map((nonce) => till.payment({ nonce, at: minutes(60 - nonce) })))
    expect(await rollbacks()).to.deep.equal([])
    await till.validate(till.payment({ nonce: 11, at: minutes(4) }))
    expect(await rollbacks()).to.deep.equal([])
    await till.validate(till.payment({ nonce: 12, at: minutes(10) }))
    const [alert, ...more] = await rollbacks()
    expect(alert).to.include({ subject: till.origin, count: 1 })
    expect(more).to.deep.equal([])
    // The clock stays where it is now: once is enough.
    await till.validate(till.payment({ nonce: 13, at: minutes(10) }))
    expect((await rollbacks())[0]?.count).to.equal(1)
  })

  it('raise clock_rollback also where the first payment of a clock that went back could not be booked', async () => {
    const app = await sharedApp()
    const owner = await app.organisation()
    const till = await terminalTill(app, owner)
    const now = Date.now()
    const back = now - 3_600_000
    const first = till.payment({ nonce: 10, at: now })
    expect((await till.validate(first)).body.valid).to.equal(true)
    const { transactionId } = first
    expect((await till.validate(till.payment({ nonce: 11, at: back, transactionId }))).status).to.equal(409)
    expect(await rollbacksOf(app, owner)).to.deep.equal([])
    expect((await till.validate(till.payment({ nonce: 12, at: back }))).body.valid).to.equal(true)
    const told = (await rollbacksOf(app, owner)).map(({ subject, count }) => [subject, count])
    expect(told).to.deep.equal([[till.origin, 1]])
  })
})
