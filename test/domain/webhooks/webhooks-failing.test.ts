/** Whether an endpoint fails, and who hears of it. */
import { expect } from 'chai'
import type { AlertPage } from '../../../src/domain/security/schemas.ts'
import { raiseFailureAlerts, watchFailures } from '../../../src/domain/webhooks/failure-alerts.ts'
import type { SecretRotated, Webhook, WebhookTested } from '../../../src/domain/webhooks/schemas.ts'
import { FAILING_DROPS } from '../../../src/domain/webhooks/store.ts'
import { settleResults } from '../../../src/domain/webhooks/store-deliveries.ts'
import { ok } from '../../support/client.ts'
import {
  answer,
  arrivals,
  findWebhook,
  newPath,
  register,
  startWebhookApp,
  until,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

const SERVERS = 4

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

  it('fails alone where its address or secret no longer opens, says so, and goes on once it has both anew', async () => {
    const { app, receiver } = context
    const { apiKey } = await app.organisation()
    const input = { url: receiver.url + newPath(), events: ['proof.verified'] }
    const other = { ...input, url: receiver.url + newPath() }
    const { id, secret } = await register(app, { key: apiKey }, input)
    await register(app, { key: apiKey }, other)
    const spoil = async (...columns: readonly string[]) => {
      const spoilt = Object.fromEntries(columns.map((column) => [column, Buffer.alloc(40, 1)]))
      await app.services.database.knex('webhook_endpoints').where({ id }).update(spoilt)
    }
    const shown = () => findWebhook(app, apiKey, id)
    const path = `/api/webhooks/${id}`
    await spoil('sealed_url', 'sealed_secret')
    expect(await shown()).to.include({ readable: false, url: '', secret: 'whsec_****', label: 'Receiver' })
    await verify(app, apiKey)
    await arrivals(receiver, new URL(other.url).pathname, 1)
    await until('a failure', async () => (await shown()).failureCount === 1)
    const test = await ok<WebhookTested>(app, 'POST', `${path}/test`, { key: apiKey })
    expect(test).to.include({ delivered: false, status: null, reason: 'error' })

    const same = await ok<Webhook>(app, 'PATCH', path, { key: apiKey, body: await shown() })
    expect(same, 'sent back as it was').to.include({ readable: false, url: '' })
    const body = { url: input.url }
    expect(await ok<Webhook>(app, 'PATCH', path, { key: apiKey, body })).to.include({
      readable: false,
      ...body,
    })
    const { secret: anew } = await ok<SecretRotated>(app, 'POST', `${path}/rotate-secret`, { key: apiKey })
    expect(anew).to.not.equal(secret)
    expect(await shown()).to.include({ readable: true, ...body })
    await verify(app, apiKey)
    await arrivals(receiver, new URL(input.url).pathname, 1)

    await spoil('sealed_secret')
    expect(await shown()).to.include({ readable: false, ...body })
    expect((await app.request('DELETE', path, { key: apiKey })).status).to.equal(204)
  })

  type End = readonly ['delivered' | 'dropped' | 'failed', at: number]

  /** An endpoint, and what settles deliveries to it at once. */
  const newEndpoint = async () => {
    const { app } = context
    const { database } = app.services
    const { apiKey } = await app.organisation()
    const input = { url: 'https://hooks.shop.example/', events: ['proof.spent'] }
    const { id } = await register(app, { key: apiKey }, input)
    let made = 0
    /** Has results written down. @returns a function that has the same ones written down again */
    const write = async (...ends: readonly End[]) => {
      const results = ends.map(([end, at]) => {
        const status = end === 'delivered' ? 204 : 500
        return { id: `${id} ${made++}`, endpoint: id, attempts: 0, end, at, status }
      })
      const told = { endpoint: id, event: 'proof.spent', entry_index: 0, body: '{}', due_at: 1e14 }
      await database.knex('webhook_deliveries').insert(results.map((result) => ({ ...told, id: result.id })))
      const settle = () => settleResults(database, results)
      const { hasUntold } = await settle()
      await database.knex('webhook_deliveries').where({ endpoint: id }).delete()
      return { hasUntold, again: settle }
    }
    /** How often it was told that the endpoint fails, and that it delivers again. */
    const alerts = async () => {
      const rows: { type: string; count: number }[] = await database
        .knex('security_alerts')
        .where({ subject: id })
        .select('type', 'count')
      const countOf = (asked: string) =>
        rows.reduce((all, { type, count }) => (type === asked ? all + count : all), 0)
      return { failing: countOf('webhook_failing'), recovered: countOf('webhook_recovered') }
    }
    /** As servers do that look at the same time. @returns of each alert that is raised by it whether it is of a failure */
    const raise = async (): Promise<readonly boolean[]> => {
      const before = await alerts()
      await Promise.all(Array.from({ length: SERVERS }, () => raiseFailureAlerts(app.services)))
      const { failing, recovered } = await alerts()
      return [
        ...Array<boolean>(failing - before.failing).fill(true),
        ...Array<boolean>(recovered - before.recovered).fill(false),
      ]
    }
    return {
      write,
      raise,
      alerts,
      /** @returns as `raise` does */
      async settle(...ends: readonly End[]) {
        const { hasUntold } = await write(...ends)
        const raised = await raise()
        expect(hasUntold).to.equal(raised.length > 0)
        return raised
      },
      async shown() {
        const { failingSince, lastStatus, lastDeliveryAt } = await findWebhook(app, apiKey, id)
        const since = failingSince === null ? null : Date.parse(failingSince)
        return { since, lastStatus, lastAt: Date.parse(lastDeliveryAt ?? '') }
      },
      row: () => database.knex('webhook_endpoints').where({ id }),
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

  it('does not fail by what began before it took another event, in whichever order that is written down', async () => {
    const { settle, shown, row } = await newEndpoint()
    await settle(['delivered', 1_000])
    await settle(['dropped', 500])
    expect(await shown()).to.deep.equal({ since: null, lastStatus: 204, lastAt: 1_000 })
    expect(await settle(...drops(900).slice(1))).to.deep.equal([])
    await settle(['dropped', 950], ['failed', 960])
    expect(await shown()).to.deep.include({ since: null })
    expect((await row())[0]).to.include({ failure_count: 11, drops_in_row: 0 })
    await settle(['dropped', 1_001])
    expect((await shown()).since).to.equal(1_001)
  })

  it('is told of once, though a server or its connection breaks before anybody is', async () => {
    const { write, raise, alerts } = await newEndpoint()
    const { hasUntold, again } = await write(...drops(1_000))
    expect(hasUntold).to.equal(true)
    const repeated = await again()
    expect([repeated.hasUntold, repeated.ended.size], 'the answer was lost').to.deep.equal([true, 0])
    expect(await raise()).to.deep.equal([true])
    expect((await again()).hasUntold).to.equal(false)
    const recovered = await write(['delivered', 2_000])
    expect(recovered.hasUntold).to.equal(true)
    // The next server to start looks.
    const { services } = context.app
    const failures = watchFailures({ ...services, logger: { warn: () => undefined } })
    await until('the alert', async () => (await alerts()).recovered > 0)
    await failures.close()
    expect(await alerts()).to.deep.equal({ failing: 1, recovered: 1 })
    expect((await recovered.again()).hasUntold).to.equal(false)
    expect(await raise()).to.deep.equal([])
  })

  it('is told of to nobody where it delivers again before anybody was', async () => {
    const { write, raise } = await newEndpoint()
    await write(...drops(1_000))
    await write(['delivered', 2_000])
    expect(await raise()).to.deep.equal([])
  })

  it('recovers though a server of an earlier version told of it, which does so at the first event that it drops and counts none', async () => {
    const { settle, raise, row, shown } = await newEndpoint()
    const failingSince = { failing_since: 1_000, last_status: 500, last_delivery_at: 1_000 }
    await row().update(failingSince)
    expect(await settle(['failed', 1_500])).to.deep.equal([])
    expect(await settle(['dropped', 1_600]), 'it is told already').to.deep.equal([])
    expect((await shown()).since).to.equal(1_000)
    expect(await settle(['delivered', 2_000])).to.deep.equal([false])
    await row().update(failingSince)
    expect(await settle(['delivered', 3_000]), 'at the first result').to.deep.equal([false])
    // What such a server ends is over, however many were counted.
    expect(await settle(...drops(4_000))).to.deep.equal([true])
    await row().update({ failing_since: null })
    expect(await raise()).to.deep.equal([false])
    expect(await settle(['failed', 5_000])).to.deep.equal([])
    expect(await settle(...drops(6_000).slice(1))).to.deep.equal([])
    expect(await settle(['dropped', 7_000])).to.deep.equal([true])
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
