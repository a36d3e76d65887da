/** Payments: online, queued, repeated, spent twice, late, and refused. @module */
import { randomUUID } from 'node:crypto'
import { keyTill, type TestPayment, type Till, terminalTill } from '../../domain/tills.ts'
import type { Story } from '../story.ts'

const ALERTS = '/api/security/alerts'
const SYNC = '/api/merchant/transactions/sync'
const VALIDATE = '/api/merchant/payments/validate'

type Presented = readonly [what: string, till: Till, payment: TestPayment, status: string]

/** Payments that arrived after their key was revoked: one that was accepted, one that was rejected, and one that waits. */
const comeLate = async ({ app, ok, owner, remember }: Story): Promise<Presented[]> => {
  const till = await terminalTill(app, owner)
  const [accepted, rejected, waiting] = [till.payment(), till.payment(), till.payment()]
  await ok('DELETE', `/console/api/keys/${till.keyId}`)
  /** Uploads one, which is then the only one that waits. */
  const waitsAs = async (payment: TestPayment): Promise<string> => {
    await till.sync([payment])
    const path = '/console/api/payments?status=late'
    const { payments } = await ok<{ payments: { paymentId: string }[] }>('GET', path)
    return `/console/api/payments/${payments[0]?.paymentId}`
  }
  await ok('POST', `${await waitsAs(accepted)}/accept`)
  await ok('POST', `${await waitsAs(rejected)}/reject`, { reason: 'The till was lost.' })
  remember({
    what: 'a late payment can be accepted',
    method: 'POST',
    path: `${await waitsAs(waiting)}/accept`,
    by: owner.apiKey,
    once: true,
  })
  return [
    ['a late payment that was accepted', till, accepted, 'late'],
    ['a late payment that was rejected', till, rejected, 'late'],
    ['a late payment that waits', till, waiting, 'late'],
  ]
}

export const fillPayments = async (story: Story): Promise<void> => {
  const { app, ok, owner, remember } = story
  const counter = await keyTill(app, owner)
  const terminal = await terminalTill(app, owner, { floorLimit: 40, minAssurance: 'mac' })
  const online = counter.payment()
  const compact = counter.payment({ form: 'compact' })
  const queued = [terminal.payment(), terminal.payment({ currency: 'JPY', amountMinor: 30 })]
  const tooMuch = terminal.payment({ amountMinor: 9_900 })
  const cardToken = `tok_${randomUUID()}`
  const first = counter.payment({ cardToken })
  const again = terminal.payment({ cardToken })
  for (const payment of [online, compact, first]) await counter.validate(payment)
  const { body } = await terminal.sync([...queued, tooMuch, again])
  const statuses = body.results.map(({ status }) => status).join()
  if (statuses !== 'synced,synced,rejected,conflict') throw new Error(`synced as ${statuses}`)

  for (const [what, payment] of [
    ['an online payment is the same when it is repeated', online],
    ['so is one in the compact form', compact],
    ['so is the first of two of one card token', first],
  ] as const)
    remember({
      what,
      method: 'POST',
      path: VALIDATE,
      by: owner.apiKey,
      body: payment,
      says: { '/valid': true },
    })
  for (const [what, payment, reason] of [
    [
      'a spent card token stays spent',
      counter.payment({ cardToken, transactionId: 'txn_3' }),
      'DOUBLE_SPEND',
    ],
    ['one whose MAC is wrong stays refused', { ...counter.payment(), amount: 13 }, 'INVALID_MAC'],
  ] as const) {
    const says = { '/valid': false, '/reason': reason }
    remember({ what, method: 'POST', path: VALIDATE, by: owner.apiKey, body: payment, says })
  }
  const late = await comeLate(story)
  for (const [what, till, payment, status] of [
    ['a queued payment is a duplicate', terminal, queued[0], 'duplicate'],
    ['so is one in yen', terminal, queued[1], 'duplicate'],
    ['one above the floor limit stays refused', terminal, tooMuch, 'rejected'],
    ['the second of one card token stays a conflict', terminal, again, 'conflict'],
    ...late,
  ] as const) {
    const by = { authorization: `Bearer ${till.bearer}` }
    const says = { '/results/0/status': status }
    remember({ what, method: 'POST', path: SYNC, by, body: { transactions: [payment] }, says })
  }
  for (const status of ['late', 'conflict', 'rejected']) {
    const path = `/console/api/payments?status=${status}`
    remember({ what: `payments that are ${status}`, method: 'GET', path, by: owner.apiKey })
  }
  const { alerts } = await ok<{ alerts: { id: string }[] }>('GET', ALERTS)
  const [alert] = alerts
  if (alert === undefined) throw new Error('no alert of a double spend')
  const muted = { status: 'muted', reason: 'A till of the workshop.' }
  await ok('PATCH', `/console/api/alerts/${alert.id}`, muted)
  remember({ what: 'alerts of double spends', method: 'GET', path: ALERTS, by: owner.apiKey })
}
