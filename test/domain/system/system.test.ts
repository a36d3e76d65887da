import { expect } from 'chai'
import { systemClock } from '../../../src/clock.ts'
import { createSystem, type SystemDeps } from '../../../src/domain/system/service.ts'
import { createMetrics } from '../../../src/metrics.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('system routes', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  it('GET / says what the service is, with absolute documentation and path templates', async () => {
    const { status, body } = await app.request<Record<string, unknown>>('GET', '/')
    expect(status).to.equal(200)
    expect(body).to.include({ name: 'Assay', version: '1.0.0', documentation: `${app.url}/v1/openapi.json` })
    expect(body.engine).to.deep.equal({ name: 'assay-core', version: '1.0.0' })
    expect(body.endpoints).to.have.all.keys('health', 'verify', 'pod', 'domain', 'hermes')
    expect(body.customDomains).to.deep.equal({ supported: true, cname: '127.0.0.1' })
    expect(body.timestamp).to.match(ISO_TIME)
  })

  it('health serves both families at once, on both paths', async () => {
    for (const path of ['/health', '/v1/health']) {
      const { status, body, headers } = await app.request<Record<string, unknown>>('GET', path)
      expect(status).to.equal(200)
      expect(headers.get('ratelimit')).to.equal(null)
      expect(body).to.include({ status: 'healthy', version: '1.0.0' })
      expect(body.engine).to.deep.equal({ name: 'assay-core', version: '1.0.0', status: 'operational' })
      expect(body.database).to.deep.equal({ status: 'connected' })
      expect(body.services).to.have.property('postgres', 'connected')
      expect(body.uptime).to.be.a('number')
      expect(body.responseTime).to.be.a('number')
    }
  })

  it('security.txt names the contacts of the setting, where they are, and for less than a year (RFC 9116)', async () => {
    const path = '/.well-known/security.txt'
    const { status, body, headers } = await app.request<string>('GET', path)
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    const fields = body.trimEnd().split('\n')
    expect(fields).to.include.members([
      'Contact: mailto:security@assay.example',
      `Canonical: ${app.url}${path}`,
    ])
    const [, expires = ''] = /^Expires: (\S+)$/m.exec(body) ?? []
    const days = (Date.parse(expires) - Date.now()) / 86_400_000
    expect(days).to.be.within(30, 364)
    const silent = await startTestApp({ env: { SECURITY_CONTACT: '' } })
    try {
      expect((await silent.request('GET', path)).status).to.equal(404)
    } finally {
      await silent.close()
    }
  })

  it('crawlers are told what is nobody else’s, and the icon is at its usual address', async () => {
    const robots = await app.request<string>('GET', '/robots.txt')
    expect(robots.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(robots.body.split('\n')).to.include.members(['User-agent: *', 'Disallow: /console'])
    // Agents that heed it can still take part in the chat, and read the documents.
    expect(robots.body).to.not.match(/Disallow: \/(api|chat|docs|mcp|agents\.txt)?$/m)
    const icon = await app.request<string>('GET', '/favicon.ico')
    expect(icon.status).to.equal(200)
    expect(icon.headers.get('content-type')).to.equal('image/svg+xml')
    expect(icon.body).to.match(/^<svg /)
  })

  it('probes tell life from readiness', async () => {
    expect((await app.request('GET', '/health/live')).body).to.deep.equal({ live: true })
    expect((await app.request('GET', '/health/ready')).body).to.deep.equal({ ready: true })
  })

  it('/metrics is public unless METRICS_TOKEN is set; then it needs the token or a key with the scope', async () => {
    const { status, body, headers } = await app.request<string>('GET', '/metrics')
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
    expect(body).to.match(/^http_request_duration_seconds_count/m)
    expect(body).to.match(/^ledger_tree_size \d+$/m)
    expect(body).to.match(/^ledger_commit_seconds_count [1-9]\d*$/m)
    expect(body).to.match(/^prover_queue_depth\{tier="paying"\} \d+$/m)
    expect(body).to.match(/^ledger_follower_lag_entries\{follower="webhooks"\} \d+$/m)
    expect(body).to.match(/^ledger_follower_lag_entries\{follower="poseidon"\} \d+$/m)

    const closed = await startTestApp({ env: { METRICS_TOKEN: 'metrics-token-1' } })
    try {
      expect((await closed.request('GET', '/metrics')).status).to.equal(401)
      expect((await closed.request('GET', '/metrics', { bearer: 'wrong' })).status).to.equal(401)
      expect((await closed.request('GET', '/metrics', { bearer: 'metrics-token-1' })).status).to.equal(200)
      expect((await closed.request('GET', '/metrics', { key: closed.adminKey })).status).to.equal(200)
    } finally {
      await closed.close()
    }
  })

  it('/v1/metrics is JSON, or text for those who ask for text first', async () => {
    const ask = (accept: string) =>
      app.request<unknown>('GET', '/v1/metrics', { key: app.adminKey, headers: { accept } })
    for (const accept of ['*/*', 'application/json', 'application/json, text/plain']) {
      const { body } = await ask(accept)
      expect(body, accept).to.have.property('metrics').that.is.an('array').that.is.not.empty
    }
    for (const accept of ['text/plain', 'text/plain;version=0.0.4;q=0.5,*/*;q=0.1', 'text/*']) {
      expect((await ask(accept)).body, accept)
        .to.be.a('string')
        .that.matches(/^# HELP/)
    }
    expect((await app.request('GET', '/v1/metrics')).status).to.equal(401)
  })

  it('the description is served and names this server', async () => {
    const { body, headers } = await app.request<{ servers: { url: string }[]; openapi: string }>(
      'GET',
      '/v1/openapi.json',
    )
    expect(headers.get('content-type')).to.match(/^application\/json/)
    expect(body.openapi).to.equal('3.1.0')
    expect(body.servers).to.deep.equal([{ url: app.url }])
  })
})

