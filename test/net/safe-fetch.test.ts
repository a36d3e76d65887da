/** Outbound calls against real servers: what may be called, how redirects and names are judged, what is trusted. */
import { Resolver } from 'node:dns/promises'
import { expect } from 'chai'
import type { EgressError } from '../../src/net/egress-error.ts'
import { createSafeFetch, type SafeFetch, type SafeFetchRequest } from '../../src/net/safe-fetch.ts'
import { rejection } from '../support/rejection.ts'
import { createCertificates } from '../support/servers/certificates.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { json, redirectTo, startTargetServer, type TargetServer } from '../support/servers/target-server.ts'

const LOOPBACK = ['127.0.0.1/32']

const ask: SafeFetchRequest = {
  method: 'GET',
  headers: {},
  maxBytes: 1000,
  deadlineMs: 10_000,
  redirects: 3,
  allowListed: true,
}

describe('safe fetch: where it goes', () => {
  let target: TargetServer
  let other: TargetServer
  let dns: DnsServer
  let safeFetch: SafeFetch

  /** Addresses of names from the test's DNS server. */
  const resolve = async (host: string) => {
    const resolver = new Resolver({ timeout: 2000, tries: 1 })
    resolver.setServers([dns.address])
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const [v4, v6] = found.map((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const failure = found.find((answer) => answer.status === 'rejected')
    if (v4!.length + v6!.length === 0 && failure) throw failure.reason
    return [
      ...v4!.map((address) => ({ address, family: 4 })),
      ...v6!.map((address) => ({ address, family: 6 })),
    ]
  }

  before(async () => {
    ;[target, other, dns] = await Promise.all([startTargetServer(), startTargetServer(), startDnsServer()])
    safeFetch = createSafeFetch({ allowCidrs: LOOPBACK, resolve })
    for (const server of [target, other]) server.on('/', json({ hello: 'world' }))
  })
  beforeEach(() => {
    target.requests.length = 0
    other.requests.length = 0
  })
  after(() => Promise.all([safeFetch.close(), target.close(), other.close(), dns.close()]))

  const kindOf = async (url: string, request: Partial<SafeFetchRequest> = {}): Promise<string> => {
    const error = (await rejection(safeFetch(url, { ...ask, ...request }))) as EgressError
    expect(error.name, error.message).to.equal('EgressError')
    return error.kind
  }

  it('answers with status, headers in lower case, body and address', async () => {
    target.on('/teapot', (_, response) => {
      response.writeHead(418, { 'X-Kind': ['a', 'b'] }).end('short and stout')
    })
    const answer = await safeFetch(`${target.url}/teapot?x=1#part`, ask)
    expect(answer).to.deep.include({ status: 418, redirected: false, url: `${target.url}/teapot?x=1#part` })
    expect(answer.body.toString()).to.equal('short and stout')
    expect(answer.headers).to.include({ 'x-kind': 'a, b' })
    expect(target.requests[0]).to.deep.include({ method: 'GET', path: '/teapot?x=1' })
  })

  it('sends method, headers and body as they are', async () => {
    const headers = { 'content-type': 'text/plain', 'x-own': 'yes', 'Accept-Encoding': 'zstd' }
    await safeFetch(`${target.url}/`, { ...ask, method: 'POST', headers, body: Buffer.from('bytes') })
    expect(target.requests[0]?.body.toString()).to.equal('bytes')
    expect(target.requests[0]?.headers).to.include({ 'x-own': 'yes', 'accept-encoding': 'gzip, deflate, br' })
  })

  it('refuses a loopback address in every notation without the right, and no byte is sent', async () => {
    const { port } = target
    const connections = target.connections()
    const hosts = [
      '127.0.0.1',
      '127.1',
      '0x7f.1',
      '2130706433',
      '017700000001',
      '0x7f000001',
      '127.0.0.1.',
      '①②⑦.0.0.1',
    ]
    for (const host of [...hosts, '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::1]', '0', '169.254.169.254']) {
      expect(await kindOf(`http://${host}:${port}/`, { allowListed: false }), host).to.equal('blocked')
    }
    expect(target.connections()).to.equal(connections)
  })

  it('refuses with the right what lies outside of the open ranges', async () => {
    for (const url of ['http://127.0.0.2/', 'http://10.0.0.1/', 'http://[::1]/', 'http://169.254.169.254/']) {
      expect(await kindOf(url), url).to.equal('blocked')
    }
  })

  it('never lends a connection that was opened with the right to a call without it', async () => {
    expect((await safeFetch(`${target.url}/`, ask)).status).to.equal(200)
    expect(await kindOf(`${target.url}/`, { allowListed: false })).to.equal('blocked')
    expect(target.requests).to.have.length(1)
  })

  it('reuses the connection of a call with the same right', async () => {
    const connections = target.connections()
    for (let call = 0; call < 10; call++) await safeFetch(`${target.url}/`, ask)
    expect(target.connections() - connections).to.be.below(3)
  })

  for (const url of [
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
    'http://u:p@127.0.0.1/',
    'http://u@127.0.0.1/',
    'nonsense',
  ]) {
    it(`refuses ${url}`, async () => expect(await kindOf(url)).to.equal('blocked'))
  }

  it('refuses a name when any of its addresses is refused', async () => {
    dns.set('mixed.example', 'A', ['127.0.0.1', '10.0.0.1'])
    dns.set('mapped.example', 'AAAA', ['0:0:0:0:0:ffff:a00:1'])
    for (const name of ['mixed.example', 'mapped.example']) {
      expect(await kindOf(`http://${name}:${target.port}/`)).to.equal('blocked')
    }
    expect(target.requests).to.have.length(0)
  })

  it('dials the address that it judged: one look-up a connection, and a name that moves is judged again', async () => {
    dns.set('moving.example', 'A', ['127.0.0.1'])
    target.on('/close', (_, response) => {
      response.writeHead(200, { connection: 'close' }).end()
    })
    const url = `http://moving.example:${target.port}/close`
    expect((await safeFetch(url, ask)).status).to.equal(200)
    expect(dns.queries.filter(({ name, type }) => name === 'moving.example' && type === 'A')).to.have.length(
      1,
    )
    dns.set('moving.example', 'A', ['10.0.0.1'])
    expect(await kindOf(url)).to.equal('blocked')
    expect(target.requests).to.have.length(1)
    expect(target.requests[0]?.headers.host).to.equal(`moving.example:${target.port}`)
  })

  it('judges the address of the socket as well, whatever the look-up said', async () => {
    // 0.0.0.0 is open here, and the system connects it to 127.0.0.1, which isn't.
    const loose = createSafeFetch({ allowCidrs: ['0.0.0.0/32'], resolve })
    const error = await rejection(loose(`http://0.0.0.0:${target.port}/`, ask))
    await loose.close()
    expect(error).to.include({ name: 'EgressError', kind: 'blocked' })
    expect(target.requests).to.have.length(0)
  })

  it('calls a name that has no address, a closed port and a resolver that fails unreachable', async () => {
    const gone = await startTargetServer()
    await gone.close()
    dns.fail('broken.example', 'SERVFAIL')
    for (const url of ['http://nowhere.example/', 'http://broken.example/', `${gone.url}/`]) {
      expect(await kindOf(url), url).to.equal('unreachable')
    }
  })

  it('follows redirects within the limit, and says where the answer came from', async () => {
    target.on('/one', redirectTo('/two', 301))
    target.on('/two', redirectTo(`${other.url}/three`, 307))
    other.on('/three', redirectTo('./', 308))
    const answer = await safeFetch(`${target.url}/one`, ask)
    expect(answer).to.deep.include({ status: 200, redirected: true, url: `${other.url}/` })
    const error = (await rejection(safeFetch(`${target.url}/one`, { ...ask, redirects: 2 }))) as EgressError
    expect(error).to.include({ kind: 'redirect', status: 308 })
  })

  it('hands a redirect out as the answer where none may be followed', async () => {
    target.on('/away', redirectTo(`${other.url}/`))
    const answer = await safeFetch(`${target.url}/away`, { ...ask, redirects: 0 })
    expect(answer).to.deep.include({ status: 302, redirected: false })
    expect(other.requests).to.have.length(0)
  })

  it('judges the target of a redirect like a first URL', async () => {
    for (const [location, kind] of [
      ['http://10.0.0.1/', 'blocked'],
      ['http://169.254.169.254/latest/meta-data/', 'blocked'],
      [`http://[::ffff:7f00:2]:${other.port}/`, 'blocked'],
      ['file:///etc/passwd', 'redirect'],
      [`http://user:password@127.0.0.1:${other.port}/`, 'redirect'],
      ['http://[broken/', 'redirect'],
    ] as const) {
      target.on('/away', redirectTo(location))
      expect(await kindOf(`${target.url}/away`), location).to.equal(kind)
    }
    target.on('/away', (_, response) => {
      response.writeHead(302).end()
    })
    expect(await kindOf(`${target.url}/away`)).to.equal('redirect')
  })

  it('asks no URL that its caller refuses, be it the first or behind a redirect', async () => {
    const isRefused = async ({ port }: URL) => port === String(other.port)
    target.on('/away', redirectTo(`${other.url}/`))
    target.on('/here', redirectTo('/'))
    expect(await kindOf(`${other.url}/`, { isRefused })).to.equal('blocked')
    expect(await kindOf(`${target.url}/away`, { isRefused })).to.equal('redirect')
    expect((await safeFetch(`${target.url}/here`, { ...ask, isRefused })).status).to.equal(200)
    expect(other.requests).to.have.length(0)
  })

  it('connects a call that refuses URLs to no refused address, nor lends it the connection of another call', async () => {
    const isRefusedAddress = (_: string, port: number) => port === target.port
    const choosy = createSafeFetch({ allowCidrs: LOOPBACK, resolve, isRefusedAddress })
    const isRefused = async () => false
    try {
      expect((await choosy(`${target.url}/`, ask)).status).to.equal(200)
      const error = await rejection(choosy(`${target.url}/`, { ...ask, isRefused }))
      expect(error).to.include({ name: 'EgressError', kind: 'blocked' })
      expect((await choosy(`${other.url}/`, { ...ask, isRefused })).status).to.equal(200)
    } finally {
      await choosy.close()
    }
    expect(target.requests).to.have.length(1)
  })

  it('sends no credentials to another origin, and keeps them on its own', async () => {
    const headers = {
      Authorization: 'Bearer secret',
      Cookie: 'a=b',
      'X-API-Key': 'secret',
      Accept: 'text/x-own',
    }
    target.on('/here', redirectTo('/there'))
    target.on('/there', redirectTo(`${other.url}/back`))
    other.on('/back', redirectTo(`${target.url}/`))
    await safeFetch(`${target.url}/here`, { ...ask, headers })
    const own = { authorization: 'Bearer secret', cookie: 'a=b', 'x-api-key': 'secret', accept: 'text/x-own' }
    expect(target.requests[0]?.headers).to.include(own)
    expect(target.requests[1]?.headers).to.include(own)
    for (const seen of [other.requests[0], target.requests[2]]) {
      expect(seen?.headers).to.include({ accept: 'text/x-own' })
      expect(seen?.headers).to.not.have.any.keys('authorization', 'cookie', 'x-api-key')
    }
  })

  it('never repeats a POST', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      target.on('/post', redirectTo(`${other.url}/`, status))
      expect(await kindOf(`${target.url}/post`, { method: 'POST', body: '{}' })).to.equal('redirect')
    }
    expect(other.requests).to.have.length(0)
  })

  it('uses no proxy of the environment', async () => {
    process.env.HTTP_PROXY = other.url
    try {
      await safeFetch(`${target.url}/`, ask)
    } finally {
      delete process.env.HTTP_PROXY
    }
    expect([target.requests.length, other.requests.length]).to.deep.equal([1, 0])
  })
})

