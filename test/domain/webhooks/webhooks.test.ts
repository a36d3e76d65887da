import { expect } from 'chai'
import { WEBHOOK_EVENTS } from '../../../src/domain/webhooks/events.ts'
import type { Webhook, WebhookCreated, WebhookList } from '../../../src/domain/webhooks/schemas.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { openSession, register } from '../../support/webhooks.ts'

interface Failure {
  readonly error: string
  readonly details?: readonly { readonly path: string; readonly code: string; readonly message: string }[]
  readonly limit?: number
}

const URL = 'https://hooks.shop.example/in?token=t0ken'
const INPUT = { label: 'Orders', url: URL, events: ['proof.spent', 'proof.created'] }

describe('webhook endpoints', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })

  const post = <T = WebhookCreated & Failure>(body: object, options: object = { key: owner.apiKey }) =>
    app.request<T>('POST', '/api/webhooks', { ...options, body })
  const list = async (options: object = { key: owner.apiKey }) =>
    (await app.request<WebhookList>('GET', '/api/webhooks', options)).body
  const call = <T = Failure>(method: string, id: string, more: object = {}, suffix = '') =>
    app.request<T>(method, `/api/webhooks/${id}${suffix}`, { key: owner.apiKey, ...more })

  it('show their secret once, at registration, and masked ever after', async () => {
    const { status, body } = await post(INPUT)
    expect(status).to.equal(201)
    expect(body.secret).to.match(/^whsec_[0-9a-f]{48}$/)
    expect(body).to.deep.include({ label: 'Orders', url: URL, active: true, scope: 'key' })
    expect(body.events, 'in the order of the list').to.deep.equal(['proof.created', 'proof.spent'])
    const { webhooks, count } = await list()
    const { secret, ...rest } = body
    expect(count).to.equal(1)
    expect(webhooks).to.deep.equal([
      {
        ...rest,
        secret: `whsec_****${secret.slice(-4)}`,
        readable: true,
        lastDeliveryAt: null,
        lastStatus: null,
        failureCount: 0,
        failingSince: null,
        backlog: 0,
      },
    ])
  })

  it('keep secret and URL sealed in the database', async () => {
    const { body } = await post(INPUT)
    const row = await app.services.database.knex('webhook_endpoints').where({ id: body.id }).first()
    const bytes = Buffer.concat([Buffer.from(row.sealed_secret), Buffer.from(row.sealed_url)])
    const plain = JSON.stringify({ ...row, sealed_secret: null, sealed_url: null })
    for (const secret of [body.secret, body.secret.slice(6), 't0ken']) {
      expect(bytes.includes(secret)).to.equal(false)
      expect(plain).to.not.include(secret)
    }
    const entries = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
    expect(JSON.stringify(entries)).to.not.include(body.secret.slice(6)).and.not.include('t0ken')
  })

  const refusals: readonly (readonly [what: string, change: object, code: string, path: string])[] = [
    ['no label', { label: undefined }, 'label_required', '/label'],
    ['a blank label', { label: ' \t' }, 'label_required', '/label'],
    ['a label that is null', { label: null }, 'label_required', '/label'],
    ['no URL', { url: undefined }, 'invalid_url', '/url'],
    ['a relative URL', { url: '/hook' }, 'invalid_url', '/url'],
    ['a URL with a line break', { url: 'https://shop.example/\nhook' }, 'invalid_url', '/url'],
    ['a URL without a host', { url: 'https://' }, 'invalid_url', '/url'],
    ['http', { url: 'http://shop.example/hook' }, 'url_not_https', '/url'],
    ['another scheme', { url: 'ftp://shop.example/hook' }, 'url_not_https', '/url'],
    ['a user in the URL', { url: 'https://me@shop.example/' }, 'url_blocked', '/url'],
    ['a password in the URL', { url: 'https://:pw@shop.example/' }, 'url_blocked', '/url'],
    ['a loopback address', { url: 'https://127.0.0.1/' }, 'url_blocked', '/url'],
    ['a loopback address in hexadecimal', { url: 'https://0x7f.1/' }, 'url_blocked', '/url'],
    ['a private address', { url: 'https://10.1.2.3:8443/x' }, 'url_blocked', '/url'],
    ['the metadata address', { url: 'https://169.254.169.254/latest' }, 'url_blocked', '/url'],
    ['an IPv6 loopback address', { url: 'https://[::1]/' }, 'url_blocked', '/url'],
    ['a mapped address', { url: 'https://[::ffff:127.0.0.1]/' }, 'url_blocked', '/url'],
    ['localhost', { url: 'https://api.localhost./' }, 'url_blocked', '/url'],
    ['no events', { events: undefined }, 'events_empty', '/events'],
    ['an empty list of events', { events: [] }, 'events_empty', '/events'],
    ['an unknown event', { events: ['proof.spent', 'proof.lost'] }, 'invalid_event', '/events/1'],
    ['an event in upper case', { events: ['PROOF.SPENT'] }, 'invalid_event', '/events/0'],
    ['a property of objects', { events: ['__proto__'] }, 'invalid_event', '/events/0'],
    ['a label that is too long', { label: 'x'.repeat(101) }, 'validation_failed', '/label'],
    ['a URL that is no text', { url: 7 }, 'validation_failed', '/url'],
    ['events that are no list', { events: 'proof.spent' }, 'validation_failed', '/events'],
  ]
  for (const [what, change, code, path] of refusals) {
    it(`refuse ${what}, naming the field, and nothing is registered`, async () => {
      const { status, body } = await post({ ...INPUT, ...change })
      expect([status, body.error]).to.deep.equal([422, code])
      expect(body.details?.[0]?.path).to.equal(path)
      expect(body.details?.[0]?.message).to.be.a('string').and.not.equal('')
      expect(await list()).to.deep.equal({ webhooks: [], count: 0 })
    })
  }

  it('take any of the five events, and name each once', async () => {
    const { body } = await post({ ...INPUT, events: [...WEBHOOK_EVENTS, ...WEBHOOK_EVENTS].reverse() })
    expect(body.events).to.deep.equal(WEBHOOK_EVENTS)
  })

  it('may be at addresses that the operator opened, if the key may', async () => {
    const url = 'https://127.0.0.1:9/'
    expect((await post({ ...INPUT, url }, { key: app.adminKey })).status).to.equal(201)
    const beyond = await post({ ...INPUT, url: 'https://10.0.0.1/' }, { key: app.adminKey })
    expect(beyond.body.error).to.equal('url_blocked')
  })

  it('change in what is named, by the rules of registration', async () => {
    const { body: made } = await post(INPUT)
    const changed = await call<Webhook>('PATCH', made.id, {
      body: { label: 'Other', url: 'https://other.example/', events: ['key.revoked'], active: false },
    })
    expect(changed.status).to.equal(200)
    expect(changed.body).to.deep.include({
      id: made.id,
      label: 'Other',
      url: 'https://other.example/',
      events: ['key.revoked'],
      active: false,
      secret: `whsec_****${made.secret.slice(-4)}`,
    })
    for (const [body, code] of [
      [{ url: 'http://other.example/' }, 'url_not_https'],
      [{ url: 'https://127.0.0.1/' }, 'url_blocked'],
      [{ events: [] }, 'events_empty'],
      [{ label: '' }, 'label_required'],
    ] as const) {
      expect((await call('PATCH', made.id, { body })).body.error).to.equal(code)
    }
    const same = await call<Webhook>('PATCH', made.id, { body: {} })
    expect(same.body).to.deep.equal(changed.body)
    expect((await list()).webhooks).to.deep.equal([changed.body])
  })

  it('are told in the log with the names of what was changed, also beside a pause and its end', async () => {
    const { body: made } = await post(INPUT)
    const change = (body: object) => call<Webhook>('PATCH', made.id, { body })
    const { body: shown } = await change({ active: false, label: 'Other' })
    await change({ ...shown, failureCount: 7, active: true, url: 'https://other.example/' })
    await change({ events: ['key.revoked'] })
    await change({ label: 'Other', events: ['key.revoked'] })
    const rows: { entry: string }[] = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
      .whereLike('entry', '%"changed":%')
      .orderBy('idx')
      .select('entry')
    const webhookId = made.id
    expect(rows.map(({ entry }) => JSON.parse(entry).data)).to.deep.equal([
      { event: 'webhook.paused', webhookId, changed: ['label', 'active'] },
      { event: 'webhook.resumed', webhookId, changed: ['url', 'active'] },
      { event: 'webhook.changed', webhookId, changed: ['events'] },
    ])
  })

  it('get another secret at each rotation and stay the same otherwise', async () => {
    const { body: made } = await post(INPUT)
    const { status, body } = await call<{ id: string; secret: string; rotatedAt: string }>(
      'POST',
      made.id,
      {},
      '/rotate-secret',
    )
    expect(status).to.equal(200)
    expect(body.id).to.equal(made.id)
    expect(body.secret)
      .to.match(/^whsec_[0-9a-f]{48}$/)
      .and.not.equal(made.secret)
    const [shown] = (await list()).webhooks
    expect(shown).to.deep.include({ ...made, secret: `whsec_****${body.secret.slice(-4)}` })
  })

  it('are gone once deleted', async () => {
    const { body: made } = await post(INPUT)
    expect((await call('DELETE', made.id)).status).to.equal(204)
    expect(await list()).to.deep.equal({ webhooks: [], count: 0 })
    for (const [method, suffix] of [
      ['DELETE', ''],
      ['PATCH', ''],
      ['POST', '/rotate-secret'],
    ] as const) {
      const { status, body } = await call(
        method,
        made.id,
        { ...(method === 'PATCH' && { body: {} }) },
        suffix,
      )
      expect([status, body.error]).to.deep.equal([404, 'not_found'])
    }
  })

  it('answer a repeated Idempotency-Key with the first answer, secret and all, and are made once', async () => {
    const options = { key: owner.apiKey, headers: { 'idempotency-key': 'register-1' } }
    const first = await post(INPUT, options)
    const again = await post(INPUT, options)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    expect(again.body).to.deep.equal(first.body)
    expect((await list()).count).to.equal(1)
    const rotate = () => call<{ secret: string }>('POST', first.body.id, options, '/rotate-secret')
    expect((await rotate()).body).to.deep.equal((await rotate()).body)
  })

  it('of a key are its own: other keys see nothing of them, a session of the organisation all', async () => {
    const session = await openSession(app)
    const [one, other] = [await session.newKey(), await session.newKey()]
    const ofOne = await register(app, { key: one.apiKey }, INPUT)
    const ofSession = await register(app, { headers: session.headers }, INPUT)
    expect([ofOne.scope, ofSession.scope]).to.deep.equal(['key', 'account'])
    const idsOf = async (options: object) => (await list(options)).webhooks.map(({ id }) => id)
    expect(await idsOf({ key: one.apiKey })).to.deep.equal([ofOne.id])
    expect(await idsOf({ key: other.apiKey })).to.deep.equal([])
    expect(await idsOf({ headers: session.headers })).to.deep.equal([ofOne.id, ofSession.id])
    for (const key of [other.apiKey, owner.apiKey, app.adminKey]) {
      expect((await call('DELETE', ofOne.id, { key })).status).to.equal(404)
      expect((await call('PATCH', ofOne.id, { key, body: { active: false } })).status).to.equal(404)
      expect((await call('POST', ofSession.id, { key }, '/rotate-secret')).status).to.equal(404)
    }
    const rotated = await app.request('POST', `/api/webhooks/${ofOne.id}/rotate-secret`, {
      headers: session.headers,
    })
    expect(rotated.status).to.equal(200)
    const shown = (await list({ key: one.apiKey })).webhooks[0]
    expect(shown?.scope, 'rotation does not change the scope').to.equal('key')
  })

  it('need the CSRF token in a session, and the scope with a key', async () => {
    const { headers } = await openSession(app)
    const withoutToken = { headers: { cookie: headers.cookie ?? '' } }
    const forged = await post(INPUT, withoutToken)
    expect([forged.status, forged.body.error]).to.deep.equal([403, 'csrf_required'])
    expect((await app.request('GET', '/api/webhooks', withoutToken)).status).to.equal(200)
    const { body: key } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      headers,
      body: { scopes: ['verify'] },
    })
    const refused = await post(INPUT, { key: key.apiKey })
    expect([refused.status, refused.body.error]).to.deep.equal([403, 'insufficient_scope'])
    expect((await post(INPUT, { bearer: owner.apiKey })).status).to.equal(201)
    expect((await post(INPUT, {})).status).to.equal(401)
  })

  it('are at most a hundred an organisation, however many are registered at once', async () => {
    const answers = await Promise.all(Array.from({ length: 104 }, () => post(INPUT)))
    const refused = answers.filter(({ status }) => status !== 201)
    expect(refused).to.have.length(4)
    for (const { status, body } of refused) {
      expect([status, body.error, body.limit]).to.deep.equal([409, 'limit_reached', 100])
    }
    const [first] = (await list()).webhooks
    await call('DELETE', first?.id ?? '')
    expect((await post(INPUT)).status).to.equal(201)
  })
})
