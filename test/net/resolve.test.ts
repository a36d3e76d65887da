/** Where the addresses of hosts come from, and that looking for them holds up nobody. */
import { lookup } from 'node:dns/promises'
import { expect } from 'chai'
import { createDns } from '../../src/net/dns.ts'
import { createLocalResolve, createResolve } from '../../src/net/resolve.ts'
import { createSafeFetch, type SafeFetchRequest } from '../../src/net/safe-fetch.ts'
import { rejection } from '../support/rejection.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { json, startTargetServer, type TargetServer } from '../support/servers/target-server.ts'

const ask: SafeFetchRequest = {
  method: 'GET',
  headers: {},
  maxBytes: 1000,
  deadlineMs: 10_000,
  redirects: 3,
  allowListed: true,
}
const v4 = (address: string) => ({ address, family: 4 })
const v6 = (address: string) => ({ address, family: 6 })

describe('addresses of hosts', () => {
  let server: DnsServer
  let target: TargetServer
  before(async () => {
    ;[server, target] = await Promise.all([startDnsServer(), startTargetServer()])
    target.on('/', json({}))
    server.set('both.example', 'A', ['192.0.2.1', '192.0.2.2'])
    server.set('both.example', 'AAAA', ['2001:db8:0:0:0:0:0:1'])
    server.set('four.example', 'A', ['192.0.2.3'])
    server.set('text.example', 'TXT', ['no address'])
    server.set('here.example', 'A', ['127.0.0.1'])
    server.fail('broken.example', 'SERVFAIL')
    server.fail('silent.example', 'SILENT')
  })
  after(() => Promise.all([server.close(), target.close()]))

  const dns = () => createDns({ servers: [server.address], deadlineMs: 300 })

  it('are those of both families, IPv4 first', async () => {
    const resolve = createResolve(dns())
    expect(await resolve('both.example')).to.have.deep.members([
      v4('192.0.2.1'),
      v4('192.0.2.2'),
      v6('2001:db8::1'),
    ])
    expect((await resolve('both.example')).map(({ family }) => family)).to.deep.equal([4, 4, 6])
    expect(await resolve('Four.Example.')).to.deep.equal([v4('192.0.2.3')])
  })

  it('are none where there are none, and a failure where nobody says so', async () => {
    const resolve = createResolve(dns())
    expect(await resolve('text.example')).to.deep.equal([])
    expect(await resolve('nowhere.example')).to.deep.equal([])
    expect(await rejection(resolve('broken.example'))).to.include({ code: 'ESERVFAIL' })
    expect(await rejection(resolve('silent.example'))).to.include({ code: 'ETIMEOUT' })
  })

  it('of localhost are this machine, whatever a name server says', async () => {
    server.set('a.localhost', 'A', ['192.0.2.9'])
    for (const name of ['localhost', 'LOCALHOST.', 'a.localhost'])
      expect(await createResolve(dns())(name), name).to.deep.equal([v4('127.0.0.1'), v6('::1')])
  })

  it('come from the system for names that only the machine knows, and only where that is allowed', async () => {
    const before = server.queries.length
    const found = await createLocalResolve(dns())('localhost')
    expect(found).to.deep.include(v4('127.0.0.1'))
    await createLocalResolve(dns())('no-such-machine').catch(() => undefined)
    expect(server.queries).to.have.length(before)
    await createResolve(dns())('no-such-machine')
    expect(await createLocalResolve(dns())('four.example')).to.deep.equal([v4('192.0.2.3')])
    expect(server.queries.slice(before).map(({ name }) => name)).to.include.members([
      'no-such-machine',
      'four.example',
    ])
  })

  it('come from the system two at a time, however many ask, so that files keep half of its threads', async () => {
    const names = Array.from({ length: 3 }, (_, i) => `no-such-machine-${i}`)
    const found = Promise.allSettled(names.map((name) => createLocalResolve(dns())(name)))
    // Microtasks only: none of them can have been answered yet.
    for (let i = 0; i < 100; i++) await undefined
    const running = process.getActiveResourcesInfo().filter((type) => type === 'GetAddrInfoReqWrap')
    expect(running).to.have.length(2)
    await found
  })

  it('are looked for 128 at a time, as many as webhooks have attempts, so that dead name servers hold up none', async () => {
    let asked = 0
    const resolve = createResolve({
      addresses: () => {
        asked += 1
        return new Promise(() => undefined)
      },
    })
    for (let i = 0; i < 200; i++) void resolve('dead.example')
    await new Promise((done) => setImmediate(done))
    expect(asked).to.equal(128)
  })

  it('are asked of the configured servers for calls', async () => {
    const safeFetch = createSafeFetch({ allowCidrs: ['127.0.0.0/8'], dnsServers: [server.address] })
    try {
      const url = `http://here.example:${target.port}/`
      expect((await safeFetch(url, ask)).status).to.equal(200)
      expect(await rejection(safeFetch(url, { ...ask, allowListed: false }))).to.include({ kind: 'blocked' })
    } finally {
      await safeFetch.close()
    }
  })

  it('of silent name servers hold up no other call, no look-up of the system, and end with the door', async () => {
    const safeFetch = createSafeFetch({
      allowCidrs: ['127.0.0.0/8', '::1/128'],
      dnsServers: [server.address],
    })
    for (let i = 0; i < 40; i++) server.fail(`slow${i}.example`, 'SILENT')
    const started = performance.now()
    const slow = Array.from({ length: 40 }, (_, i) =>
      rejection(safeFetch(`http://slow${i}.example/`, { ...ask, tier: 'open', allowListed: i % 2 === 0 })),
    )
    await lookup('localhost')
    expect((await safeFetch(`http://localhost:${target.port}/`, ask)).status).to.equal(200)
    expect((await safeFetch(`http://here.example:${target.port}/`, ask)).status).to.equal(200)
    expect(performance.now() - started).to.be.below(1000)
    await safeFetch.close()
    for (const error of await Promise.all(slow)) expect(error).to.include({ kind: 'unreachable' })
    expect(performance.now() - started).to.be.below(2500)
  })
})

describe('the tiers of outbound calls', () => {
  it('strangers who hold every connection to a server take none from those that pay', async () => {
    const target = await startTargetServer()
    const safeFetch = createSafeFetch({ allowCidrs: ['127.0.0.0/8'] })
    target.on('/silent', () => undefined)
    target.on('/', json({}))
    try {
      const crowd = Array.from({ length: 30 }, () =>
        rejection(safeFetch(`${target.url}/silent`, { ...ask, tier: 'open' })),
      )
      while (target.requests.length < 10) await new Promise((resolve) => setTimeout(resolve, 5))
      expect((await safeFetch(`${target.url}/`, { ...ask, deadlineMs: 1000 })).status).to.equal(200)
      await safeFetch.close()
      await Promise.all(crowd)
    } finally {
      await safeFetch.close()
      await target.close()
    }
  })
})
