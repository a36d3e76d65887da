/** DNS questions against a real server: what is an answer, and what is a fault. */
import { expect } from 'chai'
import { createDns, type Dns, DnsError } from '../../src/net/dns.ts'
import { rejection } from '../support/rejection.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'

describe('DNS', () => {
  let server: DnsServer
  let dns: Dns
  before(async () => {
    server = await startDnsServer()
    dns = createDns({ servers: [server.address] })
  })
  after(() => server.close())

  it('follows a chain of CNAMEs to its end, in lower case and without trailing dots', async () => {
    server.set('www.chain.example', 'CNAME', ['Edge.CDN.example'])
    server.set('edge.cdn.example', 'CNAME', ['pop7.cdn.example'])
    server.set('pop7.cdn.example', 'A', ['192.0.2.7'])
    expect(await dns.cnameChain('WWW.chain.example.')).to.deep.equal(['edge.cdn.example', 'pop7.cdn.example'])
  })

  it('ends a loop before the first repeated name', async () => {
    server.set('a.loop.example', 'CNAME', ['b.loop.example'])
    server.set('b.loop.example', 'CNAME', ['c.loop.example'])
    server.set('c.loop.example', 'CNAME', ['b.loop.example'])
    server.set('self.loop.example', 'CNAME', ['self.loop.example'])
    expect(await dns.cnameChain('a.loop.example')).to.deep.equal(['b.loop.example', 'c.loop.example'])
    expect(await dns.cnameChain('self.loop.example')).to.deep.equal([])
  })

  it('follows ten links and no more', async () => {
    for (let link = 0; link < 12; link++) {
      server.set(`l${link}.long.example`, 'CNAME', [`l${link + 1}.long.example`])
    }
    const chain = await dns.cnameChain('l0.long.example')
    expect(chain).to.have.length(10)
    expect(chain.at(-1)).to.equal('l10.long.example')
    expect(server.queries.filter(({ name }) => name.endsWith('long.example'))).to.have.length(10)
  })

  it('takes an unknown name and a name without such records for an empty answer', async () => {
    server.set('other.example', 'A', ['192.0.2.1'])
    for (const name of ['nowhere.example', 'other.example']) {
      expect(await dns.cnameChain(name)).to.deep.equal([])
      expect(await dns.txt(name)).to.deep.equal([])
    }
  })

  it('reads every TXT record, whatever its case and blanks', async () => {
    server.set('_verify.example', 'TXT', ['assay-pod=Pod_1', ' two words '])
    expect(await dns.txt('_verify.example')).to.have.members(['assay-pod=Pod_1', ' two words '])
  })

  for (const [fault, code] of [
    ['SERVFAIL', 'ESERVFAIL'],
    ['REFUSED', 'EREFUSED'],
    ['SILENT', 'ETIMEOUT'],
  ] as const) {
    it(`throws when the server answers ${fault}, at any link`, async () => {
      server.set('head.fault.example', 'CNAME', ['tail.fault.example'])
      server.fail('tail.fault.example', fault)
      const [chain, txt] = await Promise.all([
        rejection(dns.cnameChain('head.fault.example')),
        rejection(dns.txt('tail.fault.example')),
      ])
      server.fail('tail.fault.example', undefined)
      for (const error of [chain, txt]) {
        expect(error).to.be.instanceOf(DnsError)
        expect(error).to.have.property('code', code)
      }
    })
  }

  it('ends a look at its deadline, however many slow links the chain has', async () => {
    for (let link = 0; link < 9; link++) {
      server.set(`l${link}.slow.example`, 'CNAME', [`l${link + 1}.slow.example`])
      server.delay(`l${link}.slow.example`, 100)
    }
    const hasty = createDns({ servers: [server.address], deadlineMs: 350 })
    expect(await rejection(hasty.cnameChain('l0.slow.example'))).to.include({ code: 'ETIMEOUT' })
    const asked = server.queries.filter(({ name }) => name.endsWith('slow.example'))
    expect(asked.length).to.be.lessThan(5)
  })

  it('ends what is under way when it is closed, and asks nothing more', async () => {
    const closing = createDns({ servers: [server.address] })
    server.fail('silent.example', 'SILENT')
    const looks = [closing.cnameChain('silent.example'), closing.txt('silent.example')].map(rejection)
    closing.close()
    for (const error of await Promise.all(looks))
      expect(error).to.be.instanceOf(DnsError).with.property('code', 'ECANCELLED')
    const asked = server.queries.length
    expect(await rejection(closing.txt('later.example'))).to.include({ code: 'ECANCELLED' })
    expect(server.queries.length).to.equal(asked)
  })

  it('throws when nobody listens', async () => {
    const gone = await startDnsServer()
    await gone.close()
    const lost = createDns({ servers: [gone.address] })
    expect(await rejection(lost.txt('any.example'))).to.be.instanceOf(DnsError)
  })
})
