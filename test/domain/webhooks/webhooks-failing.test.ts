/** Whether an endpoint fails, and who hears of it. */
import { expect } from 'chai'
import type { AlertPage } from '../../../src/domain/security/schemas.ts'
import { FAILING_DROPS, settleResults } from '../../../src/domain/webhooks/store-deliveries.ts'
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

  it('raises an alert at the tenth event in a row that it drops, once until it delivers again, which raises another', async () => {
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
    const drop = async (events: number) => {
      const before = await failures()
      for (let i = 0; i < events; i++) await verify(app, apiKey)
      await until('as many failures', async () => (await failures()) === before + events)
    }
    expect((await findWebhook(app, apiKey, id)).failingSince).to.equal(null)
    await drop(1)
    const { failingSince, lastDeliveryAt } = await findWebhook(app, apiKey, id)
    expect(failingSince).to.equal(lastDeliveryAt)
    await drop(FAILING_DROPS - 2)
    expect(await types(), 'one event less than it takes').to.deep.equal([])
    await drop(1)
    await until('an alert', async () => (await types()).length === 1)
    await drop(1)
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

  /** An endpoint, and what settles deliveries to it at once. */
  const newEndpoint = async () => {
    const { app } = context
    const { apiKey } = await app.organisation()
    const input = { url: 'https://hooks.shop.example/', events: ['proof.spent'] }
    const { id } = await register(app, { key: apiKey }, input)
    let made = 0
    return {
      /** @returns whether it began to fail or recovered, where it did */
      async settle(...ends: readonly (readonly ['delivered' | 'dropped' | 'failed', at: number])[]) {
        const results = ends.map(([end, at]) => {
          const status = end === 'delivered' ? 204 : 500
          return { id: `${id} ${made++}`, endpoint: id, attempts: 0, end, at, status }
        })
        const told = { endpoint: id, event: 'proof.spent', entry_index: 0, body: '{}', due_at: 1e14 }
        await app.services.database
          .knex('webhook_deliveries')
          .insert(results.map((result) => ({ ...told, id: result.id })))
        const { turns } = await settleResults(app.services.database, results)
        await app.services.database.knex('webhook_deliveries').where({ endpoint: id }).delete()
        return turns.map(({ failing }) => failing)
      },
      async shown() {
        const { failingSince, lastStatus, lastDeliveryAt } = await findWebhook(app, apiKey, id)
        const since = failingSince === null ? null : Date.parse(failingSince)
        return { since, lastStatus, lastAt: Date.parse(lastDeliveryAt ?? '') }
      },
    }
  }

  /** Ten drops in a row, the first at a time. */
  const drops = (at: number) => Array.from({ length: FAILING_DROPS }, (_, i) => ['dropped', at + i] as const)

  it('does not recover by an attempt that began before those that failed', async () => {
    const { settle } = await newEndpoint()
    expect(await settle(...drops(2_000))).to.deep.equal([true])
    expect(await settle(['delivered', 1_000])).to.deep.equal([])
    expect(await settle(['dropped', 3_000])).to.deep.equal([])
    expect(await settle(['delivered', 4_000])).to.deep.equal([false])
    expect(await settle(['delivered', 5_000])).to.deep.equal([])
  })

  it('recovers by what it takes after an event was dropped, whatever began after that', async () => {
    const { settle, shown } = await newEndpoint()
    await settle(['dropped', 1_000])
    expect((await shown()).since).to.equal(1_000)
    await settle(['delivered', 2_000], ['failed', 3_000])
    expect((await shown()).since, 'in one go').to.equal(null)
    await settle(['dropped', 4_000])
    await settle(['failed', 6_000])
    await settle(['delivered', 5_000])
    expect((await shown()).since, 'one after the other').to.equal(null)
    await settle(['dropped', 7_000], ['delivered', 8_000], ['dropped', 9_000])
    expect((await shown()).since, 'as long as it drops none after it').to.equal(9_000)
  })

  it('raises no alert as long as it takes one event in ten', async () => {
    const { settle } = await newEndpoint()
    for (let at = 1_000; at < 5_000; at += 1_000) {
      expect(await settle(...drops(at).slice(1))).to.deep.equal([])
      expect(await settle(['delivered', at + 500])).to.deep.equal([])
    }
    expect(await settle(...drops(6_000))).to.deep.equal([true])
    const recovered = await settle(['delivered', 7_000], ...drops(8_000).slice(1))
    expect(recovered, 'and hears that it delivered').to.deep.equal([false])
    expect(await settle(['dropped', 9_000])).to.deep.equal([true])
  })

  it('is shown as it answered last also where the clock of a server was ahead', async () => {
    const { settle, shown } = await newEndpoint()
    const hour = 3_600_000
    await settle(['dropped', Date.now() + hour])
    const dropped = await shown()
    expect(dropped.since)
      .to.equal(dropped.lastAt)
      .and.be.at.most(Date.now() + hour / 2)
    await settle(['delivered', Date.now() + hour / 2])
    expect(await shown()).to.deep.include({ since: null, lastStatus: 204 })
  })
})
