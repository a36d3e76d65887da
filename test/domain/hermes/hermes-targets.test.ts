/** Targets that fail, lie, drag or lead astray: none of them ever becomes a verdict. */
import { randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { systemClock } from '../../../src/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { FLIGHT_LIMITS } from '../../../src/domain/hermes/flights.ts'
import type { ProxyRoute } from '../../../src/domain/hermes/schemas-proxies.ts'
import { askTarget } from '../../../src/domain/hermes/target.ts'
import type { AlertPage } from '../../../src/domain/security/schemas.ts'
import { createLogger } from '../../../src/http/log.ts'
import { createSafeFetch } from '../../../src/net/safe-fetch.ts'
import { startServer } from '../../../src/server/server.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { clientOf } from '../../support/client.ts'
import { ask, askByQuery, createProxy, sharedTarget, USER_ID } from '../../support/domain/hermes.ts'
import { rejection } from '../../support/rejection.ts'
import {
  json,
  redirectTo,
  startTargetServer,
  type TargetServer,
} from '../../support/servers/target-server.ts'

const MIB = 1024 * 1024
const QUESTION = { name: 'Ada' }

describe('a target of hermes', () => {
  let app: TestApp
  let target: TargetServer
  before(async () => {
    app = await sharedApp()
    target = await startTargetServer()
  })
  after(() => target.close())

  /** Status and error of a question to a target, asked by a route of the operator. */
  const asked = async (destinationUrl: string, body: object = QUESTION) => {
    const { slug, id } = await createProxy(app, { destinationUrl }, app.adminKey)
    const { status, body: answer } = await ask(app, slug, body)
    const { body: proxy } = await app.request<{ stats: object }>('GET', `/proxy/${id}`)
    return { status, error: answer.error, verdict: answer.verdict, stats: proxy.stats }
  }
  const failed = (status: number, error: string) => ({ status, error, verdict: undefined })

  const failures: [
    what: string,
    path: string,
    script: Parameters<TargetServer['on']>[1],
    status: number,
    error: string,
  ][] = [
    ['answers 404 to a search', '/404', json({}, 404), 502, 'upstream_status'],
    ['answers 500', '/500', json([{ name: 'Ada' }], 500), 502, 'upstream_status'],
    ['answers 304', '/304', (_, response) => void response.writeHead(304).end(), 502, 'upstream_status'],
    ['answers nothing', '/204', (_, response) => void response.writeHead(204).end(), 502, 'upstream_invalid'],
    ['answers HTML', '/html', (_, response) => void response.end('<p>Ada</p>'), 502, 'upstream_invalid'],
    [
      'answers half of it',
      '/half',
      (_, response) => void response.end('[{"name":"Ada"}'),
      502,
      'upstream_invalid',
    ],
    [
      'hangs up in the middle',
      '/cut',
      (_, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('[{"name":"Ada"}')
        setTimeout(() => response.destroy(), 20)
      },
      502,
      'upstream_unreachable',
    ],
    [
      'answers in no known encoding',
      '/encoding',
      (_, response) => void response.writeHead(200, { 'content-encoding': 'zstd' }).end('[]'),
      502,
      'upstream_invalid',
    ],
    [
      'answers 6 MiB',
      '/large',
      (_, response) => void response.end(JSON.stringify([{ name: 'Ada', pad: 'x'.repeat(6 * MIB) }])),
      502,
      'upstream_too_large',
    ],
    [
      'answers without an end',
      '/endless',
      (_, response) => {
        const more = (): void => {
          while (!response.destroyed && response.write(' '.repeat(64 * 1024)));
        }
        response.on('drain', more).on('error', () => undefined)
        more()
      },
      502,
      'upstream_too_large',
    ],
    [
      'answers with a gzip bomb',
      '/bomb',
      (_, response) =>
        void response
          .writeHead(200, { 'content-encoding': 'gzip' })
          .end(gzipSync(Buffer.alloc(50 * MIB, ' '))),
      502,
      'upstream_too_large',
    ],
    [
      'nests too deep',
      '/deep',
      (_, response) => void response.end(`${'['.repeat(65)}${']'.repeat(65)}`),
      502,
      'upstream_too_large',
    ],
    [
      'answers too many values',
      '/many',
      (_, response) => void response.end(`[${'0,'.repeat(200_000)}0]`),
      502,
      'upstream_too_large',
    ],
    ['redirects in circles', '/circle', redirectTo('/circle'), 502, 'upstream_status'],
    [
      'redirects nowhere',
      '/nowhere',
      (_, response) => void response.writeHead(302).end(),
      502,
      'upstream_status',
    ],
    ['redirects to another scheme', '/scheme', redirectTo('ftp://127.0.0.1/'), 502, 'upstream_status'],
    ['redirects into a private network', '/private', redirectTo('http://10.0.0.1/'), 502, 'egress_blocked'],
    [
      'redirects to the metadata of a cloud',
      '/meta',
      redirectTo('http://169.254.169.254/'),
      502,
      'egress_blocked',
    ],
  ]
  for (const [what, path, script, status, error] of failures) {
    it(`that ${what} gives no verdict, and is counted`, async () => {
      target.on(path, script)
      const { stats, ...answer } = await asked(target.url + path)
      expect(answer).to.deep.equal(failed(status, error))
      expect(stats).to.deep.include({ total: 1, yes: 0, no: 0, errors: 1 })
    })
  }

  it('that nobody listens at gives no verdict', async () => {
    const gone = await startTargetServer()
    await gone.close()
    expect(await asked(gone.url)).to.deep.include(failed(502, 'upstream_unreachable'))
    expect(await asked('http://no-such-name.invalid/')).to.deep.include(failed(502, 'upstream_unreachable'))
  })

  it('may redirect three times', async () => {
    target.on('/a', redirectTo('/b'))
    target.on('/b', redirectTo('/c'))
    target.on('/c', redirectTo('/d'))
    target.on('/d', json([QUESTION]))
    target.on('/zero', redirectTo('/a'))
    expect(await asked(`${target.url}/a`)).to.deep.include({ status: 200, verdict: 'YES' })
    expect(await asked(`${target.url}/zero`)).to.deep.include(failed(502, 'upstream_status'))
  })

  it('may not redirect to this service, whose verdict would then be the data', async () => {
    const inner = await createProxy(
      app,
      { destinationUrl: `${(await sharedTarget()).url}/members` },
      app.adminKey,
    )
    target.on('/own', redirectTo(`${app.url}/hermes/${inner.slug}?name=Ada`))
    target.on('/on', redirectTo('/own'))
    const spelled = new URL(app.url)
    spelled.hostname = 'localhost'
    target.on('/spelled', redirectTo(`${spelled.origin}/hermes/${inner.slug}?name=Ada`))
    for (const path of ['/own', '/on', '/spelled'])
      expect(await asked(target.url + path, { verdict: 'YES' }), path).to.deep.include(
        failed(502, 'upstream_status'),
      )
  })

  it('may pack its answer', async () => {
    target.on('/gzip', (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify([QUESTION])))
    })
    expect(await asked(`${target.url}/gzip`)).to.deep.include({ status: 200, verdict: 'YES' })
  })

  it('that fails answers an id with an error too, unless it says that the item does not exist', async () => {
    target.on('/item/500', json({}, 500))
    expect(await asked(`${target.url}/item/{id}`, { id: '500' })).to.deep.include(
      failed(502, 'upstream_status'),
    )
    expect(await asked(`${target.url}/item/{id}`, { id: 'none' })).to.deep.include({
      status: 200,
      verdict: 'NO',
    })
  })

  it('that redirects from an item to another address says nothing of the item with 404', async () => {
    target.on('/at/7', redirectTo('/items/7?whole'))
    target.on('/at/8', redirectTo('/sign-in'))
    target.on('/at/9', redirectTo('/v19/sign-in'))
    target.on('/at/a%40b', redirectTo('/items/a@b'))
    const of = (id: string) => asked(`${target.url}/at/{id}`, { id })
    expect(await of('a@b')).to.deep.include({ status: 200, verdict: 'NO' })
    expect(await of('7')).to.deep.include({ status: 200, verdict: 'NO' })
    for (const id of ['8', '9']) expect(await of(id)).to.deep.include(failed(502, 'upstream_status'))
  })

  it('that fails when its route was deleted meanwhile is 410, counts nowhere and raises no alert', async () => {
    const { organisationId, apiKey: key } = await app.organisation()
    for (const script of [json({}, 500), redirectTo('http://10.0.0.1/')]) {
      const { slug, id } = await createProxy(app, { destinationUrl: `${target.url}/deleted` }, key)
      await app.services.database.knex('hermes_routes').where({ id }).update({ private_egress: true })
      target.on('/deleted', async (request, response) => {
        await app.request('DELETE', `/proxy/${id}`, { key, body: { userId: USER_ID } })
        await script(request, response)
      })
      const { status, body } = await ask(app, slug, QUESTION)
      expect([status, body.error]).to.deep.equal([410, 'route_deleted'])
      const { body: proxy } = await app.request<ProxyRoute>('GET', `/proxy/${id}`)
      expect(proxy.stats).to.include({ total: 0, errors: 0, lastUsedAt: null })
    }
    await app.services.security.close()
    const alerts = await app.services.database.knex('security_alerts').where({ organisation: organisationId })
    expect(alerts).to.deep.equal([])
  })

  it('is blocked at every address that is not public, in every notation', async () => {
    const { port } = target
    const before = target.requests.length
    const hosts = [
      '127.0.0.1',
      '127.1',
      '0x7f.1',
      '2130706433',
      '017700000001',
      '0.0.0.0',
      '10.0.0.1',
      '172.16.0.1',
      '192.168.0.1',
      '100.64.0.1',
      '169.254.169.254',
      '192.0.2.1',
      '224.0.0.1',
      '255.255.255.255',
      'localhost',
      '127.0.0.1.',
      '１２７.0.0.1',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::127.0.0.1]',
      '[64:ff9b::127.0.0.1]',
      '[64:ff9b:1::7f00:1]',
      '[2002:7f00:1::]',
      '[fc00::1]',
      '[fe80::1]',
      '[fd00:ec2::254]',
    ]
    for (const host of hosts) {
      // By a stranger, for whom the operator opened nothing.
      const { slug } = await createProxy(app, { destinationUrl: `http://${host}:${port}/members` })
      const { status, body } = await ask(app, slug, QUESTION)
      expect({ host, status, error: body.error }).to.deep.equal({
        host,
        status: 502,
        error: 'egress_blocked',
      })
      expect(body.message).to.include('EGRESS_ALLOW_CIDRS')
    }
    expect(target.requests).to.have.length(before)
  })

  it('in a private network is open to routes of keys with the right, and to no others', async () => {
    const { url } = await sharedTarget()
    const destinationUrl = `${url}/members`
    const owner = await app.organisation()
    for (const key of [undefined, owner.apiKey]) {
      const { slug } = await createProxy(app, { destinationUrl }, key)
      // Who asks makes no difference.
      expect((await ask(app, slug, QUESTION, { bearer: app.adminKey })).body.error).to.equal('egress_blocked')
    }
    const { slug } = await createProxy(app, { destinationUrl }, app.adminKey)
    expect((await ask(app, slug, QUESTION)).body.verdict).to.equal('YES')
  })

  it('that fails is counted and logged nowhere else, however often it is asked', async () => {
    const owner = await app.organisation()
    const { slug, id } = await createProxy(app, { destinationUrl: 'http://127.0.0.1:1/' }, owner.apiKey)
    const { knex } = app.services.database
    const entries = () => knex('ledger_entries').where({ organisation: owner.organisationId })
    const before = (await entries()).length
    await Promise.all(Array.from({ length: 4 }, () => ask(app, slug, QUESTION, { bearer: owner.apiKey })))
    const { body } = await app.request<{ stats: object }>('GET', `/proxy/${id}`)
    expect(body.stats).to.deep.include({ total: 4, yes: 0, no: 0, errors: 4 })
    await app.services.security.close()
    // Private, so the first and the sum of the others as an alert of the egress; nothing of the four questions.
    expect(await entries()).to.have.length(before + 2)
  })

  it('that is silent holds no more of its askers than their part, and none of those that pay', async () => {
    const { url } = await sharedTarget()
    const held: (() => void)[] = []
    target.on('/held', (_, response) => void held.push(() => response.end('[]')))
    const silent = await createProxy(app, { destinationUrl: `${target.url}/held` }, app.adminKey)
    const from = (ip: string) => ({ headers: { 'x-forwarded-for': ip } })
    const { perOwner } = FLIGHT_LIMITS.open
    const crowd = Array.from({ length: perOwner }, () =>
      ask(app, silent.slug, QUESTION, from('198.51.100.77')),
    )
    while (held.length < perOwner) await new Promise((resolve) => setTimeout(resolve, 5))
    const refused = await ask(app, silent.slug, QUESTION, from('198.51.100.77'))
    expect(refused.status).to.equal(503)
    expect(refused.body).to.include({ error: 'unavailable', retry_after: 1 })
    expect(refused.headers.get('retry-after')).to.equal('1')
    const quick = await createProxy(app, { destinationUrl: `${url}/members` }, app.adminKey)
    expect((await ask(app, quick.slug, QUESTION, from('198.51.100.78'))).status).to.equal(200)
    expect(
      (await ask(app, quick.slug, QUESTION, { ...from('198.51.100.77'), bearer: app.adminKey })).status,
    ).to.equal(200)
    for (const release of held) release()
    for (const { status } of await Promise.all(crowd)) expect(status).to.equal(200)
    expect((await ask(app, quick.slug, QUESTION, from('198.51.100.77'))).status).to.equal(200)
  })

  it('that is blocked raises an alert of the organisation that made the route', async () => {
    const owner = await app.organisation()
    const { slug, id } = await createProxy(app, { destinationUrl: 'http://10.0.0.1/' }, owner.apiKey)
    await ask(app, slug, QUESTION)
    await app.services.security.close()
    const { body } = await app.request<AlertPage>('GET', '/api/security/alerts', { key: owner.apiKey })
    expect(body.alerts.map(({ type, subject }) => ({ type, subject }))).to.deep.equal([
      { type: 'egress_blocked', subject: id },
    ])
  })

  it('whose name changes its address after it was judged is not asked', async () => {
    let lookUps = 0
    const safeFetch = createSafeFetch({
      allowCidrs: ['127.0.0.0/8'],
      resolve: async () => {
        lookUps += 1
        return [{ address: lookUps === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }]
      },
    })
    try {
      target.on('/rebound', (_, response) => {
        response.writeHead(200, { connection: 'close' }).end('[{"name":"Ada"}]')
      })
      const request = {
        url: `http://rebinding.example:${target.port}/rebound`,
        allowListed: true,
        tier: 'open' as const,
        isOwnHost: async () => false,
      }
      expect(await askTarget(safeFetch, systemClock, request)).to.include({ found: true })
      const error = await rejection(askTarget(safeFetch, systemClock, request))
      expect(error).to.include({ code: 'egress_blocked' })
      expect(
        await rejection(askTarget(safeFetch, systemClock, { ...request, allowListed: false })),
      ).to.include({
        code: 'egress_blocked',
      })
    } finally {
      await safeFetch.close()
    }
  })
})

