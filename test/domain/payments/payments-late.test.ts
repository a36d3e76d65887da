/** Which key made a proof, and what becomes of payments whose key is revoked. */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { SyncAnswer } from '../../../src/protocol/sync.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { keyTill, type Owner, type Till, terminalTill } from '../../support/domain/tills.ts'

interface Listed {
  paymentId: string
  transactionId: string
  status: string
  amount: number
  currency: string
  origin: string
  assurance: string
}

describe('payments under other keys', () => {
  let app: TestApp
  let owner: Owner
  let till: Till

  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    till = await terminalTill(app, owner)
  })

  const revoke = async (keyId: string) => {
    const { status } = await app.request('DELETE', `/console/api/keys/${keyId}`, { key: owner.apiKey })
    expect(status).to.be.within(200, 204)
  }
  const late = async () => {
    const { body } = await app.request('GET', '/console/api/payments?status=late', { key: owner.apiKey })
    return (body as { payments: Listed[] }).payments
  }
  const accept = async (paymentId: string, key = owner.apiKey) => {
    const { status, body } = await app.request('POST', `/console/api/payments/${paymentId}/accept`, { key })
    return { status, body: body as Record<string, unknown> }
  }
  const reject = async (paymentId: string, key = owner.apiKey, reason = 'The till was stolen.') => {
    const { status, body } = await app.request('POST', `/console/api/payments/${paymentId}/reject`, {
      key,
      body: { reason },
    })
    return { status, body: body as Record<string, unknown> }
  }
  /** A payment that arrived after its key was revoked. */
  const lateOne = async (cardToken = `tok_${randomUUID()}`) => {
    const old = await terminalTill(app, owner)
    await revoke(old.keyId)
    const payment = till.payment({ key: old.key, cardToken })
    await till.sync([payment])
    const waiting = (await late()).find(({ transactionId }) => transactionId === payment.transactionId)
    return { payment, paymentId: waiting?.paymentId ?? expect.fail('the payment does not wait') }
  }
  const alertTypes = async () => {
    const { body } = await app.request('GET', '/api/security/alerts', { bearer: owner.apiKey })
    return (body as { alerts: { type: string }[] }).alerts.map(({ type }) => type)
  }

  it('are sound when another live key of the merchant made the proof', async () => {
    const sibling = await terminalTill(app, owner)
    expect((await till.validate(till.payment({ key: sibling.key }))).body).to.include({
      valid: true,
      assurance: 'mac',
    })
    expect((await till.sync([till.payment({ key: sibling.key })])).body.results[0]?.status).to.equal('synced')
    expect(await alertTypes()).to.deep.equal([])
  })

  it('are known by the key that the terminal had before, however many of the organisation are newer', async () => {
    const shop = { key: owner.apiKey }
    const outOfSight = () =>
      Promise.all(
        Array.from({ length: 64 }, () =>
          app.request('POST', '/console/api/keys', { ...shop, body: { scopes: ['merchant'] } }),
        ),
      )
    await outOfSight()
    const rotation = await app.request<{ apiKey: string }>('POST', `/console/api/keys/${till.keyId}/rotate`, {
      ...shop,
      body: { overlapSeconds: 3600 },
    })
    const { apiKey } = rotation.body
    await outOfSight()
    const { body } = await app.request<{ token: string }>('POST', '/api/merchant/terminals/authenticate', {
      bearer: apiKey,
      body: { terminalId: till.origin, terminalSecret: till.terminalSecret },
    })
    const upload = async () => {
      const statuses: unknown[] = []
      for (const bearer of [body.token, apiKey]) {
        const answer = await app.request<SyncAnswer>('POST', '/api/merchant/transactions/sync', {
          bearer,
          body: { transactions: [till.payment()] },
        })
        statuses.push(answer.body.results[0]?.status)
      }
      return statuses
    }
    expect(await upload()).to.deep.equal(['synced', 'synced'])
    await revoke(till.keyId)
    expect(await upload()).to.deep.equal(['late', 'late'])
    expect(await alertTypes()).to.not.include('invalid_mac')
  })

  it('are neither listed nor accepted by a till, whose key may have been stolen', async () => {
    const stolen = await terminalTill(app, owner)
    const payment = stolen.payment()
    await revoke(stolen.keyId)
    await till.sync([payment])
    const [waiting] = await late()
    expect(waiting?.transactionId).to.equal(payment.transactionId)
    const answer = await accept(waiting?.paymentId ?? '', till.key)
    expect([answer.status, answer.body.error]).to.deep.equal([403, 'insufficient_scope'])
    expect((await app.request('GET', '/console/api/payments', { key: till.key })).status).to.equal(403)
    expect((await late()).length).to.equal(1)
  })

  it('are INVALID_MAC when the key is bound to another merchant', async () => {
    const { body } = await app.request('POST', '/console/api/merchants', {
      key: owner.apiKey,
      body: { name: 'branch' },
    })
    const branch = await terminalTill(app, owner, undefined, (body as { merchantId: string }).merchantId)
    expect(branch.merchantId).not.to.equal(till.merchantId)
    expect((await till.validate(till.payment({ key: branch.key }))).body.reason).to.equal('INVALID_MAC')
    expect((await branch.validate(branch.payment())).body).to.include({ valid: true, assurance: 'mac' })
  })

  it('are INVALID_MAC with an alert when the key is of another organisation', async () => {
    const stranger = await keyTill(app, await app.organisation())
    expect((await till.validate(till.payment({ key: stranger.key }))).body.reason).to.equal('INVALID_MAC')
    expect(await alertTypes()).to.deep.equal(['invalid_mac'])
  })

  it('are late on sync, and no answer to a validate, when the key is revoked', async () => {
    const old = await terminalTill(app, owner)
    await revoke(old.keyId)
    const payment = till.payment({ key: old.key })
    expect((await till.sync([payment])).body).to.deep.equal({
      synced: 1,
      failed: 0,
      errors: [],
      results: [{ index: 0, transactionId: payment.transactionId, status: 'late', assurance: 'structural' }],
    })
    expect((await till.sync([payment])).body.results[0]?.status).to.equal('late')
    expect(await alertTypes()).to.deep.equal(['key_revoked_used'])
    expect((await till.validate(till.payment({ key: old.key }))).body).to.include({
      valid: false,
      doubleSpend: false,
      reason: 'KEY_REVOKED',
      assurance: 'structural',
    })
    expect(await late()).to.have.lengthOf(1)
    expect((await late())[0]).to.include({
      transactionId: payment.transactionId,
      status: 'late',
      amount: 12.5,
      currency: 'GBP',
      origin: till.origin,
      assurance: 'structural',
    })
  })

  it('are all late from a terminal whose own key is revoked; validate is closed to it', async () => {
    const payments = [till.payment(), till.payment({ form: 'compact' })]
    const forged = till.payment({ key: 'somebody else' })
    await revoke(till.keyId)
    const { body } = await till.sync([...payments, forged])
    expect(body.results.map(({ status }) => status)).to.deep.equal(['late', 'late', 'rejected'])
    expect(body.errors[0]?.code).to.equal('INVALID_MAC')
    expect((await till.validate(till.payment())).status).to.equal(401)
  })

  it('are not late when they were accepted before the key was revoked', async () => {
    const { transactionId: _, ...payment } = till.payment()
    expect((await till.validate(payment)).body.valid).to.equal(true)
    await revoke(till.keyId)
    expect((await till.sync([payment])).body.results[0]?.status).to.equal('duplicate')
    expect(await late()).to.deep.equal([])
  })

  it('are accepted by an operator once, which spends the nullifier then', async () => {
    const old = await terminalTill(app, owner)
    await revoke(old.keyId)
    const cardToken = `tok_${randomUUID()}`
    await till.sync([till.payment({ key: old.key, cardToken })])
    const [waiting] = await late()
    const paymentId = waiting?.paymentId ?? ''
    const first = await accept(paymentId)
    expect(first.status).to.equal(200)
    expect(first.body).to.include({ paymentId, transactionId: waiting?.transactionId, status: 'accepted' })
    expect(await late()).to.deep.equal([])
    expect((await accept(paymentId)).body).to.deep.equal(first.body)
    expect((await till.validate(till.payment({ cardToken }))).body.doubleSpend).to.equal(true)
  })

  it('cannot be accepted when the card token paid meanwhile', async () => {
    const old = await terminalTill(app, owner)
    await revoke(old.keyId)
    const cardToken = `tok_${randomUUID()}`
    await till.sync([till.payment({ key: old.key, cardToken })])
    expect((await till.validate(till.payment({ cardToken }))).body.valid).to.equal(true)
    const [waiting] = await late()
    const { status, body } = await accept(waiting?.paymentId ?? '')
    expect([status, body.error, body.reason]).to.deep.equal([409, 'double_spend', 'DOUBLE_SPEND'])
    expect(body.digest).to.match(/^[0-9a-f]{54}$/)
    expect(Date.parse(String(body.consumed_at))).to.be.a('number').and.not.NaN
    expect(await late()).to.have.lengthOf(1)
  })

  it('are rejected by an operator once, with a reason, which leaves the card token free', async () => {
    const cardToken = `tok_${randomUUID()}`
    const { payment, paymentId } = await lateOne(cardToken)
    for (const reason of ['', ' ', 'x'.repeat(501)])
      expect((await reject(paymentId, owner.apiKey, reason)).status).to.equal(422)
    const first = await reject(paymentId)
    expect(first.status).to.equal(200)
    const { transactionId } = payment
    expect(first.body).to.include({ paymentId, transactionId, status: 'rejected' })
    expect(await late()).to.deep.equal([])
    expect((await reject(paymentId, owner.apiKey, 'Another.')).body).to.deep.equal(first.body)
    const answer = await accept(paymentId)
    expect([answer.status, answer.body.error]).to.deep.equal([409, 'conflict'])
    const { body } = await app.request('GET', '/console/api/payments?status=rejected', { key: owner.apiKey })
    expect((body as { payments: object[] }).payments).to.have.lengthOf(1)
    expect((body as { payments: object[] }).payments[0]).to.include({
      paymentId,
      status: 'rejected',
      reason: 'KEY_REVOKED',
      acceptedAt: null,
      rejectedAt: first.body.rejectedAt,
      rejectionReason: 'The till was stolen.',
    })
    const { entries } = (
      await app.request<{ entries: { entry: string }[] }>('GET', '/api/audit?type=payment', {
        key: owner.apiKey,
      })
    ).body
    const told = entries.map(({ entry }) => JSON.parse(entry).data)
    expect(told[0]).to.include({ decision: 'rejected', rejectedLate: true, reason: 'KEY_REVOKED' })
    expect(JSON.stringify(entries)).to.not.include('stolen')
    expect((await till.sync([payment])).body.results[0]?.status).to.equal('late')
    expect((await till.validate(till.payment({ cardToken }))).body.valid).to.equal(true)
  })

  it('are decided once, whichever way, also when both decisions come at the same time', async () => {
    for (const decisions of [
      [accept, reject],
      [reject, accept],
    ]) {
      const { paymentId } = await lateOne()
      const answers = await Promise.all(decisions.map((decide) => decide(paymentId)))
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409])
      const decided = answers.find(({ status }) => status === 200)?.body.status
      const { body } = await app.request('GET', `/console/api/payments?status=${decided}`, {
        key: owner.apiKey,
      })
      expect((body as { payments: Listed[] }).payments[0]?.paymentId).to.equal(paymentId)
    }
    const accepted = await lateOne()
    expect((await accept(accepted.paymentId)).status).to.equal(200)
    const answer = await reject(accepted.paymentId)
    expect([answer.status, answer.body.error]).to.deep.equal([409, 'conflict'])
  })

  it('are hidden from other organisations, and closed to keys that may only take payments', async () => {
    const old = await terminalTill(app, owner)
    await revoke(old.keyId)
    await till.sync([till.payment({ key: old.key })])
    const [waiting] = await late()
    const paymentId = waiting?.paymentId ?? ''
    const stranger = await app.organisation()
    expect((await accept(paymentId, stranger.apiKey)).status).to.equal(404)
    expect((await accept(paymentId, till.key)).status).to.equal(403)
    expect((await accept('pay_00000000000000000000000000')).status).to.equal(404)
    expect((await reject(paymentId, stranger.apiKey)).status).to.equal(404)
    expect((await reject(paymentId, till.key)).status).to.equal(403)
    const rejected = await till.sync([{ ...till.payment(), amount: 99 }])
    expect(rejected.body.failed).to.equal(1)
    const { body } = await app.request('GET', '/console/api/payments?status=rejected', { key: owner.apiKey })
    const refused = (body as { payments: Listed[] }).payments[0]
    expect((await accept(refused?.paymentId ?? '')).status).to.equal(409)
    expect((await reject(refused?.paymentId ?? '')).status).to.equal(409)
  })

  it('are listed page by page, newest first', async () => {
    const wrong = Array.from({ length: 5 }, () => ({ ...till.payment(), amount: 99 }))
    await till.sync(wrong)
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { body } = await app.request('GET', `/console/api/payments?status=rejected&limit=2${query}`, {
        key: owner.apiKey,
      })
      const page = body as { payments: Listed[]; nextCursor: string | null }
      seen.push(...page.payments.map(({ transactionId }) => transactionId))
      cursor = page.nextCursor
    }
    expect(seen).to.deep.equal(wrong.map(({ transactionId }) => transactionId).reverse())
  })
})
