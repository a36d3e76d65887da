/** Whether an endpoint fails, and who hears of it. */
import { expect } from 'chai'
import type { AlertPage } from '../../../src/domain/security/schemas.ts'
import { settleResults } from '../../../src/domain/webhooks/store-deliveries.ts'
import { ok } from '../../support/client.ts'
import {
  answer,
  findWebhook,
  newPath,
  register,
  startWebhookApp,
  until,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

describe('a webhook endpoint that fails', () => {
  let context: WebhookApp
  before(async () => {
    context = await startWebhookApp()
  })
  after(() => context.close())

  it('raises an alert once until it delivers again, which raises another', async () => {
    const { app, receiver } = context
    const { apiKey } = await app.organisation()
    const path = newPath()
    receiver.on(path, answer(500))
    const input = { url: receiver.url + path, events: ['proof.verified'] }
    const { id } = await register(app, { key: apiKey }, input)
    const types = async () => {
      const { alerts } = await ok<AlertPage>(app, 'GET', '/api/security/alerts', { key: apiKey })
      return alerts.filter(({ subject }) => subject === id).map(({ type, count }) => [type, count])
    }
    const failures = async () => (await findWebhook(app, apiKey, id)).failureCount
    expect((await findWebhook(app, apiKey, id)).failingSince).to.equal(null)
    await verify(app, apiKey)
    await until('an alert', async () => (await types()).length === 1)
    const { failingSince, lastDeliveryAt } = await findWebhook(app, apiKey, id)
    expect(failingSince).to.equal(lastDeliveryAt)
    await verify(app, apiKey)
    await until('a second failure', async () => (await failures()) === 2)
    expect((await findWebhook(app, apiKey, id)).failingSince).to.equal(failingSince)
    expect(await types()).to.deep.equal([['webhook_failing', 1]])
    receiver.on(path, answer(204))
    await verify(app, apiKey)
    await until('another alert', async () => (await types()).length === 2)
    expect(await types()).to.have.deep.members([
      ['webhook_failing', 1],
      ['webhook_recovered', 1],
    ])
    expect((await findWebhook(app, apiKey, id)).failingSince).to.equal(null)
  })

  it('does not recover by an attempt that began before the one that failed', async () => {
    const { app } = context
    const { apiKey } = await app.organisation()
    const { id } = await register(
      app,
      { key: apiKey },
      { url: 'https://hooks.shop.example/', events: ['proof.spent'] },
    )
    const { knex } = app.services.database
    const settle = async (end: 'delivered' | 'dropped', at: number) => {
      const row = {
        id: `${id} ${at}`,
        endpoint: id,
        event: 'proof.spent',
        entry_index: 0,
        body: '{}',
        due_at: 1e14,
      }
      await knex('webhook_deliveries').insert(row)
      const result = {
        id: row.id,
        endpoint: id,
        attempts: 0,
        end,
        at,
        status: end === 'delivered' ? 204 : 500,
      }
      return (await settleResults(app.services.database, [result])).turns
    }
    expect(await settle('dropped', 2_000)).to.deep.equal([{ endpoint: id, failing: true }])
    expect(await settle('delivered', 1_000)).to.deep.equal([])
    expect(await settle('dropped', 3_000)).to.deep.equal([])
    expect(await settle('delivered', 4_000)).to.deep.equal([{ endpoint: id, failing: false }])
    expect(await settle('delivered', 5_000)).to.deep.equal([])
  })
})
