/** Tests of endpoints, made by their owners, and what waits for them. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import type { WebhookTested } from '../../../src/domain/webhooks/schemas.ts'
import { verifyWebhook } from '../../../src/protocol/webhook/webhook.ts'
import { NOWHERE } from '../../support/domain/terminals.ts'
import {
  answer,
  deliveryOf,
  findWebhook,
  newPath,
  openSession,
  register,
  requestsTo,
  settled,
  startWebhookApp,
  until,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

describe('a test of a webhook endpoint', () => {
  let context: WebhookApp
  before(async () => {
    context = await startWebhookApp()
  })
  after(() => context.close())

  const endpoint = async (script = answer(204)) => {
    const { app, receiver } = context
    const { apiKey } = await app.organisation()
    const path = newPath()
    receiver.on(path, script)
    const url = receiver.url + path
    const webhook = await register(app, { key: apiKey }, { url, events: ['proof.verified'] })
    const test = (key = apiKey, id = webhook.id) =>
      app.request<WebhookTested & { error?: string }>('POST', `/api/webhooks/${id}/test`, { key })
    return { app, receiver, apiKey, path, webhook, test }
  }

  it('is delivered and signed like any other, and its result is shown', async () => {
    const { app, receiver, apiKey, path, webhook, test } = await endpoint()
    const { status, body } = await test()
    expect(status).to.equal(200)
    const [request] = requestsTo(receiver, path)
    if (request === undefined) throw new Error('no request')
    const delivery = deliveryOf(request)
    expect(delivery).to.deep.include({ event: 'webhook.test', data: { webhook_id: webhook.id } })
    expect(body).to.include({
      id: webhook.id,
      deliveryId: delivery.delivery_id,
      event: 'webhook.test',
      delivered: true,
      status: 204,
      reason: null,
    })
    const { headers, body: rawBody } = request
    expect(headers).to.include({ 'x-service-event': 'webhook.test', 'webhook-id': delivery.delivery_id })
    const verdict = verifyWebhook({ rawBody, headers, secret: webhook.secret, now: request.at })
    expect(verdict).to.deep.equal({ valid: true, delivery })
    new StandardWebhook(webhook.secret).verify(rawBody.toString(), headers as Record<string, string>)
    const shown = await findWebhook(app, apiKey, webhook.id)
    expect(shown).to.include({ lastDeliveryAt: body.sentAt, lastStatus: 204, failureCount: 0, backlog: 0 })
  })

  it('is made while the endpoint is paused, and says why it was not delivered', async () => {
    const { app, receiver, apiKey, path, webhook, test } = await endpoint(answer(503))
    const paused = { key: apiKey, body: { active: false } }
    expect((await app.request('PATCH', `/api/webhooks/${webhook.id}`, paused)).status).to.equal(200)
    expect((await test()).body).to.include({ delivered: false, status: 503, reason: 'status' })
    expect(requestsTo(receiver, path)).to.have.length(1)
    const nowhere = NOWHERE.replace('http:', 'https:')
    const other = await register(app, { key: apiKey }, { url: nowhere, events: ['proof.spent'] })
    const { body } = await test(apiKey, other.id)
    expect(body).to.include({ delivered: false, status: null, reason: 'unreachable' })
    await settled(app)
    const shown = await findWebhook(app, apiKey, webhook.id)
    expect(shown).to.include({ lastStatus: 503, failureCount: 0, failingSince: null, active: false })
  })

  it('ends a failure, once it is delivered', async () => {
    const { app, receiver, apiKey, path, webhook, test } = await endpoint(answer(500))
    await verify(app, apiKey)
    await settled(app)
    expect((await test()).body.delivered).to.equal(false)
    const failing = await findWebhook(app, apiKey, webhook.id)
    expect(failing.failureCount).to.equal(1)
    expect(failing.failingSince).to.be.a('string')
    receiver.on(path, answer(200))
    expect((await test()).body.delivered).to.equal(true)
    const well = await findWebhook(app, apiKey, webhook.id)
    expect(well).to.include({ failureCount: 1, failingSince: null, lastStatus: 200 })
  })

  it('is asked for by nobody else, and one at a time', async () => {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { app, receiver, path, webhook, test } = await endpoint(async (_, response) => {
      await held
      response.writeHead(200).end()
    })
    const { apiKey: stranger } = await app.organisation()
    expect((await test(stranger)).status).to.equal(404)
    const first = test()
    await until('the test arrived', () => requestsTo(receiver, path).length === 1)
    const second = await test()
    expect([second.status, second.body.error]).to.deep.equal([429, 'rate_limited'])
    release()
    expect((await first).body.delivered).to.equal(true)
    expect((await test()).status).to.equal(200)
    const { newKey } = await openSession(app)
    expect((await test((await newKey()).apiKey, webhook.id)).status).to.equal(404)
  })

  it('stands beside what waits, which the list counts', async () => {
    let open = false
    const { app, apiKey, webhook } = await endpoint(async (_, response) => {
      while (!open) await pause(5)
      response.writeHead(200).end()
    })
    for (let i = 0; i < 6; i++) await verify(app, apiKey)
    await until('six wait', async () => (await findWebhook(app, apiKey, webhook.id)).backlog === 6)
    const whole = await findWebhook(app, apiKey, webhook.id)
    open = true
    await settled(app)
    expect((await findWebhook(app, apiKey, webhook.id)).backlog).to.equal(0)
    const { status } = await app.request('PATCH', `/api/webhooks/${webhook.id}`, { key: apiKey, body: whole })
    expect(status).to.equal(200)
  })
})
