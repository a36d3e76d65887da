/** Custom domains, through the real app and a real DNS server. */
import { expect } from 'chai'
import { createDomains } from '../../../src/domain/pods/domains.ts'
import type { OwnPodList, PodInfo } from '../../../src/domain/pods/schemas.ts'
import type { DomainCheck, DomainStatus } from '../../../src/domain/pods/schemas-domains.ts'
import { findDueDomains, postponeCheck, updateDomain } from '../../../src/domain/pods/store.ts'
import type { VerificationResult } from '../../../src/domain/verification/schemas.ts'
import { createLogger } from '../../../src/http/log.ts'
import { createSealedValues } from '../../../src/keys/sealed-values.ts'
import { createSealing } from '../../../src/keys/sealing.ts'
import { createDns } from '../../../src/net/dns.ts'
import { createBus } from '../../../src/store/bus.ts'
import { createOpenRecent } from '../../../src/store/recent.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import type { RequestOptions } from '../../support/client.ts'
import { createPod, movePod } from '../../support/domain/pods.ts'
import { type DnsServer, startDnsServer } from '../../support/servers/dns-server.ts'

type Failure = { error: string }

const HOST = 'pods.assay.example'
const DAY_MS = 24 * 3_600_000

describe('custom domains', () => {
  let app: TestApp
  let dns: DnsServer
  let owner: TestOrganisation
  let now = Date.now()
  let names = 0
  let domain: string

  before(async () => {
    dns = await startDnsServer()
    app = await startTestApp({
      env: { DNS_SERVERS: dns.address, CUSTOM_DOMAIN_CNAME: 'Pods.Assay.Example.' },
      clock: { now: () => now },
    })
  })
  after(async () => {
    await app?.close()
    await dns?.close()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    domain = `verify${++names}.shop.example`
  })

  const check = (body: object, key = owner.apiKey) =>
    app.request<DomainCheck & Failure>('POST', '/domain/verify', { key, body })
  const status = (name = domain) =>
    app.request<DomainStatus & Failure>('GET', `/domain/status/${encodeURIComponent(name)}`)
  const pointHere = (name = domain) => dns.set(name, 'CNAME', [HOST])
  const prove = (podId: string, name = domain) => dns.set(`_verify.${name}`, 'TXT', [`assay-pod=${podId}`])
  /** A pod with the domain bound to it. */
  const bound = async (name = domain) => {
    const pod = await createPod(app, owner.apiKey)
    pointHere(name)
    prove(pod.podId, name)
    expect((await check({ domain: name, podId: pod.podId })).body.bound).to.equal(true)
    return pod
  }
  const requestOf = (host: string, method: string, path: string, options: RequestOptions = {}) =>
    app.request<Record<string, unknown>>(method, path, { ...options, headers: { ...options.headers, host } })
  const rootOf = (host: string) => requestOf(host, 'GET', '/')

  it('say which records are missing, one by one, until nothing is left to do', async () => {
    const { podId } = await createPod(app, owner.apiKey)
    expect((await status()).body.dns).to.deep.equal({ valid: false, cname: null })
    const cname = { type: 'CNAME', name: domain, value: HOST }
    const txt = { type: 'TXT', name: `_verify.${domain}`, value: `assay-pod=${podId}` }
    const first = await check({ domain: domain.toUpperCase(), podId })
    expect(first.status).to.equal(200)
    expect(first.body).to.deep.equal({
      success: true,
      domain,
      dns: { valid: false, cname: null },
      available: true,
      bound: false,
      instructions: [cname, txt],
    })
    pointHere()
    expect((await check({ domain, podId })).body).to.deep.include({
      dns: { valid: true, cname: HOST },
      bound: false,
      instructions: [txt],
    })
    expect((await check({ domain })).body).to.deep.include({ bound: false, instructions: null })
    expect((await rootOf(domain)).body.name).to.equal('Assay')
    prove(podId)
    expect((await check({ domain, podId })).body).to.deep.include({
      available: true,
      bound: true,
      instructions: null,
    })
    expect((await status()).body).to.deep.equal({
      success: true,
      domain,
      configured: true,
      podInfo: { id: podId, name: 'Age check', status: 'ACTIVE' },
      dns: { valid: true, cname: HOST },
      ready: true,
    })
    expect((await rootOf(domain)).body).to.have.nested.property('pod.customDomain', domain)
  })

  it('are bound by the TXT record alone as little as by the CNAME alone', async () => {
    const { podId } = await createPod(app, owner.apiKey)
    prove(podId)
    expect((await check({ domain, podId })).body).to.deep.include({ bound: false })
    expect((await status()).body).to.deep.include({ configured: false, podInfo: null, ready: false })
    pointHere()
    dns.set(`_verify.${domain}`, 'TXT', ['assay-pod=', `assay-pod=${podId}x`, `x assay-pod=${podId}`])
    expect((await check({ domain, podId })).body.bound).to.equal(false)
    dns.set(`_verify.${domain}`, 'TXT', ['v=spf1 -all', `assay-pod=${podId}`])
    expect((await check({ domain, podId })).body.bound).to.equal(true)
  })

  it('may lead here over other names, and lead nowhere when they lead elsewhere', async () => {
    dns.set(domain, 'CNAME', ['a.cdn.example'])
    dns.set('a.cdn.example', 'CNAME', ['elsewhere.example'])
    expect((await check({ domain })).body).to.deep.include({
      dns: { valid: false, cname: 'elsewhere.example' },
      instructions: [{ type: 'CNAME', name: domain, value: HOST }],
    })
    dns.set('a.cdn.example', 'CNAME', ['PODS.assay.example'])
    expect((await check({ domain })).body.dns).to.deep.equal({ valid: true, cname: HOST })
    dns.set(HOST, 'CNAME', ['balancer.cloud.example'])
    try {
      expect((await check({ domain })).body.dns).to.deep.equal({ valid: true, cname: HOST })
    } finally {
      dns.set(HOST, 'CNAME', [])
    }
  })

  it('that are none are refused, whoever asks', async () => {
    for (const name of [
      'co.uk',
      'shop.example:80',
      '*.shop.example',
      '127.0.0.1',
      HOST,
      '',
      'a'.repeat(300),
    ]) {
      const refused = await check({ domain: name })
      expect([refused.status, refused.body.error], name).to.deep.equal([422, 'invalid_domain'])
      if (name === '') continue
      const unknown = await status(name)
      expect([unknown.status, unknown.body.error], name).to.deep.equal([422, 'invalid_domain'])
    }
  })

  it('are bound to pods of the caller only, and to no archived one', async () => {
    const stranger = await app.organisation()
    const theirs = await createPod(app, stranger.apiKey)
    pointHere()
    prove(theirs.podId)
    for (const podId of [theirs.podId, 'pod_00000000000000000000000000', 'nonsense']) {
      const refused = await check({ domain, podId })
      expect([refused.status, refused.body.error], podId).to.deep.equal([404, 'not_found'])
    }
    const { podId } = await createPod(app, owner.apiKey)
    prove(podId)
    await movePod(app, podId, 'ARCHIVED')
    const archived = await check({ domain, podId })
    expect([archived.status, archived.body.error]).to.deep.equal([410, 'pod_archived'])
    expect((await status()).body.configured).to.equal(false)
  })

  it('belong to whoever proved them last', async () => {
    const first = await bound()
    expect((await check({ domain })).body.available).to.equal(true)
    const stranger = await app.organisation()
    const second = await createPod(app, stranger.apiKey)
    const taken = await check({ domain, podId: second.podId }, stranger.apiKey)
    expect(taken.body).to.deep.include({ available: false, bound: false })
    expect((await check({ domain }, stranger.apiKey)).body.available).to.equal(false)
    dns.set(`_verify.${domain}`, 'TXT', [`assay-pod=${first.podId}`, `assay-pod=${second.podId}`])
    const moved = await check({ domain, podId: second.podId }, stranger.apiKey)
    expect(moved.body).to.deep.include({ available: true, bound: true })
    expect((await status()).body.podInfo?.id).to.equal(second.podId)
    expect((await rootOf(domain)).body).to.have.nested.property('pod.id', second.podId)
    const info = await app.request<PodInfo>('GET', `/pod/${first.podId}`)
    expect(info.body.pod.customDomain).to.equal(null)
  })

  it('are noted in the ledger once, without their name', async () => {
    const { podId } = await bound()
    await check({ domain, podId })
    const entries: { entry: string }[] = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
      .whereLike('entry', '%pod.domain_bound%')
    expect(entries).to.have.length(1)
    expect(entries[0]?.entry).to.contain(podId).and.not.contain(domain)
  })

  it('are not bound again by a request that is repeated under its Idempotency-Key', async () => {
    const { podId } = await createPod(app, owner.apiKey)
    const other = await createPod(app, owner.apiKey)
    pointHere()
    dns.set(`_verify.${domain}`, 'TXT', [`assay-pod=${podId}`, `assay-pod=${other.podId}`])
    const options = {
      key: owner.apiKey,
      body: { domain, podId },
      headers: { 'idempotency-key': `bind-${domain}` },
    }
    const first = await app.request<DomainCheck>('POST', '/domain/verify', options)
    expect(first.body.bound).to.equal(true)
    expect((await check({ domain, podId: other.podId })).body.bound).to.equal(true)
    const again = await app.request<DomainCheck>('POST', '/domain/verify', options)
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    expect((await rootOf(domain)).body).to.have.nested.property('pod.id', other.podId)
  })

  it('that nobody can look up are an error, and never called invalid', async () => {
    const { podId } = await bound()
    dns.fail(domain, 'SERVFAIL')
    const refused = await check({ domain, podId })
    expect([refused.status, refused.body.error]).to.deep.equal([502, 'dns_error'])
    const { body } = await status()
    expect(body).to.deep.include({
      configured: true,
      dns: { valid: null, cname: null, error: 'dns_error' },
      ready: true,
    })
    dns.fail(domain, undefined)
    dns.fail(`_verify.${domain}`, 'SERVFAIL')
    expect((await check({ domain, podId })).status).to.equal(502)
    expect((await check({ domain })).status).to.equal(200)
    dns.fail(`_verify.${domain}`, undefined)
  })

  it('are asked for in DNS at most every 30 seconds, however many strangers ask', async () => {
    await bound()
    await status()
    const asked = dns.queries.length
    const answers = await Promise.all(Array.from({ length: 20 }, () => status()))
    expect(answers.every(({ body }) => body.ready)).to.equal(true)
    expect(dns.queries.length).to.equal(asked)
    dns.set(domain, 'CNAME', [])
    expect((await status()).body.ready).to.equal(true)
    now += 30_000
    expect((await status()).body).to.deep.include({ dns: { valid: false, cname: null }, ready: false })
  })

  it('limit each stranger by address', async () => {
    const { headers } = await status()
    expect(headers.get('ratelimit-policy')).to.equal('"default";q=60;w=60')
  })

  it('answer as their pod, and as nothing else', async () => {
    const pod = await bound()
    for (const host of [domain, `${domain.toUpperCase()}:8080`, `${domain}.`]) {
      const { status: code, body } = await rootOf(host)
      expect(code).to.equal(200)
      expect(body).to.have.nested.property('pod.id', pod.podId)
      expect(body).to.have.nested.property('pod.endpoints.verify', `${app.url}/pod/${pod.podId}/verify`)
    }
    const verify = (headers: Record<string, string>) =>
      requestOf(domain, 'POST', '/verify', { body: { age: 36 }, headers })
    expect((await verify({})).status).to.equal(401)
    const { status: code, body } = await verify({ 'x-pod-key': pod.podKey })
    expect(code, JSON.stringify(body)).to.equal(200)
    const result = body as unknown as VerificationResult
    const [, payload = ''] = result.jws.split('.')
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).to.include({ iss: app.url })
    expect(result.qrUrl.startsWith(`${app.url}/`)).to.equal(true)
    const charges = await app.services.database.knex('pod_charges').where({ pod: pod.podId })
    expect(charges.map(({ verification }) => verification)).to.deep.equal([result.verificationId])
    const { body: stillInfo } = await requestOf(domain, 'GET', '/verify')
    expect(stillInfo).to.include({ status: 'operational' })
    const { body: health } = await requestOf(domain, 'GET', '/health/live')
    expect(health).to.deep.equal({ live: true })
  })

  it('that are not bound, and the service’s own, show the service', async () => {
    for (const host of [domain, HOST, 'localhost', '127.0.0.1:80', '[::1]', 'x'.repeat(300)]) {
      const { status: code, body } = await rootOf(host)
      expect([code, body.name], host).to.deep.equal([200, 'Assay'])
    }
  })

  it('are looked at again every day: gone with their records, and back with them', async () => {
    const pod = await bound()
    const recheck = () => app.services.domains.recheck()
    await recheck()
    const asked = dns.queries.length
    now += DAY_MS - 1000
    await recheck()
    expect(dns.queries.slice(asked).filter(({ name }) => name === domain)).to.deep.equal([])
    dns.set(`_verify.${domain}`, 'TXT', [])
    now += 1000
    expect((await rootOf(domain)).body).to.have.nested.property('pod.id', pod.podId)
    await recheck()
    expect((await rootOf(domain)).body.name).to.equal('Assay')
    expect((await status()).body).to.deep.include({ configured: true, ready: false })
    const info = await app.request<PodInfo>('GET', `/pod/${pod.podId}`)
    expect(info.body.pod.customDomain).to.equal(null)
    const stranger = await app.organisation()
    expect((await check({ domain }, stranger.apiKey)).body.available).to.equal(true)
    dns.fail(domain, 'SERVFAIL')
    prove(pod.podId)
    now += DAY_MS
    await recheck()
    expect((await rootOf(domain)).body.name).to.equal('Assay')
    dns.fail(domain, undefined)
    now += 3_600_000
    await recheck()
    now += DAY_MS - 1000
    const again = dns.queries.length
    await recheck()
    expect(dns.queries.slice(again).filter(({ name }) => name === domain)).to.deep.equal([])
    expect((await rootOf(domain)).body).to.have.nested.property('pod.id', pod.podId)
    const events: string[] = (
      await app.services.database
        .knex('ledger_entries')
        .where({ organisation: owner.organisationId })
        .orderBy('idx')
        .pluck('entry')
    ).flatMap((entry: string) => /"pod\.domain_\w+"/.exec(entry) ?? [])
    expect(events).to.deep.equal(['"pod.domain_bound"', '"pod.domain_lapsed"', '"pod.domain_restored"'])
  })

  it('that nobody can look up stay as they are', async () => {
    const pod = await bound()
    dns.fail(domain, 'SERVFAIL')
    now += DAY_MS
    await app.services.domains.recheck()
    expect((await rootOf(domain)).body).to.have.nested.property('pod.id', pod.podId)
    dns.fail(domain, undefined)
  })

  it('that nobody can look up for a week are bound no longer', async () => {
    const pod = await bound()
    const { domains } = app.services
    const podOfHost = async () => (await rootOf(domain)).body.pod
    dns.fail(domain, 'SERVFAIL')
    now += DAY_MS
    await domains.recheck()
    // One answer, and the week begins anew.
    dns.fail(domain, undefined)
    now += 3_600_000
    await domains.recheck()
    dns.fail(domain, 'SERVFAIL')
    now += DAY_MS
    await domains.recheck()
    now += 7 * DAY_MS - 1
    await domains.recheck()
    expect(await podOfHost()).to.have.property('id', pod.podId)
    now += 3_600_000
    await domains.recheck()
    expect(await podOfHost()).to.equal(undefined)
    expect((await status()).body).to.deep.include({ configured: false, podInfo: null, ready: false })
    const entries: string[] = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
      .pluck('entry')
    expect(entries.filter((entry) => entry.includes('pod.domain_dropped'))).to.have.length(1)
    dns.fail(domain, undefined)
    expect((await check({ domain, podId: pod.podId })).body.bound).to.equal(true)
  })

  it('are seen by their owner\u2019s check too, from which the week is counted anew', async () => {
    const { podId } = await bound()
    const unseenSince = async () => {
      const { body } = await app.request<OwnPodList>('GET', '/console/api/pods', { key: owner.apiKey })
      return body.pods[0]?.domains[0]?.unseenSince
    }
    dns.fail(domain, 'SERVFAIL')
    now += DAY_MS
    await app.services.domains.recheck()
    expect(await unseenSince()).to.be.a('string')
    dns.fail(domain, undefined)
    expect((await check({ domain, podId })).body.bound).to.equal(true)
    expect(await unseenSince()).to.equal(null)
  })

  it('are 20 a pod, exactly, and the next takes the place of one whose records are gone', async () => {
    const { podId } = await createPod(app, owner.apiKey)
    const some = Array.from({ length: 24 }, (_, index) => `d${index}.${domain}`)
    for (const name of some) {
      pointHere(name)
      prove(podId, name)
    }
    const answers = await Promise.all(some.map((name) => check({ domain: name, podId })))
    const refused = answers.filter((answer) => answer.status !== 200)
    expect(refused).to.have.length(4)
    for (const { status: code, body } of refused)
      expect({ code, ...body }).to.include({ code: 409, error: 'domain_limit', limit: 20 })
    const namesOf = (): Promise<string[]> =>
      app.services.database.knex('pod_domains').where({ pod: podId }).pluck('domain')
    expect(await namesOf()).to.have.length(20)
    const [first = ''] = await namesOf()
    expect((await check({ domain: first, podId })).body.bound).to.equal(true)
    const waiting = some[answers.findIndex((answer) => answer.status !== 200)] ?? ''
    dns.set(`_verify.${first}`, 'TXT', [])
    now += DAY_MS
    await app.services.domains.recheck()
    expect(await namesOf()).to.include(first)
    expect((await check({ domain: waiting, podId })).body.bound).to.equal(true)
    expect(await namesOf())
      .to.have.length(20)
      .and.include(waiting)
      .and.not.include(first)
  })

  it('cost one query a second, however many hosts strangers make up', async () => {
    const pod = await bound()
    const { knex } = app.services.database
    let queries = 0
    const count = ({ sql }: { sql: string }) => {
      if (sql.includes('pod_domains')) queries++
    }
    now += 1000
    knex.on('query', count)
    try {
      const hosts = Array.from({ length: 50 }, (_, index) => `h${index}.${domain}`)
      await Promise.all(hosts.map(rootOf))
      await Promise.all(hosts.map((host) => requestOf(host, 'POST', '/verify', { body: {} })))
      expect(queries).to.equal(1)
      // One of the check itself; nobody has them all read anew by asking for one.
      await check({ domain: `h0.${domain}` })
      await rootOf(`h0.${domain}`)
      expect(queries).to.equal(2)
    } finally {
      knex.removeListener('query', count)
    }
    expect((await rootOf(domain)).body).to.have.nested.property('pod.id', pod.podId)
  })

  /** The domains as another server on the same database has them. */
  const onOtherServer = () => {
    const logger = createLogger('silent')
    const codec = createSealedValues(createSealing(app.config.masterKey))
    return createDomains({
      ...app.services,
      ...app.config,
      dns: createDns({ servers: [dns.address] }),
      openRecent: createOpenRecent({ clock: app.services.clock, bus: createBus({ logger }), codec }),
      logger,
    })
  }

  it('with a silent name server hold up neither the others nor a server that stops', async () => {
    await bound()
    now += 1000
    const gone = `gone.${domain}`
    await bound(gone)
    const rowOf = (name: string) =>
      app.services.database.knex('pod_domains').where({ domain: name }).first('proven', 'absent_since')
    dns.fail(`_verify.${domain}`, 'SILENT')
    dns.set(`_verify.${gone}`, 'TXT', [])
    now += DAY_MS
    const other = onOtherServer()
    const round = other.recheck()
    while ((await rowOf(gone)).proven) await new Promise((resolve) => setTimeout(resolve, 10))
    await other.close()
    await round
    // Had the look at the silent one been over, or been noted when it was ended, it would say so.
    expect(await rowOf(domain)).to.deep.equal({ proven: true, absent_since: null })
    dns.fail(`_verify.${domain}`, undefined)
  })

  it('are looked at by one of several servers', async () => {
    await bound()
    const other = onOtherServer()
    try {
      now += DAY_MS
      const asked = dns.queries.length
      const { domains } = app.services
      await Promise.all([domains.recheck(), other.recheck(), domains.recheck(), other.recheck()])
      const about = dns.queries.slice(asked).filter(({ name }) => name === `_verify.${domain}`)
      expect(about).to.have.length(1)
    } finally {
      await other.close()
    }
  })

  it('that are bound anew while they are looked at are not touched by what was seen', async () => {
    await bound()
    const { database, domains } = app.services
    now += DAY_MS
    const seen = (await findDueDomains(database, now, 1000)).find((row) => row.domain === domain)
    const next = await createPod(app, owner.apiKey)
    prove(next.podId)
    expect((await check({ domain, podId: next.podId })).body.bound).to.equal(true)
    const stale = seen ?? expect.fail('the domain is not due')
    expect(await updateDomain(database.knex, stale, { proven: false, absent_since: now })).to.equal(false)
    expect(await postponeCheck(database, stale, 0)).to.equal(false)
    await domains.recheck()
    expect((await rootOf(domain)).body).to.have.nested.property('pod.id', next.podId)
  })
})
