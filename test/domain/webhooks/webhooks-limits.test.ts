/** What bounds webhooks, and what is told of them: backlogs, endpoints of ended keys, metrics, rows of exports. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { exportedRows } from '../../support/domain/exports.ts'
import {
  answer,
  arrivals,
  findWebhook,
  newPath,
  openSession,
  register,
  settled,
  startWebhookApp,
  until,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

const BACKLOG = 1_000
const TOO_MANY = 300
const ENDPOINT_AT_HAND = 128
const ENDPOINT_IN_FLIGHT = 4
const MAX_IN_FLIGHT = 128
/** When an answer is late. */
const LATE_MS = 1_100
const MAX_ENDPOINTS = 100
const EVENTS = ['proof.verified']
const TELL_MS = 30_000

describe('webhook limits', function () {
  this.timeout(120_000)
  let context: WebhookApp
  before(async () => {
    context = await startWebhookApp({ env: { WEBHOOK_BACKLOG: String(BACKLOG) } })
  })
  after(() => context.close())

  /** Removes an endpoint, and lets all that still waits for it be discarded. */
  const remove = async (apiKey: string, id: string): Promise<void> => {
    const { app } = context
    const { knex } = app.services.database
    await app.request('DELETE', `/api/webhooks/${id}`, { key: apiKey })
    await until('discarded', async () => {
      // What the server has locked it is about to discard; to wait for it could be to wait for each other.
      await knex.raw(
        `UPDATE webhook_deliveries SET due_at = 0 WHERE id IN
          (SELECT id FROM webhook_deliveries WHERE endpoint = ? FOR UPDATE SKIP LOCKED)`,
        [id],
      )
      return (await knex('webhook_deliveries').where({ endpoint: id }).first('id')) === undefined
    })
  }

  /** Rows of deliveries in an organisation's export, once there are as many. */
  const deliveryRows = async (apiKey: string, count: number) => {
    const read = async () =>
      (await exportedRows(context.app, { apiKey })).filter(({ type }) => type === 'webhook.delivery')
    await until(`${count} rows`, async () => (await read()).length >= count, TELL_MS)
    return read()
  }

  it('beyond the backlog of an endpoint drop the oldest that nobody is at, count each and log it', async () => {
    const { app, receiver } = context
    const { knex } = app.services.database
    const { apiKey } = await app.organisation()
    const [deaf, healthy] = [newPath(), newPath()]
    receiver.on(deaf, () => undefined)
    receiver.on(healthy, answer(204))
    const { id } = await register(app, { key: apiKey }, { url: receiver.url + deaf, events: ['proof.spent'] })
    await register(app, { key: apiKey }, { url: receiver.url + healthy, events: EVENTS })
    // As if events had come for days. What is due a year from now stands for what a server is at.
    await knex.raw(
      `INSERT INTO webhook_deliveries (id, endpoint, event, entry_index, body, due_at)
        SELECT 'dlv_' || lpad(n::text, 24, '0'), ?, 'proof.spent', 1000000000, '{}',
          CASE WHEN n <= 10 THEN 4000000000000 ELSE 1700000000000 + n END
        FROM generate_series(1, ?::int) AS n`,
      [id, BACKLOG + TOO_MANY],
    )
    const shown = async () => (await findWebhook(app, apiKey, id)).failureCount
    await until('cut', async () => (await shown()) >= TOO_MANY, TELL_MS)
    const left: { id: string }[] = await knex('webhook_deliveries').where({ endpoint: id }).select('id')
    expect(left).to.have.length(BACKLOG)
    const numbers = left.map((row) => Number(row.id.slice(4)))
    expect(numbers).to.include.members([1, 10, BACKLOG + TOO_MANY])
    await verify(app, apiKey)
    await arrivals(receiver, healthy, 1)
    const rows = (await deliveryRows(apiKey, TOO_MANY + 1)).filter(({ endpointId }) => endpointId === id)
    expect(rows).to.have.length(TOO_MANY)
    for (const row of rows)
      expect(row).to.include({ event: 'proof.spent', outcome: 'dropped', attempts: 0, lastStatus: null })
    expect(await shown()).to.equal(TOO_MANY)
    await remove(apiKey, id)
  })

  it('beyond the backlog drop nothing that servers are at, even where that alone is more', async () => {
    const { app, receiver } = context
    const { knex } = app.services.database
    const { apiKey } = await app.organisation()
    const deaf = newPath()
    receiver.on(deaf, () => undefined)
    const { id } = await register(app, { key: apiKey }, { url: receiver.url + deaf, events: ['proof.spent'] })
    const held = BACKLOG + 100
    await knex.raw(
      `INSERT INTO webhook_deliveries (id, endpoint, event, entry_index, body, due_at)
        SELECT 'dlv_' || lpad((10000 + n)::text, 24, '0'), ?, 'proof.spent', 1000000000, '{}',
          CASE WHEN n <= ? THEN 4000000000000 ELSE 1700000000000 + n END
        FROM generate_series(1, ?::int) AS n`,
      [id, held, held + TOO_MANY],
    )
    const shown = async () => (await findWebhook(app, apiKey, id)).failureCount
    // The server may have taken some before.
    await until('cut', async () => (await shown()) >= TOO_MANY - ENDPOINT_AT_HAND, TELL_MS)
    const [left] = await knex('webhook_deliveries')
      .where({ endpoint: id, due_at: 4e12 })
      .count({ count: '*' })
    expect(Number(left?.count)).to.equal(held)
    await remove(apiKey, id)
  })

  it('of receivers that answer late leave half of the places to others, as those of receivers that fail do', async () => {
    const { app, receiver } = context
    const { apiKey } = await app.organisation()
    let [hung, mostHung, isOver] = [0, 0, false]
    const waiting = new Set<() => void>()
    for (let i = 0; i < MAX_IN_FLIGHT / ENDPOINT_IN_FLIGHT; i++) {
      const path = newPath()
      let asked = 0
      receiver.on(path, async (_, response) => {
        asked += 1
        if (asked <= ENDPOINT_IN_FLIGHT) await pause(LATE_MS)
        else if (!isOver) {
          hung += 1
          mostHung = Math.max(mostHung, hung)
          await new Promise<void>((resolve) => {
            waiting.add(resolve)
            response.once('close', resolve)
          })
          hung -= 1
        }
        response.writeHead(204).end()
      })
      await register(app, { key: apiKey }, { url: receiver.url + path, events: EVENTS })
    }
    const items = Array.from({ length: 3 * ENDPOINT_IN_FLIGHT }, (_, item) => ({ item }))
    await app.request('POST', '/verify/batch', { key: apiKey, body: { items } })
    await until('half of the places are taken', () => hung >= MAX_IN_FLIGHT / 2)
    const other = await app.organisation()
    const healthy = newPath()
    receiver.on(healthy, answer(204))
    await register(app, { key: other.apiKey }, { url: receiver.url + healthy, events: EVENTS })
    await verify(app, other.apiKey)
    await arrivals(receiver, healthy, 1)
    // The server may have given up some, and asked anew, before the receiver saw them end.
    expect(mostHung).to.be.below(MAX_IN_FLIGHT)
    isOver = true
    for (const resolve of waiting) resolve()
    await settled(app)
  })

  it('let the oldest endpoint of a key that has ended give way at the hundredth, never one of a working key', async () => {
    const { app, receiver } = context
    const session = await openSession(app)
    const [gone, kept] = [await session.newKey(), await session.newKey()]
    const input = { url: `${receiver.url}${newPath()}`, events: EVENTS }
    const ofKept = await register(app, { key: kept.apiKey }, input)
    const ofGone = [
      await register(app, { key: gone.apiKey }, input),
      await register(app, { key: gone.apiKey }, input),
    ]
    const others = Array.from({ length: MAX_ENDPOINTS - 3 }, () =>
      register(app, { headers: session.headers }, input),
    )
    await Promise.all(others)
    const another = () =>
      app.request<{ id: string; error: string }>('POST', '/api/webhooks', {
        headers: session.headers,
        body: { label: 'one more', ...input },
      })
    const ids = async () => {
      const { body } = await app.request<{ webhooks: { id: string }[] }>('GET', '/api/webhooks', {
        headers: session.headers,
      })
      return body.webhooks.map(({ id }) => id)
    }
    expect((await another()).status).to.equal(409)
    const revoked = await app.request('DELETE', `/console/api/keys/${gone.keyId}`, {
      headers: session.headers,
    })
    expect(revoked.status).to.equal(204)
    expect(await ids(), 'a revocation removes nothing').to.include.members(ofGone.map(({ id }) => id))
    const { ledger, database } = app.services
    const { transact } = ledger
    // Another transaction is in the way of each change, which therefore runs twice.
    ledger.transact = (caller, change) => {
      let isFirst = true
      return transact(caller, async (trx) => {
        const changed = await change(trx)
        if (!isFirst) return changed
        isFirst = false
        throw Object.assign(new Error('could not serialize access'), { code: '40001', severity: 'ERROR' })
      })
    }
    const made = await Promise.all([another(), another(), another()])
    ledger.transact = transact
    const rows: { entry: string }[] = await database
      .knex('ledger_entries')
      .whereLike('entry', '%"removed":%')
      .orderBy('idx')
      .select('entry')
    expect(rows.flatMap(({ entry }) => JSON.parse(entry).data.removed ?? [])).to.deep.equal(
      ofGone.map(({ id }) => id),
    )
    expect(made.map(({ status }) => status).sort()).to.deep.equal([201, 201, 409])
    const now = await ids()
    expect(now).to.have.length(MAX_ENDPOINTS)
    expect(now).to.include(ofKept.id)
    for (const { id } of ofGone) expect(now).to.not.include(id)
  })

  it('are told: each attempt in the metrics, what waits as well, each end in the exports', async () => {
    const { app, receiver } = context
    const { apiKey } = await app.organisation()
    const metric = async (name: string): Promise<number> => {
      const { body } = await app.request<string>('GET', '/metrics')
      const line = body.split('\n').find((text) => text.startsWith(`${name} `))
      return Number(line?.slice(name.length) ?? 0)
    }
    await settled(app)
    const delivered = 'webhook_attempts_total{outcome="delivered"}'
    const refused = 'webhook_attempts_total{outcome="status"}'
    const before = [await metric(delivered), await metric(refused)]
    expect(await metric('webhook_queue_depth')).to.equal(0)
    let asked = 0
    let letGo = (): void => undefined
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const [late, never] = [newPath(), newPath()]
    receiver.on(late, async (_, response) => {
      asked += 1
      if (asked === 3) await held
      response.writeHead(asked < 3 ? 500 : 204).end()
    })
    receiver.on(never, answer(503))
    const [one, other] = [
      await register(app, { key: apiKey }, { url: receiver.url + late, events: EVENTS }),
      await register(app, { key: apiKey }, { url: receiver.url + never, events: EVENTS }),
    ]
    await verify(app, apiKey)
    await arrivals(receiver, late, 3)
    expect(await metric('webhook_queue_depth')).to.be.at.least(1)
    letGo()
    await settled(app)
    expect(await metric('webhook_queue_depth')).to.equal(0)
    const after = [await metric(delivered), await metric(refused)]
    expect(after.map((count, i) => count - (before[i] ?? 0))).to.deep.equal([1, 2 + 3])
    const rows = await deliveryRows(apiKey, 2)
    expect(rows).to.have.length(2)
    const rowOf = (id: string) => rows.find(({ endpointId }) => endpointId === id)
    expect(rowOf(one.id)).to.include({
      event: 'proof.verified',
      outcome: 'delivered',
      attempts: 3,
      lastStatus: 204,
    })
    expect(rowOf(other.id)).to.include({ outcome: 'dropped', attempts: 3, lastStatus: 503 })
    expect(rowOf(other.id)?.deliveryId).to.match(/^dlv_[0-9a-f]{24}$/)
  })
})