describe('what hermes is asked and what its targets answer', () => {
  const MARKER = `marker-${randomBytes(12).toString('hex')}`
  const KEY = `admin-${randomBytes(16).toString('hex')}`

  it('is in no answer, no table and no line of the log', async () => {
    const target = await startTargetServer()
    let logged = ''
    const stream = new Writable({
      write(chunk, _, done) {
        logged += chunk
        done()
      },
    })
    const env = { PORT: '0', DATA_DIR: 'memory', ADMIN_API_KEY: KEY, EGRESS_ALLOW_CIDRS: '127.0.0.0/8' }
    const server = await startServer(loadConfig({ ...env, PROVER_THREADS: '1' }), {
      logger: createLogger('trace', stream),
    })
    try {
      const app = clientOf(server.url)
      const path = `/${MARKER}/a`
      target.on(path, json([{ secret: MARKER }]))
      target.on(`/${MARKER}/bad`, (_, response) => void response.end(`{"secret": "${MARKER}`))
      target.on(
        `/${MARKER}/cut`,
        (_, response) => void response.writeHead(200, { 'content-length': '9' }).destroy(),
      )
      const made = async (suffix: string) =>
        createProxy(app, { destinationUrl: `${target.url}/${MARKER}/${suffix}?key=${MARKER}` }, KEY)
      const route = await made('a')
      const answers = [
        await ask(app, route.slug, { secret: MARKER }),
        await askByQuery(app, route.slug, `secret=${MARKER}`),
        await ask(app, route.slug, { id: MARKER }),
        await ask(app, (await made('bad')).slug, { secret: MARKER }),
        await ask(app, (await made('cut')).slug, { secret: MARKER }),
        await ask(app, (await made('missing')).slug, { secret: MARKER }),
        await app.request('GET', `/proxy/${route.id}`, { key: route.token ?? 'hmm_'.padEnd(47, 'x') }),
      ]
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 502, 502, 502, 401])
      expect(answers[0]?.body).to.include({ verdict: 'YES' })
      const { knex } = server.services.database
      const tables: string[] = await knex('information_schema.tables')
        .where({ table_schema: 'public' })
        .pluck('table_name')
      const rows = await Promise.all(
        tables.map(async (name) => (await knex.raw('SELECT t::text AS row FROM ?? t', [name])).rows),
      )
      const places = { answers: JSON.stringify(answers), tables: JSON.stringify(rows), log: logged }
      for (const [place, text] of Object.entries(places))
        for (const form of [MARKER, Buffer.from(MARKER).toString('hex')])
          expect(text.includes(form), `${place} ${form}`).to.equal(false)
      expect(logged).to.include('/hermes/{slug}')
      const lines = logged
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
      const failures = lines.filter(({ msg }) => msg === 'target failed')
      expect(failures.map(({ level, error }) => `${level} ${error}`)).to.have.members([
        'info upstream_invalid',
        'info upstream_unreachable',
        'info upstream_status',
      ])
      for (const line of failures) expect(line).to.not.have.any.keys('err', 'stack')
      expect(lines.filter(({ msg }) => msg === 'request failed')).to.deep.equal([])
    } finally {
      await server.close()
      await target.close()
    }
  })
})