describe('safe fetch: TLS', () => {
  const certificates = createCertificates({ names: ['own.example', '127.0.0.1'] })
  const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
  const trusting = createSafeFetch({ allowCidrs: LOOPBACK, ca: certificates.ca, resolve })
  const plain = createSafeFetch({ allowCidrs: LOOPBACK, resolve })
  let secure: TargetServer
  let insecure: TargetServer
  before(async () => {
    ;[secure, insecure] = await Promise.all([startTargetServer({ certificates }), startTargetServer()])
    secure.on('/', json({}))
  })
  after(() => Promise.all([trusting.close(), plain.close(), secure.close(), insecure.close()]))

  it('accepts a certificate of its own authority, for a name and for an address', async () => {
    for (const url of [`https://own.example:${secure.port}/`, `${secure.url}/`]) {
      expect((await trusting(url, ask)).status, url).to.equal(200)
    }
  })

  it('refuses an unknown authority, another name, and a server that speaks no TLS', async () => {
    for (const [fetchIt, url] of [
      [plain, `https://own.example:${secure.port}/`],
      [trusting, `https://other.example:${secure.port}/`],
      [trusting, `https://own.example:${insecure.port}/`],
    ] as const) {
      expect(await rejection(fetchIt(url, ask)), url).to.include({ kind: 'unreachable' })
    }
    expect(insecure.requests).to.have.length(0)
  })

  it('never follows a redirect from https to http, and does so the other way', async () => {
    secure.on('/down', redirectTo(`${insecure.url}/`))
    insecure.on('/up', redirectTo(`${secure.url}/`))
    expect(await rejection(trusting(`${secure.url}/down`, ask))).to.include({ kind: 'redirect', status: 302 })
    expect(insecure.requests).to.have.length(0)
    expect((await trusting(`${insecure.url}/up`, ask)).url).to.equal(`${secure.url}/`)
  })
})