describe('exports of webhook deliveries', () => {
  it('have one that ended while windows went by in the window in which it ended', async () => {
    const begun = Date.parse('2026-11-21T12:00:00.000Z')
    let now = begun
    const { app, receiver, close } = await startWebhookApp({ clock: { now: () => now } })
    let letGo = (): void => undefined
    try {
      const { apiKey } = await app.organisation()
      const path = newPath()
      const held = new Promise<void>((resolve) => {
        letGo = resolve
      })
      let asked = 0
      receiver.on(path, async (_, response) => {
        asked += 1
        if (asked === 3) await held
        response.writeHead(503).end()
      })
      const { id } = await register(app, { key: apiKey }, { url: receiver.url + path, events: EVENTS })
      await verify(app, apiKey)
      await arrivals(receiver, path, 3)
      /** What a SIEM reads that asks for what came since it last did, up to a second ago. */
      const poll = async (from: number, to: number) => {
        const window = { since: new Date(from).toISOString(), until: new Date(to).toISOString() }
        const rows = await exportedRows(app, { apiKey }, window)
        return rows.flatMap((row) => (row.type === 'webhook.delivery' ? [row.endpointId] : []))
      }
      now = begun + 7_000
      expect(await poll(begun - 60_000, begun + 6_000)).to.deep.equal([])
      letGo()
      // No window ends later than it is asked for.
      await until('a row', async () => {
        now += 10
        return (await poll(begun - 60_000, now)).length > 0
      })
      now = begun + 20_000
      expect(await poll(begun + 6_000, begun + 19_000)).to.deep.equal([id])
    } finally {
      letGo()
      await close()
    }
  })
})