describe('health', () => {
  const createWith = (
    checks: SystemDeps['checks'],
    isReady = () => true,
    watchLists: SystemDeps['watchLists'] = () => [],
  ) =>
    createSystem({
      watchLists,
      baseUrl: 'http://assay.test',
      customDomainCname: 'assay.test',
      securityContacts: [],
      clock: systemClock,
      metrics: createMetrics(),
      checks,
      isReady,
      writeRefusal: () => undefined,
      describe: async () => ({}),
    })
  const fine = () => Promise.resolve()
  const broken = () => Promise.reject(new Error('refused'))

  it('a watch list that cannot be loaded is degraded and named, whether an earlier state of it is used or none', async () => {
    const list = (entries: number, isFailed: boolean) => ({
      list: `l-${entries}`,
      entries,
      ageSeconds: 1,
      isFailed,
    })
    const health = (...states: ReturnType<typeof list>[]) =>
      createWith({ database: fine }, undefined, () => states).health()
    const { status, watchLists } = await health(list(3, false))
    expect({ status, watchLists }).to.deep.equal({
      status: 'healthy',
      watchLists: { status: 'current', failed: [] },
    })
    expect(await health(list(3, false), list(4, true))).to.deep.include({
      status: 'degraded',
      watchLists: { status: 'outdated', failed: ['l-4'] },
    })
    expect((await health(list(0, true), list(4, true))).watchLists).to.deep.equal({
      status: 'unavailable',
      failed: ['l-0', 'l-4'],
    })
  })

  it('no database is unhealthy; no Redis is degraded; Redis that nobody configured is no fault', async () => {
    const status = async (checks: SystemDeps['checks']) => (await createWith(checks).health()).status
    expect(await status({ database: fine })).to.equal('healthy')
    expect(await status({ database: fine, redis: fine })).to.equal('healthy')
    expect(await status({ database: fine, redis: broken })).to.equal('degraded')
    expect(await status({ database: broken, redis: fine })).to.equal('unhealthy')
    expect((await createWith({ database: fine }).health()).services.redis).to.equal('not_configured')
  })

  it('many probes at once look at the database once', async () => {
    let asked = 0
    const system = createWith({ database: async () => asked++ })
    await Promise.all(Array.from({ length: 20 }, () => system.health()))
    await system.health()
    expect(asked).to.equal(1)
  })

  it('metrics are told even without a database', async () => {
    expect(await createWith({ database: broken }).metricsText()).to.match(/^ledger_tree_size 0$/m)
  })
})
