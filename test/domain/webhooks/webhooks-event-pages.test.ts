/** `GET /api/events`: what was announced, read from the log, whatever became of its deliveries. */
import { expect } from 'chai'
import { WEBHOOK_EVENTS } from '../../../src/domain/webhooks/events.ts'
import type { AnnouncedEvent, EventPage } from '../../../src/domain/webhooks/schemas.ts'
import { catchUp, type MissedEvent } from '../../../src/protocol/webhook/webhook.ts'
import { ok } from '../../support/client.ts'
import { rejection } from '../../support/rejection.ts'
import {
  answer,
  deliveryOf,
  newPath,
  openSession,
  register,
  requestsTo,
  settled,
  startWebhookApp,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

type Credential = Parameters<typeof register>[1]

describe('events of an endpoint', () => {
  let context: WebhookApp
  before(async () => {
    context = await startWebhookApp()
  })
  after(() => context.close())

  const ask = (credential: Credential, query: string): Promise<EventPage> =>
    ok(context.app, 'GET', `/api/events?${query}`, credential)

  /** All of them, in pages. */
  const readAll = async (
    credential: Credential,
    webhook: string,
    limit: number,
  ): Promise<AnnouncedEvent[]> => {
    const events: AnnouncedEvent[] = []
    for (let after = ''; ; ) {
      const page = await ask(credential, `webhook=${webhook}&limit=${limit}${after}`)
      expect(page.events.length).to.be.at.most(limit)
      events.push(...page.events)
      if (page.nextCursor === null) return events
      after = `&after=${page.nextCursor}`
    }
  }

  const endpoint = async (credential: Credential, events: readonly string[] = WEBHOOK_EVENTS) => {
    const path = newPath()
    context.receiver.on(path, answer(204))
    const { id } = await register(context.app, credential, { url: context.receiver.url + path, events })
    return { id, path }
  }

  it('are the deliveries, byte for byte and in the order of the log, in pages of any size', async () => {
    const { app, receiver } = context
    const session = await openSession(app)
    const { id, path } = await endpoint(session)
    const other = await openSession(app)
    const { apiKey: otherKey } = await other.newKey()
    const { apiKey, keyId } = await session.newKey()
    for (let i = 0; i < 3; i++) {
      await verify(app, apiKey)
      // Leaves of others stand between its own.
      for (let j = 0; j < i; j++) await verify(app, otherKey)
    }
    await ok(app, 'DELETE', `/console/api/keys/${keyId}`, { headers: session.headers })
    await settled(app)
    const delivered = new Map(
      requestsTo(receiver, path).map((request) => [deliveryOf(request).delivery_id, request.body.toString()]),
    )
    // What the registration itself and whatever was before it announce was not delivered.
    const all = await readAll(session, id, 1000)
    const since = all.filter(({ event }) => delivered.has(event.delivery_id))
    expect(since.map(({ event }) => JSON.stringify(event))).to.have.members([...delivered.values()])
    expect(since).to.deep.equal(all.slice(-since.length))
    const indexes = all.map(({ leafIndex }) => leafIndex)
    expect(indexes).to.deep.equal(indexes.toSorted((a, b) => a - b))
    expect(new Set(all.map(({ event }) => event.event))).to.include.all.keys('proof.created', 'key.revoked')
    for (const limit of [1, 2, 5]) expect(await readAll(session, id, limit)).to.deep.equal(all)
  })

  it('begin at a time, or behind an event', async () => {
    const session = await openSession(context.app)
    const { id } = await endpoint(session)
    const { apiKey } = await session.newKey()
    await verify(context.app, apiKey)
    await verify(context.app, apiKey)
    const all = await readAll(session, id, 1000)
    const middle = all.at(-3) as AnnouncedEvent
    const from = await ask(session, `webhook=${id}&since=${middle.event.created_at}`)
    expect(from.events).to.deep.equal(all.filter(({ event }) => event.created_at >= middle.event.created_at))
    expect((await ask(session, `webhook=${id}&after=${middle.cursor}`)).events).to.deep.equal(all.slice(-2))
    const end = await ask(session, `webhook=${id}&after=${all.at(-1)?.cursor}`)
    expect([end.events, end.nextCursor]).to.deep.equal([[], null])
    const later = await ask(session, `webhook=${id}&since=2100-01-01T00:00:00Z`)
    expect([later.events, later.nextCursor]).to.deep.equal([[], null])
  })

  it('tell of a pause, of which nothing is delivered', async () => {
    const { app, receiver } = context
    const session = await openSession(app)
    const { id, path } = await endpoint(session, ['proof.verified'])
    const { apiKey } = await session.newKey()
    const pause = (active: boolean) =>
      ok(app, 'PATCH', `/api/webhooks/${id}`, { headers: session.headers, body: { active } })
    await pause(false)
    await verify(app, apiKey)
    await pause(true)
    await settled(app)
    expect(requestsTo(receiver, path)).to.deep.equal([])
    expect((await readAll(session, id, 10)).map(({ event }) => event.event)).to.deep.equal(['proof.verified'])
  })

  it('of a key are what that key caused, and nobody else reads them', async () => {
    const { app } = context
    const session = await openSession(app)
    const [one, other] = [await session.newKey(), await session.newKey()]
    const { id } = await endpoint({ key: one.apiKey }, ['proof.verified'])
    await verify(app, other.apiKey)
    const { verificationId } = await verify(app, one.apiKey)
    const events = await readAll({ key: one.apiKey }, id, 10)
    expect(events).to.have.length(1)
    expect(verificationId).to.be.a('string')
    for (const credential of [{ key: other.apiKey }, await openSession(app)]) {
      const { status } = await app.request('GET', `/api/events?webhook=${id}`, credential)
      expect(status).to.equal(404)
    }
  })

  it('are had without an endpoint, of some types, and by catchUp', async () => {
    const { app } = context
    const session = await openSession(app)
    const [one, other] = [await session.newKey(), await session.newKey()]
    await verify(app, one.apiKey)
    await verify(app, other.apiKey)
    await verify(app, one.apiKey)
    const own = await ask({ key: one.apiKey }, 'types=proof.verified')
    expect(own.events.map(({ event }) => event.event)).to.deep.equal(['proof.verified', 'proof.verified'])
    expect([own.complete, own.nextCursor]).to.deep.equal([true, null])
    const all = await ask(session, 'types=proof.verified,proof.spent')
    expect(all.events).to.have.length(3)
    expect(all.events[0]).to.deep.equal(own.events[0])
    const { events } = await ask({ key: one.apiKey }, 'limit=1000')
    const caught: MissedEvent[] = []
    for await (const missed of catchUp({ url: app.url, key: one.apiKey })) caught.push(missed)
    expect(caught).to.deep.equal(events)
    const [first, ...rest] = own.events as [AnnouncedEvent, ...AnnouncedEvent[]]
    const later: MissedEvent[] = []
    const options = { url: app.url, key: one.apiKey, after: first.cursor, types: ['proof.verified'] }
    for await (const missed of catchUp(options)) later.push(missed)
    expect(later).to.deep.equal(rest)
    const refused = await rejection(catchUp({ url: app.url, key: 'none' }).next())
    expect(refused.message).to.match(/^GET \/api\/events answered 401: /)
  })

  it('are waited for where there is none yet', async () => {
    const { app } = context
    const session = await openSession(app)
    const { apiKey } = await session.newKey()
    await verify(app, apiKey)
    const { events } = await ask({ key: apiKey }, '')
    const after = events.at(-1)?.cursor
    expect((await ask({ key: apiKey }, `after=${after}&wait=1`)).events).to.deep.equal([])
    let isAnswered = false
    const waiting = ask({ key: apiKey }, `after=${after}&wait=30`).then((page) => {
      isAnswered = true
      return page
    })
    expect((await ask({ key: apiKey }, `after=${after}`)).events).to.deep.equal([])
    expect(isAnswered).to.equal(false)
    // Of a time that had not come when it was asked for.
    const since = encodeURIComponent(new Date().toISOString())
    const fresh = ask({ key: apiKey }, `since=${since}&types=proof.verified&wait=30`)
    await verify(app, apiKey)
    expect((await waiting).events.length).to.be.greaterThan(0)
    expect((await fresh).events.map(({ event }) => event.event)).to.deep.equal(['proof.verified'])
  })

  it('are not told to a credential that ended while it waited', async () => {
    const { app } = context
    const session = await openSession(app)
    const { apiKey, keyId } = await session.newKey()
    const since = encodeURIComponent(new Date().toISOString())
    const waiting = app.request('GET', `/api/events?since=${since}&wait=30`, { key: apiKey })
    await new Promise((resolve) => setTimeout(resolve, 1000))
    // Of the key that is revoked, its own event is the first one since.
    await ok(app, 'DELETE', `/console/api/keys/${keyId}`, { headers: session.headers })
    expect((await waiting).status).to.equal(401)
  })

  it('that are waited for are answered when the server closes', async () => {
    const closing = await startWebhookApp()
    const session = await openSession(closing.app)
    const { apiKey } = await session.newKey()
    const since = encodeURIComponent('2100-01-01T00:00:00Z')
    const waiting = ok<EventPage>(closing.app, 'GET', `/api/events?since=${since}&wait=30`, { key: apiKey })
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const [page] = await Promise.all([waiting, closing.close()])
    expect([page.events, page.nextCursor]).to.deep.equal([[], null])
  })

  it('behind the end of the log are refused, where the log would go on unseen until it is as long', async () => {
    const session = await openSession(context.app)
    const { id } = await endpoint(session)
    const { treeSize } = await ask(session, `webhook=${id}`)
    const end = await ask(session, `webhook=${id}&after=${treeSize - 1}.999999`)
    expect([end.events, end.complete]).to.deep.equal([[], true])
    for (const wait of [0, 30]) {
      const { status, body } = await context.app.request<{ details: object[] }>(
        'GET',
        `/api/events?after=${treeSize + 1000}.0&wait=${wait}`,
        session,
      )
      expect(status).to.equal(422)
      expect(body.details[0]).to.include({ path: 'query/after', code: 'out_of_range' })
    }
  })

  it('refuse what is no place, no type and no time', async () => {
    const { app } = context
    const session = await openSession(app)
    const { id } = await endpoint(session)
    for (const [query, status] of [
      ['after=1', 400],
      ['after=-1.0', 400],
      ['limit=0', 400],
      ['limit=1001', 400],
      ['wait=31', 400],
      ['types=proof.made', 400],
      ['types=', 400],
      ['since=0001-01-01T00:00:00Z', 422],
    ] as const) {
      const answered = await app.request('GET', `/api/events?webhook=${id}&${query}`, session)
      expect(answered.status, query).to.equal(status)
    }
  })
})
