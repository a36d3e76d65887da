/** Proxy routes through the real app: making, showing and deleting the routes of hermes. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type {
  ProxyCreated,
  ProxyDeleted,
  ProxyList,
  ProxyRoute,
} from '../../../src/domain/hermes/schemas-proxies.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  ask,
  askByQuery,
  createProxy,
  type Failure,
  postProxy,
  sharedTarget,
} from '../../support/domain/hermes.ts'

const URL_WITH_SECRET = 'https://api.example.org/v1/members?key=secret'
const UNKNOWN_ID = 'prx_00000000000000000000000000'

describe('proxy routes', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })
  let users = 0
  const newUser = () => `user of test ${users++}`
  const find = async (id: string, bearer?: string) =>
    (await app.request<ProxyRoute & Failure>('GET', `/proxy/${id}`, { bearer })).body
  const list = async (userId: string, bearer?: string) =>
    (await app.request<ProxyList & Failure>('GET', `/proxy?${new URLSearchParams({ userId })}`, { bearer }))
      .body
  const remove = (id: string, userId: string, bearer?: string) =>
    app.request<ProxyDeleted & Failure>('DELETE', `/proxy/${id}`, { body: { userId }, bearer })

  it('can be made by anybody, and say where to ask', async () => {
    const { status, body } = await postProxy(app, { userId: newUser(), destinationUrl: URL_WITH_SECRET })
    expect(status).to.equal(201)
    expect(body.slug).to.match(/^[1-9A-HJ-NP-Za-km-z]{12}$/)
    const apiUrl = `${app.url}/hermes/${body.slug}`
    expect(body).to.deep.include({
      success: true,
      sourceUrl: apiUrl,
      apiUrl,
      destinationUrl: URL_WITH_SECRET,
      requireToken: false,
    })
    expect(body).not.to.have.property('token')
    expect(body.manageToken).to.match(/^hmm_[0-9A-Za-z]{43}$/)
    expect(body.id).to.match(/^prx_[0-9a-z]{26}$/)
  })

  it('keep their target and their tokens where no reader of the database finds them', async () => {
    const {
      id,
      token = '',
      manageToken,
    } = await createProxy(app, {
      destinationUrl: URL_WITH_SECRET,
      requireToken: true,
    })
    const row = await app.services.database.knex('hermes_routes').where({ id }).first()
    const stored = Object.values(row)
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
      .join(' ')
    for (const secret of ['api.example.org', 'secret', token, manageToken])
      expect(stored).not.to.include(secret)
  })

  it('refuse what is no target', async () => {
    const refused: [url: string, code: string][] = [
      ['members', 'url'],
      ['//api.example.org/', 'url'],
      ['ftp://api.example.org/', 'url'],
      ['file:///etc/passwd', 'url'],
      ['javascript:alert(1)', 'url'],
      ['https://user@api.example.org/', 'url'],
      ['https://user:password@api.example.org/', 'url'],
      ['https://{id}@api.example.org/', 'url'],
      ['https://{id}.example.org/', 'url'],
      ['https://api.example.org:8{id}/', 'url'],
      ['{id}', 'url'],
      [app.url, 'own_host'],
      [`${app.url}/hermes/{id}`, 'own_host'],
      [app.url.replace('127.0.0.1', '0x7f.1'), 'own_host'],
    ]
    for (const [destinationUrl, code] of refused) {
      const { status, body } = await postProxy(app, { userId: 'u', destinationUrl })
      expect({ destinationUrl, status, detail: body.details?.[0] }).to.deep.nested.include({
        destinationUrl,
        status: 422,
        'detail.path': '/destinationUrl',
        'detail.code': code,
      })
    }
  })

  it('refuse every name of the service itself as a target', async () => {
    const env = { BASE_URL: 'https://assay.example', CUSTOM_DOMAIN_CNAME: 'pods.assay.example' }
    const own = await startTestApp({ env })
    try {
      const targets = [
        'https://assay.example/',
        'http://ASSAY.example:8080/a',
        'https://assay.example./',
        'https://pods.assay.example/',
      ]
      for (const destinationUrl of targets)
        expect((await postProxy(own, { userId: 'u', destinationUrl })).body.details?.[0]?.code).to.equal(
          'own_host',
        )
      const made = await createProxy(own, { destinationUrl: 'https://other.example/' })
      expect(made.apiUrl).to.equal(`https://assay.example/hermes/${made.slug}`)
    } finally {
      await own.close()
    }
  })

  it('show the whole target to who made them, and its origin to others', async () => {
    const userId = newUser()
    const mine = await createProxy(app, { userId, destinationUrl: URL_WITH_SECRET }, owner.apiKey)
    const open = await createProxy(app, { userId, destinationUrl: URL_WITH_SECRET, requireToken: true })
    const stranger = await app.organisation()
    const seen = async (id: string, bearer?: string) => (await find(id, bearer)).destinationUrl
    for (const bearer of [owner.apiKey, mine.manageToken])
      expect(await seen(mine.id, bearer)).to.equal(URL_WITH_SECRET)
    for (const bearer of [undefined, stranger.apiKey, open.manageToken])
      expect(await seen(mine.id, bearer)).to.equal('https://api.example.org')
    expect(await seen(open.id, open.manageToken)).to.equal(URL_WITH_SECRET)
    // Also to the operator, who keeps the routes of strangers, and to who may only ask.
    for (const bearer of [undefined, app.adminKey, open.token])
      expect(await seen(open.id, bearer)).to.equal('https://api.example.org')
    const listed = (await list(userId, owner.apiKey)).routes.map(({ id, destinationUrl }) => ({
      id,
      destinationUrl,
    }))
    expect(listed).to.deep.equal([
      { id: open.id, destinationUrl: 'https://api.example.org' },
      { id: mine.id, destinationUrl: URL_WITH_SECRET },
    ])
  })

  it('are listed for their user only, with how often they were asked', async () => {
    const userId = newUser()
    const { url } = await sharedTarget()
    const { id, slug } = await createProxy(app, { userId, destinationUrl: `${url}/members` }, app.adminKey)
    const none = { total: 0, yes: 0, no: 0, errors: 0, lastUsedAt: null, avgLatencyMs: null }
    expect((await find(id)).stats).to.deep.equal(none)
    const before = Date.now()
    await Promise.all([
      ask(app, slug, { name: 'Ada' }),
      askByQuery(app, slug, 'name=Bob'),
      ask(app, slug, { name: 'Eve' }),
      ask(app, slug, {}),
    ])
    const { success, count, routes } = await list(userId, app.adminKey)
    expect({ success, count }).to.deep.equal({ success: true, count: 1 })
    const [{ stats, status } = expect.fail('no route')] = routes
    expect(stats).to.include({ total: 3, yes: 2, no: 1, errors: 0 })
    expect(Date.parse(stats.lastUsedAt ?? '')).to.be.within(before, Date.now())
    expect(stats.avgLatencyMs).to.be.within(0, Date.now() - before)
    expect(status).to.equal('active')
    expect((await list(`${userId}?`, app.adminKey)).routes).to.deep.equal([])
  })

  it('that were made with a key are listed for that organisation alone', async () => {
    const userId = newUser()
    const input = { userId, destinationUrl: URL_WITH_SECRET }
    const owned = await createProxy(app, input, owner.apiKey)
    const open = await createProxy(app, input)
    const stranger = await app.organisation()
    const ids = async (bearer?: string) => (await list(userId, bearer)).routes.map(({ id }) => id)
    expect(await ids(owner.apiKey)).to.deep.equal([open.id, owned.id])
    for (const bearer of [undefined, stranger.apiKey, app.adminKey, owned.manageToken, open.manageToken])
      expect(await ids(bearer), bearer).to.deep.equal([open.id])
  })

  it('go when their user deletes them, and what they answered stays', async () => {
    const userId = newUser()
    const { url } = await sharedTarget()
    const { id, slug } = await createProxy(app, { userId, destinationUrl: `${url}/members` }, app.adminKey)
    await ask(app, slug, { name: 'Ada' })
    expect((await remove(id, 'another', app.adminKey)).status).to.equal(404)
    const { status, body } = await remove(id, userId, app.adminKey)
    expect(status).to.equal(200)
    expect(body).to.include({ success: true, id, status: 'deleted' })
    for (const answer of [await ask(app, slug, { name: 'Ada' }), await askByQuery(app, slug, 'name=Ada')])
      expect({ status: answer.status, error: answer.body.error }).to.deep.equal({
        status: 410,
        error: 'route_deleted',
      })
    const again = await remove(id, userId, app.adminKey)
    expect({ status: again.status, error: again.body.error }).to.deep.equal({
      status: 409,
      error: 'already_deleted',
    })
    const kept = await find(id)
    expect(kept).to.deep.include({ status: 'deleted', deletedAt: body.deletedAt })
    expect(kept.stats).to.include({ total: 1, yes: 1 })
    const listed = (await list(userId, app.adminKey)).routes
    expect(listed.map(({ status: state }) => state)).to.deep.equal(['deleted'])
  })

  it('that strangers made go with the user id alone', async () => {
    const userId = newUser()
    const { id } = await createProxy(app, { userId, destinationUrl: URL_WITH_SECRET })
    expect((await remove(id, 'another')).status).to.equal(404)
    expect((await remove(id, userId)).status).to.equal(200)
  })

  it('that are made with the token of another route belong to nobody', async () => {
    const userId = newUser()
    const { manageToken } = await createProxy(app, { destinationUrl: URL_WITH_SECRET }, owner.apiKey)
    const made = await createProxy(app, { userId, destinationUrl: URL_WITH_SECRET }, manageToken)
    expect((await find(made.id, owner.apiKey)).destinationUrl).to.equal('https://api.example.org')
    expect((await remove(made.id, userId)).status).to.equal(200)
  })

  it('that were made with a key need a key of that organisation or the manage token, and 404 tells nothing', async () => {
    const userId = newUser()
    const made = () =>
      createProxy(app, { userId, destinationUrl: URL_WITH_SECRET, requireToken: true }, owner.apiKey)
    const [first, second] = [await made(), await made()]
    const stranger = await app.organisation()
    for (const bearer of [undefined, stranger.apiKey, app.adminKey, first.token, second.manageToken])
      expect((await remove(first.id, userId, bearer)).status, bearer).to.equal(404)
    expect((await remove(first.id, userId, first.manageToken)).status).to.equal(200)
    expect((await remove(second.id, userId, owner.apiKey)).status).to.equal(200)
    expect((await remove(UNKNOWN_ID, userId, owner.apiKey)).status).to.equal(404)
  })

  it('that are deleted no longer spend what their organisation may ask', async () => {
    const { organisationId, apiKey } = await app.organisation()
    const userId = newUser()
    const { url } = await sharedTarget()
    const { id, token } = await createProxy(
      app,
      { userId, destinationUrl: `${url}/members`, requireToken: true },
      apiKey,
    )
    const limit = async (rateLimitPerMinute: number) =>
      app.request('PATCH', `/console/api/organisations/${organisationId}`, {
        key: app.adminKey,
        body: { rateLimitPerMinute },
      })
    expect((await remove(id, userId, apiKey)).status).to.equal(200)
    expect((await limit(5)).status).to.equal(200)
    // What servers remember of an organisation.
    await pause(1100)
    for (let i = 0; i < 10; i++)
      expect((await app.request('GET', `/proxy?userId=${userId}`, { bearer: token ?? '' })).status).to.equal(
        200,
      )
    expect((await app.request('GET', '/console/api/me', { key: apiKey })).status).to.equal(200)
  })

  it('deleted by many at once are deleted once', async () => {
    const userId = newUser()
    const { id } = await createProxy(app, { userId, destinationUrl: URL_WITH_SECRET })
    const answers = await Promise.all(Array.from({ length: 8 }, () => remove(id, userId)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(409)])
    const rows = await app.services.database.knex('hermes_deletions').where({ route: id })
    expect(rows).to.have.length(1)
  })

  it('are made once under an Idempotency-Key with a credential, and twice without one, as is said', async () => {
    const { apiKey } = await app.organisation()
    const body = { userId: newUser(), destinationUrl: URL_WITH_SECRET }
    const headers = { 'idempotency-key': 'made-once' }
    const made = async (key?: string) =>
      (await app.request<ProxyCreated>('POST', '/proxy', { key, body, headers })).body.id
    expect(await made(apiKey)).to.equal(await made(apiKey))
    expect(await made()).to.not.equal(await made())
  })

  it('are made at most 60 times an hour from one address', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.60' }
    const body = { userId: newUser(), destinationUrl: URL_WITH_SECRET }
    const answers = await Promise.all(
      Array.from({ length: 61 }, () => app.request('POST', '/proxy', { body, headers })),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 201)).to.have.length(60)
    expect(statuses.filter((status) => status === 429)).to.have.length(1)
    expect(answers[0]?.headers.get('ratelimit-policy')).to.equal('"default";q=60;w=3600')
  })

  it('leave no unknown slug or id open', async () => {
    expect((await ask(app, '111111111111', { a: 1 })).status).to.equal(404)
    expect((await ask(app, '0', { a: 1 })).status).to.equal(404)
    expect(await find(UNKNOWN_ID)).to.include({ error: 'not_found' })
  })
})
