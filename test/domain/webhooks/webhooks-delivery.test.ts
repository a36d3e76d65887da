import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { verifyWebhook } from '../../../src/protocol/webhook/webhook.ts'
import {
  answer,
  arrivals,
  deliveryOf,
  findWebhook,
  newPath,
  PAUSES_MS,
  register,
  requestsTo,
  settled,
  startWebhookApp,
  until,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

/** When an attempt without an answer ends. */
const GIVEN_UP_MS = 8_000
/** To one endpoint at a time. */
const IN_FLIGHT = 4
/** Deliveries that a server holds at once. */
const HELD = 20

describe('webhook deliveries', () => {
  let context: WebhookApp
  before(async () => {
    context = await startWebhookApp()
  })
  after(() => context.close())

  /** An endpoint of a fresh organisation that wants verifications. */
  const endpoint = async (script = answer(204), events: readonly string[] = ['proof.verified']) => {
    const { app, receiver } = context
    const { apiKey } = await app.organisation()
    const path = newPath()
    receiver.on(path, script)
    const webhook = await register(app, { key: apiKey }, { url: receiver.url + path, events })
    return { app, receiver, apiKey, path, webhook }
  }

  it('carry the envelope, the headers and signatures that a Standard Webhooks client accepts too', async () => {
    const { app, receiver, apiKey, path, webhook } = await endpoint()
    await verify(app, apiKey)
    const [request] = await arrivals(receiver, path, 1)
    if (request === undefined) throw new Error('no request')
    const { headers, body, method } = request
    const delivery = deliveryOf(request)
    expect(method).to.equal('POST')
    expect(Object.keys(delivery)).to.deep.equal(['delivery_id', 'event', 'created_at', 'data'])
    expect(delivery.delivery_id).to.match(/^dlv_[0-9a-f]{24}$/)
    expect(delivery.event).to.equal('proof.verified')
    expect(new Date(delivery.created_at).toISOString()).to.equal(delivery.created_at)
    expect(Object.keys(delivery.data)).to.deep.equal([
      'digest',
      'circuit_id',
      'proof_id',
      'merkle_root',
      'merkle_leaf_hash',
    ])
    expect(headers).to.include({
      'content-type': 'application/json',
      'user-agent': 'Service-Webhooks/1.0',
      'x-service-event': 'proof.verified',
      'x-service-delivery-id': delivery.delivery_id,
      'webhook-id': delivery.delivery_id,
    })
    const timestamp = String(headers['x-service-timestamp'])
    const mac = createHmac('sha256', webhook.secret).update(`${timestamp}.`).update(body).digest('hex')
    expect(headers['x-service-signature']).to.equal(`hmac-sha256=${mac}`)
    new StandardWebhook(webhook.secret).verify(body.toString(), headers as Record<string, string>)
    const verdict = verifyWebhook({ rawBody: body, headers, secret: webhook.secret, now: request.at })
    expect(verdict).to.deep.equal({ valid: true, delivery })
  })

  it('fail three times under one id, each signed afresh after a longer pause, and are then dropped and counted', async () => {
    const { app, receiver, apiKey, path, webhook } = await endpoint(answer(500))
    await verify(app, apiKey)
    await settled(app)
    const attempts = requestsTo(receiver, path)
    expect(attempts).to.have.length(3)
    expect(new Set(attempts.map(({ body }) => body.toString())).size).to.equal(1)
    expect(new Set(attempts.map(({ headers }) => headers['x-service-delivery-id'])).size).to.equal(1)
    const [first = 0, second = 0, third = 0] = attempts.map(({ at }) => at)
    // A fifth shorter at most; how much longer depends on the machine.
    expect(second - first).to.be.at.least(PAUSES_MS[0] * 0.8 - 2)
    expect(third - second).to.be.at.least(PAUSES_MS[1] * 0.8 - 2)
    const shown = await findWebhook(app, apiKey, webhook.id)
    expect(shown).to.include({ active: true, failureCount: 1, lastStatus: 500 })
    expect(Date.parse(shown.lastDeliveryAt ?? '')).to.be.closeTo(third, 5_000)
  })

  it('are delivered once the receiver answers well, and nothing is counted', async () => {
    let asked = 0
    const { app, receiver, apiKey, path, webhook } = await endpoint((_, response) => {
      asked += 1
      response.writeHead(asked < 3 ? 503 : 202).end()
    })
    await verify(app, apiKey)
    await settled(app)
    expect(requestsTo(receiver, path)).to.have.length(3)
    expect(await findWebhook(app, apiKey, webhook.id)).to.include({ failureCount: 0, lastStatus: 202 })
  })

  it('never disable an endpoint, however many of them were dropped', async () => {
    const { app, receiver, apiKey, path, webhook } = await endpoint(answer(500))
    for (let i = 0; i < 12; i++) await verify(app, apiKey)
    await settled(app)
    expect(await findWebhook(app, apiKey, webhook.id)).to.include({ active: true, failureCount: 12 })
    receiver.on(path, answer(200))
    await verify(app, apiKey)
    await settled(app)
    expect(requestsTo(receiver, path)).to.have.length(12 * 3 + 1)
    expect(await findWebhook(app, apiKey, webhook.id)).to.include({ failureCount: 12, lastStatus: 200 })
  })

  it('do not follow redirects, which are failures', async () => {
    const other = newPath()
    const { app, receiver, apiKey, path, webhook } = await endpoint((_, response) => {
      response.writeHead(307, { location: other }).end()
    })
    await verify(app, apiKey)
    await settled(app)
    expect(requestsTo(receiver, path)).to.have.length(3)
    expect(requestsTo(receiver, other)).to.have.length(0)
    expect(await findWebhook(app, apiKey, webhook.id)).to.include({ failureCount: 1, lastStatus: 307 })
  })

  it('are decided by the status line, whatever drips after it', async () => {
    const { app, receiver, apiKey, path, webhook } = await endpoint((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.write('a drop')
      // The rest never comes; the connection is closed from the other side.
    })
    await verify(app, apiKey)
    await settled(app)
    expect(requestsTo(receiver, path)).to.have.length(1)
    expect(await findWebhook(app, apiKey, webhook.id)).to.include({ failureCount: 0, lastStatus: 200 })
  })

  it('are delivered although the answer is larger than anybody reads', async () => {
    const { app, receiver, apiKey, path, webhook } = await endpoint((_, response) => {
      response.writeHead(200).end(Buffer.alloc(1_000_000))
    })
    await verify(app, apiKey)
    await settled(app)
    expect(requestsTo(receiver, path)).to.have.length(1)
    expect(await findWebhook(app, apiKey, webhook.id)).to.include({ failureCount: 0, lastStatus: 200 })
  })

  it('are signed with the new secret as soon as it is rotated, retries too', async () => {
    const { app, receiver, apiKey, path, webhook } = await endpoint()
    let rotated: { secret: string } | undefined
    receiver.on(path, async (_, response) => {
      if (rotated === undefined) {
        const { body } = await app.request<{ secret: string }>(
          'POST',
          `/api/webhooks/${webhook.id}/rotate-secret`,
          { key: apiKey },
        )
        rotated = body
        response.writeHead(500).end()
      } else response.writeHead(204).end()
    })
    await verify(app, apiKey)
    const [first, second] = await arrivals(receiver, path, 2)
    if (!first || !second || !rotated) throw new Error('not tried twice')
    const check = (request: typeof first, secret: string) =>
      verifyWebhook({ rawBody: request.body, headers: request.headers, secret, now: request.at })
    expect(check(first, webhook.secret).valid).to.equal(true)
    expect(check(second, rotated.secret).valid).to.equal(true)
    expect(check(second, webhook.secret)).to.deep.equal({ valid: false, reason: 'SIGNATURE_MISMATCH' })
    expect(first.headers['webhook-id']).to.equal(second.headers['webhook-id'])
  })

  /** An endpoint whose first delivery is answered 500 only once `act` is done, so that it waits for its second attempt. */
  const failedAfter = async (act: (id: string, apiKey: string) => Promise<unknown>) => {
    const made = await endpoint()
    const { app, receiver, apiKey, path, webhook } = made
    let acted: Promise<unknown> | undefined
    receiver.on(path, async (_, response) => {
      const isFirst = acted === undefined
      acted ??= act(webhook.id, apiKey)
      await acted
      response.writeHead(isFirst ? 500 : 204).end()
    })
    await verify(app, apiKey)
    await arrivals(receiver, path, 1)
    await acted
    return made
  }

  it('that wait when the endpoint is paused are dropped, and a pause is never replayed', async () => {
    const { app } = context
    const { receiver, apiKey, path, webhook } = await failedAfter((id, key) =>
      app.request('PATCH', `/api/webhooks/${id}`, { key, body: { active: false } }),
    )
    await verify(app, apiKey)
    await settled(app)
    expect(requestsTo(receiver, path)).to.have.length(1)
    await app.request('PATCH', `/api/webhooks/${webhook.id}`, { key: apiKey, body: { active: true } })
    await verify(app, apiKey)
    await settled(app)
    const ids = requestsTo(receiver, path).map((request) => deliveryOf(request).delivery_id)
    expect(new Set(ids).size).to.equal(2)
    expect(ids).to.have.length(2)
    expect(await findWebhook(app, apiKey, webhook.id)).to.include({ failureCount: 0, lastStatus: 204 })
  })

  it('that wait while an endpoint is paused and resumed are dropped too', async () => {
    const { app } = context
    const { receiver, apiKey, path, webhook } = await failedAfter(async (id, key) => {
      for (const active of [false, true])
        await app.request('PATCH', `/api/webhooks/${id}`, { key, body: { active } })
    })
    await settled(app)
    expect(requestsTo(receiver, path)).to.have.length(1)
    expect(await findWebhook(app, apiKey, webhook.id)).to.include({ failureCount: 0, lastStatus: 500 })
  })

  it('that wait when the endpoint is deleted are dropped', async () => {
    const { app } = context
    const { receiver, path } = await failedAfter((id, key) =>
      app.request('DELETE', `/api/webhooks/${id}`, { key }),
    )
    await settled(app)
    expect(requestsTo(receiver, path)).to.have.length(1)
  })

  /** Four deliveries that are asked at last, and others behind them that the server holds, when `act` is done. */
  const heldUntil = async (act: (id: string, apiKey: string) => Promise<unknown>) => {
    const made = await endpoint()
    const { app, receiver, apiKey, path, webhook } = made
    let release = (): void => undefined
    const acted = new Promise<void>((resolve) => {
      release = resolve
    })
    receiver.on(path, async (_, response) => {
      await acted
      response.writeHead(204).end()
    })
    const items = Array.from({ length: HELD }, (_, item) => ({ item }))
    await app.request('POST', '/verify/batch', { key: apiKey, body: { items } })
    await arrivals(receiver, path, IN_FLIGHT)
    await act(webhook.id, apiKey)
    release()
    await settled(app)
    return made
  }

  it('that a server holds when the endpoint is paused, or deleted, are dropped', async () => {
    const { app, receiver } = context
    const paused = await heldUntil((id, key) =>
      app.request('PATCH', `/api/webhooks/${id}`, { key, body: { active: false } }),
    )
    expect(requestsTo(receiver, paused.path)).to.have.length(IN_FLIGHT)
    const shown = await findWebhook(app, paused.apiKey, paused.webhook.id)
    expect(shown).to.include({ failureCount: 0, lastStatus: 204 })
    const deleted = await heldUntil((id, key) => app.request('DELETE', `/api/webhooks/${id}`, { key }))
    expect(requestsTo(receiver, deleted.path)).to.have.length(IN_FLIGHT)
  })

  it('that a server holds when the secret is rotated are signed with the new one', async () => {
    const { app, receiver } = context
    let secret = ''
    const { path, webhook } = await heldUntil(async (id, key) => {
      const { body } = await app.request<{ secret: string }>('POST', `/api/webhooks/${id}/rotate-secret`, {
        key,
      })
      secret = body.secret
    })
    const signedWith = (known: string): number =>
      requestsTo(receiver, path).filter(
        ({ body, headers, at }) => verifyWebhook({ rawBody: body, headers, secret: known, now: at }).valid,
      ).length
    expect([signedWith(webhook.secret), signedWith(secret)]).to.deep.equal([IN_FLIGHT, HELD - IN_FLIGHT])
  })

  it('that overlap show the outcome of the one that began last, whichever ends last', async () => {
    const { app, receiver, apiKey, path, webhook } = await endpoint()
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let asked = 0
    receiver.on(path, async (_, response) => {
      const isFirst = asked++ === 0
      if (isFirst) await held
      response.writeHead(isFirst ? 202 : 204).end()
    })
    await verify(app, apiKey)
    await arrivals(receiver, path, 1)
    await verify(app, apiKey)
    await until(
      'the second is delivered',
      async () => (await findWebhook(app, apiKey, webhook.id)).lastStatus === 204,
    )
    const before = await findWebhook(app, apiKey, webhook.id)
    release()
    await settled(app)
    expect(await findWebhook(app, apiKey, webhook.id)).to.deep.equal({ ...before, backlog: 0 })
  })

  // The last one: what is under way to the silent receivers ends with the app.
  it('to receivers that never answer delay nobody else', async () => {
    const { app, receiver } = context
    const { apiKey } = await app.organisation()
    const silent = Array.from({ length: 8 }, newPath)
    const healthy = newPath()
    for (const path of silent) {
      receiver.on(path, () => undefined)
      await register(app, { key: apiKey }, { url: receiver.url + path, events: ['proof.verified'] })
    }
    receiver.on(healthy, answer(204))
    const { id } = await register(
      app,
      { key: apiKey },
      { url: receiver.url + healthy, events: ['proof.verified'] },
    )
    const events = 30
    const items = Array.from({ length: events }, (_, item) => ({ item }))
    const { status } = await app.request('POST', '/verify/batch', { key: apiKey, body: { items } })
    expect(status).to.equal(200)
    await arrivals(receiver, healthy, events)
    // An attempt is given up after eight seconds; in half of that no more than four each are under way.
    for (const path of silent) {
      const [first, ...others] = requestsTo(receiver, path).map(({ at }) => at)
      const soon = others.filter((at) => at - (first ?? 0) < GIVEN_UP_MS / 2)
      expect(soon.length).to.be.below(4)
    }
    expect(await findWebhook(app, apiKey, id)).to.include({ failureCount: 0 })
  })
})
