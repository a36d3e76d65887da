/** All payments of an organisation, as its operators look through them. */
import { expect } from 'chai'
import type { ListedPayment, PaymentPage } from '../../../src/domain/payments/schemas.ts'
import { MAX_SEARCHED_ROWS } from '../../../src/store/pages.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { type Owner, type Till, terminalTill } from '../../support/domain/tills.ts'
import { eventually } from '../../support/eventually.ts'
import { readsOf } from '../../support/query-plans.ts'
import { onPostgres } from '../../support/servers/database.ts'

const DAY_MS = 86_400_000
const PAYMENTS = '/console/api/payments'

describe('the list of payments', () => {
  let app: TestApp
  let owner: Owner
  let till: Till
  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    till = await terminalTill(app, owner)
  })

  const list = (query = ''): Promise<PaymentPage> =>
    ok(app, 'GET', `${PAYMENTS}?${query}`, { key: owner.apiKey })
  const idsOf = ({ payments }: PaymentPage): string[] => payments.map(({ transactionId }) => transactionId)
  const csv = async (query = '') => {
    const { status, body, headers } = await app.request<string>('GET', `${PAYMENTS}.csv?${query}`, {
      key: owner.apiKey,
    })
    expect(status).to.equal(200)
    return { lines: body.split('\r\n').filter((line) => line !== ''), headers }
  }
  const refused = async (query: string) => {
    const { status, body } = await app.request<{ error: string; details: { path: string }[] }>(
      'GET',
      `${PAYMENTS}?${query}`,
      { key: owner.apiKey },
    )
    return [status, body.error, body.details?.[0]?.path]
  }

  /** One payment of each state, the oldest first. */
  const oneOfEach = async () => {
    const cardToken = 'tok_of_two_payments'
    const accepted = till.payment({ cardToken })
    await till.validate(accepted)
    const conflict = till.payment({ cardToken })
    await till.sync([conflict])
    const rejected = { ...till.payment(), amount: 99 }
    await till.sync([rejected])
    const old = await terminalTill(app, owner)
    await ok(app, 'DELETE', `/console/api/keys/${old.keyId}`, { key: owner.apiKey })
    const late = till.payment({ key: old.key })
    await till.sync([late])
    return { accepted, conflict, rejected, late }
  }

  /** Writes payments straight into the table. @param each of `i`, 1 to `count`: SQL of columns */
  const fill = async (count: number, each: { receivedAt: string; origin?: string; amount?: string }) => {
    const { receivedAt, origin = "'ter_'", amount = '1250' } = each
    await app.services.database.knex.raw(
      `INSERT INTO payments (id, organisation, entry_index, status, channel, transaction_id, merchant, origin,
          amount_minor, currency, assurance, received_at)
        SELECT 'pay_' || lpad(i::text, 20, '0') || substr(:merchant, 25), :organisation, 0,
          CASE WHEN i % 1000 = 0 THEN 'rejected' ELSE 'accepted' END, 'sync', 'txn_' || i, :merchant, ${origin},
          ${amount}, 'GBP', 'mac', ${receivedAt} FROM generate_series(1, :count) AS i`,
      { organisation: owner.organisationId, merchant: owner.merchantId, count },
    )
    await app.services.database.knex.raw('ANALYZE payments')
  }

  it('has payments of every state, newest first, and of each what a till operator asks', async () => {
    const { accepted, conflict, rejected, late } = await oneOfEach()
    const { payments, nextCursor } = await list()
    expect(nextCursor).to.equal(null)
    expect(payments.map(({ transactionId, status }) => [transactionId, status])).to.deep.equal([
      [late.transactionId, 'late'],
      [rejected.transactionId, 'rejected'],
      [conflict.transactionId, 'conflict'],
      [accepted.transactionId, 'accepted'],
    ])
    const [, , second, first] = payments
    expect(first).to.include({
      merchantId: till.merchantId,
      origin: till.origin,
      amount: 12.5,
      currency: 'GBP',
      assurance: 'mac',
      reason: null,
      acceptedAt: null,
      timestamp: new Date(accepted.timestamp).toISOString(),
    })
    expect(second).to.include({
      reason: 'DOUBLE_SPEND',
      firstPaymentId: first?.paymentId,
      firstTransactionId: accepted.transactionId,
      firstOrigin: till.origin,
    })
  })

  it('is narrowed to a state, a terminal and a merchant', async () => {
    const { accepted, conflict, rejected, late } = await oneOfEach()
    const branch = await ok<{ merchantId: string }>(app, 'POST', '/console/api/merchants', {
      key: owner.apiKey,
      body: { name: 'branch' },
    })
    const other = await terminalTill(app, owner, undefined, branch.merchantId)
    const elsewhere = other.payment()
    await other.validate(elsewhere)
    for (const [status, payments] of Object.entries({
      accepted: [elsewhere, accepted],
      conflict: [conflict],
      rejected: [rejected],
      late: [late],
    }))
      expect(idsOf(await list(`status=${status}`)), status).to.deep.equal(
        payments.map(({ transactionId }) => transactionId),
      )
    expect(idsOf(await list(`terminalId=${other.origin}`))).to.deep.equal([elsewhere.transactionId])
    expect(idsOf(await list(`merchantId=${branch.merchantId}`))).to.deep.equal([elsewhere.transactionId])
    expect((await list(`merchantId=${owner.merchantId}`)).payments).to.have.length(4)
    expect((await list(`terminalId=${other.origin}&status=late`)).payments).to.deep.equal([])
  })

  it('shows a late payment that was accepted among the accepted, and when that was', async () => {
    const { late } = await oneOfEach()
    const [waiting] = (await list('status=late')).payments
    const answer = await ok<{ acceptedAt: string }>(app, 'POST', `${PAYMENTS}/${waiting?.paymentId}/accept`, {
      key: owner.apiKey,
    })
    expect((await list('status=late')).payments).to.deep.equal([])
    const [now] = (await list('status=accepted')).payments
    expect(now).to.deep.equal({ ...waiting, status: 'accepted', acceptedAt: answer.acceptedAt })
    expect(now).to.include({ transactionId: late.transactionId, reason: 'KEY_REVOKED' })
  })

  it('is of this organisation alone, for those who may read its log', async () => {
    await oneOfEach()
    const stranger = await app.organisation()
    const { payments } = await list()
    const asked = { key: stranger.apiKey }
    expect(await ok(app, 'GET', PAYMENTS, asked)).to.deep.equal({ payments: [], nextCursor: null })
    const mine = `terminalId=${till.origin}&merchantId=${owner.merchantId}`
    expect(await ok(app, 'GET', `${PAYMENTS}?${mine}`, asked)).to.deep.equal({
      payments: [],
      nextCursor: null,
    })
    const cursor = await app.request('GET', `${PAYMENTS}?cursor=${payments[0]?.paymentId}`, asked)
    expect(cursor.status).to.equal(400)
    expect(
      (await app.request<string>('GET', `${PAYMENTS}.csv`, asked)).body.trim().split('\r\n'),
    ).to.have.length(1)
    for (const path of [PAYMENTS, `${PAYMENTS}.csv`])
      expect((await app.request('GET', path, { key: till.key })).status).to.equal(403)
  })

  it('is narrowed to days, which are whole, and to times', async () => {
    const midnight = Date.UTC(2026, 2, 2)
    await fill(48, { receivedAt: `${midnight - DAY_MS} + (i - 1) * 3600000` })
    expect((await list('from=2026-03-01&to=2026-03-01')).payments).to.have.length(24)
    expect((await list('from=2026-03-01&to=2026-03-02')).payments).to.have.length(48)
    expect((await list('from=2026-03-02')).payments).to.have.length(24)
    expect((await list('to=2026-03-01T23:00:00Z')).payments).to.have.length(23)
    expect((await list('from=2026-03-02T01:00:00%2B01:00&to=2026-03-02T02:00:00Z')).payments).to.have.length(
      2,
    )
    expect(await refused('from=2026-02-30')).to.deep.equal([400, 'invalid_query', 'query/from'])
    expect(await refused('to=yesterday')).to.deep.equal([400, 'invalid_query', 'query/to'])
    expect(await refused('from=2026-03-02&to=2026-03-01')).to.deep.equal([400, 'invalid_query', 'query/from'])
    expect(await refused('to=9999-12-31')).to.deep.equal([400, 'invalid_query', 'query/to'])
    expect(await refused('state=late')).to.deep.equal([400, 'unknown_parameter', 'query/state'])
  })

  it('is narrowed to amounts in major units of whatever currency', async () => {
    for (const [currency, amountMinor] of [
      ['GBP', 110],
      ['GBP', 111],
      ['JPY', 2],
      ['JPY', 1],
      ['KWD', 1105],
    ] as const)
      await till.sync([till.payment({ currency, amountMinor })])
    const amounts = async (query: string) =>
      (await list(query)).payments.map(({ amount, currency }) => `${amount} ${currency}`)
    expect(await amounts('minAmount=1.1')).to.deep.equal(['1.105 KWD', '2 JPY', '1.11 GBP', '1.1 GBP'])
    expect(await amounts('maxAmount=1.1')).to.deep.equal(['1 JPY', '1.1 GBP'])
    expect(await amounts('minAmount=1.11&maxAmount=1.11')).to.deep.equal(['1.11 GBP'])
    expect((await refused('minAmount=-1'))[2]).to.equal('query/minAmount')
    // In minor units more than the database has numbers for.
    const most = Number.MAX_SAFE_INTEGER
    expect(await amounts(`maxAmount=${most}`)).to.have.length(5)
    expect(await amounts(`minAmount=${most}`)).to.deep.equal([])
    expect((await csv(`minAmount=1.1&maxAmount=${most}`)).lines).to.have.length(5)
  })

  it('goes from page to page without gap or repetition, also where many arrived at once', async () => {
    await fill(250, { receivedAt: `${Date.UTC(2026, 2, 2)} + i / 40` })
    const seen: ListedPayment[] = []
    let cursor: string | null = null
    do {
      const page: PaymentPage = await list(`limit=60${cursor === null ? '' : `&cursor=${cursor}`}`)
      seen.push(...page.payments)
      cursor = page.nextCursor
    } while (cursor !== null)
    expect(seen.map(({ transactionId }) => transactionId)).to.deep.equal(
      Array.from({ length: 250 }, (_, i) => `txn_${250 - i}`),
    )
  })

  it('is a file for spreadsheets, with the same rows and no formula in it', async () => {
    const payment = { ...till.payment(), customerId: '=HYPERLINK("https://evil.example")' }
    await till.validate(payment)
    await oneOfEach()
    const { lines, headers } = await csv()
    expect(headers.get('content-type')).to.equal('text/csv; charset=utf-8; header=present')
    expect(headers.get('content-disposition')).to.match(
      /^attachment; filename="assay-payments-[\d-]{10}\.csv"$/,
    )
    expect(lines[0]).to.equal(Object.keys((await list()).payments[0] ?? {}).join(','))
    expect(lines.slice(1).map((line) => line.split(',')[3])).to.deep.equal(idsOf(await list()))
    expect(lines.at(-1)).to.contain(`"'=HYPERLINK(""https://evil.example"")"`)
    expect((await csv('status=late')).lines).to.have.length(2)
    expect((await csv('minAmount=99')).lines).to.have.length(2)
    expect((await app.request('GET', `${PAYMENTS}.csv?limit=1`, { key: owner.apiKey })).status).to.equal(400)
  })

  it('is one file at a time for an organisation, and complete however long it is', async () => {
    await fill(2_500, { receivedAt: `${Date.UTC(2026, 2, 2)} + i` })
    expect(new Set((await csv()).lines).size).to.equal(2_501)
    const caller = { organisation: owner.organisationId } as never
    const unread = await app.services.payments.file(caller, {})
    const second = await app.request('GET', `${PAYMENTS}.csv`, { key: owner.apiKey })
    expect([second.status, second.headers.get('retry-after')]).to.deep.equal([429, '1'])
    unread.body.destroy()
    await new Promise((resolve) => unread.body.once('close', resolve))
    await csv('status=late')
  })

  // A lock of another session keeps the first payments waiting.
  onPostgres.it('is a file that can be asked for again by whoever went while it was begun', async () => {
    const { knex } = app.services.database
    const url = `${app.url}${PAYMENTS}.csv`
    const headers = { 'x-api-key': owner.apiKey }
    await knex.transaction(async (trx) => {
      await trx.raw('LOCK TABLE payments IN ACCESS EXCLUSIVE MODE')
      const gone = fetch(url, { headers, signal: AbortSignal.timeout(300) }).catch(({ name }: Error) => name)
      await eventually('it waits', async () => {
        const { rows } = await trx.raw(
          "SELECT FROM pg_locks WHERE NOT granted AND relation = 'payments'::regclass",
        )
        return rows.length === 1
      })
      expect(await gone).to.equal('TimeoutError')
    })
    await eventually('it is let go', async () => (await fetch(url, { headers })).status === 200)
  })

  it('is no file that breaks off where its first payments can’t be read, and can be asked for again', async () => {
    const { knex } = app.services.database
    const ask = async () => (await app.request('GET', `${PAYMENTS}.csv`, { key: owner.apiKey })).status
    await knex.raw('ALTER TABLE payments RENAME TO payments_away')
    try {
      expect([await ask(), await ask()]).to.deep.equal([500, 500])
    } finally {
      await knex.raw('ALTER TABLE payments_away RENAME TO payments')
    }
    expect(await ask()).to.equal(200)
  })

  it('reads no more than it shows, however many there are', async () => {
    const at = Date.UTC(2026, 2, 2)
    await fill(30_000, {
      receivedAt: `${at} + i`,
      origin: `CASE WHEN i % 500 = 0 THEN '${till.origin}' ELSE 'ter_' END`,
    })
    for (const query of [
      '',
      'status=accepted',
      'status=rejected',
      `terminalId=${till.origin}`,
      `merchantId=${owner.merchantId}`,
      'from=2026-03-02T00:00:01Z&to=2026-03-02T00:00:02Z',
    ]) {
      const reads = await readsOf(app.services.database, async () => {
        const page = await list(`limit=20&${query}`)
        expect(page.payments, query).to.have.length(20)
      })
      const ofPayments = reads.filter(({ text }) => text.includes('"payments"'))
      expect(ofPayments, query).to.have.length(1)
      expect(ofPayments[0]?.rows, `${query} ${ofPayments[0]?.indexes}`).to.be.at.most(25)
    }
  })

  it('looks for an amount among a bounded number of payments, and says where to go on', async () => {
    const count = MAX_SEARCHED_ROWS * 2 + 5
    await fill(count, {
      receivedAt: `${Date.UTC(2026, 2, 2)} + i`,
      amount: `CASE WHEN i = ${count - MAX_SEARCHED_ROWS} THEN 777 ELSE 1250 END`,
    })
    const first = await list('maxAmount=10')
    expect(first.payments).to.deep.equal([])
    const second = await list(`maxAmount=10&cursor=${first.nextCursor}`)
    expect(idsOf(second)).to.deep.equal([`txn_${count - MAX_SEARCHED_ROWS}`])
    const third = await list(`maxAmount=10&cursor=${second.nextCursor}`)
    expect(third).to.deep.equal({ payments: [], nextCursor: null })
    expect((await csv('maxAmount=10')).lines).to.have.length(2)
  })
})
