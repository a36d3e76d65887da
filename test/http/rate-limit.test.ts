import { randomBytes, randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { Type } from 'typebox'
import type { TerminalCreated, TerminalToken } from '../../src/domain/terminals/schemas.ts'
import { addressBlock, createClientAddress } from '../../src/http/connections/client-address.ts'
import { STOPPED_LIMIT_PER_MINUTE, UNAUTHENTICATED_LIMIT_PER_MINUTE } from '../../src/http/rate-limit.ts'
import { type Auth, route } from '../../src/http/route.ts'
import { createLimits, type Limits } from '../../src/store/limits.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import type { RequestOptions } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { type HttpKit, keyAuthenticator, startHttpKit } from '../support/http-kit.ts'
import { createMigratedDatabase } from '../support/servers/scratch-database.ts'

const limited = (path: `/${string}`, auth: Auth, cost?: number) =>
  route({
    name: path,
    method: 'GET',
    path,
    auth,
    cost,
    tag: 'Test',
    summary: path,
    response: { 200: Type.Object({ ip: Type.String() }) },
    errors: [],
    handler: ({ ip }) => ({ ip }),
  })

const routes = [
  limited('/v1/one', 'key'),
  limited('/v1/five', 'key', 5),
  limited('/api/merchant/one', 'merchant'),
  limited('/v1/public', 'none'),
  limited('/health', 'none', 0),
  limited('/v1/free', 'key', 0),
  { ...limited('/pod/one', 'pod'), addressLimit: { requests: 3, windowSeconds: 3600 } },
  { ...limited('/domain/one', 'none'), addressLimit: { requests: 2, windowSeconds: 30 } },
]

describe('rate limits', () => {
  let kit: HttpKit
  beforeEach(async () => {
    const config = { rateLimits: true, rateLimitPerMinute: 10, trustProxy: ['127.0.0.1/32'] }
    kit = await startHttpKit(routes, { config })
  })
  afterEach(() => kit.close())

  const statuses = async (count: number, path: string, options?: RequestOptions) => {
    const seen: number[] = []
    for (let i = 0; i < count; i++) seen.push((await kit.request('GET', path, options)).status)
    return seen
  }

  it('headers count down, in both families, and never say more than is so', async () => {
    const first = await kit.request('GET', '/v1/one', { key: 'k-red' })
    const second = await kit.request('GET', '/v1/five', { key: 'k-red' })
    const read = (answer: typeof first) =>
      ['ratelimit-policy', 'ratelimit', 'x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) =>
        answer.headers.get(name),
      )
    expect(read(first)).to.deep.equal(['"default";q=10;w=60', '"default";r=9;t=60', '10', '9'])
    expect(read(second)[3]).to.equal('4')
    const reset = Number(first.headers.get('x-ratelimit-reset'))
    expect(reset - Date.now() / 1000).to.be.within(50, 62)
  })

  it('the call after the last is 429, with the same wait in header and body, and is reported', async () => {
    expect(await statuses(10, '/v1/one', { key: 'k-red' })).to.deep.equal(Array(10).fill(200))
    const { status, body, headers } = await kit.request('GET', '/v1/one', { key: 'k-red' })
    expect([status, body.error]).to.deep.equal([429, 'rate_limited'])
    expect(body.retry_after).to.be.within(1, 60)
    expect(headers.get('retry-after')).to.equal(String(body.retry_after))
    expect(headers.get('x-ratelimit-remaining')).to.equal('0')
    expect(kit.refusals).to.have.length(1)
    expect(kit.refusals[0]).to.include({ organisation: 'org_red', bucket: 'org:org_red', limit: 10 })
  })

  it('of a route’s own count addresses and windows of their own, and nothing else', async () => {
    const from = (address: string): RequestOptions => ({
      key: 'k-red',
      headers: { 'x-forwarded-for': address },
    })
    const first = await kit.request('GET', '/pod/one', from('192.0.2.1'))
    expect(first.headers.get('ratelimit-policy')).to.equal('"default";q=3;w=3600')
    expect(first.headers.get('ratelimit')).to.equal('"default";r=2;t=3600')
    expect(await statuses(3, '/pod/one', from('192.0.2.1'))).to.deep.equal([200, 200, 429])
    expect(await statuses(3, '/pod/one', from('192.0.2.2'))).to.deep.equal([200, 200, 200])
    expect(kit.refusals).to.have.length(1)
    expect(kit.refusals[0]).to.include({ organisation: 'org_red', bucket: '/pod/one:192.0.2.1', limit: 3 })
    const untouched = await kit.request('GET', '/v1/one', from('192.0.2.1'))
    expect(untouched.headers.get('x-ratelimit-remaining')).to.equal('9')
    expect(await statuses(3, '/domain/one', from('192.0.2.1'))).to.deep.equal([200, 200, 429])
    const open = await kit.request('GET', '/v1/public', from('192.0.2.1'))
    expect(open.headers.get('x-ratelimit-remaining')).to.equal(String(UNAUTHENTICATED_LIMIT_PER_MINUTE - 1))
  })

  it('organisations do not share a limit; one with its own setting has that one', async () => {
    await statuses(10, '/v1/one', { key: 'k-red' })
    expect(await statuses(1, '/v1/one', { key: 'k-blue' })).to.deep.equal([200])
    expect(await statuses(3, '/v1/one', { key: 'k-small' })).to.deep.equal([200, 200, 429])
  })

  it('terminal tokens are counted each for itself', async () => {
    await statuses(11, '/api/merchant/one', { key: 'k-red' })
    expect(await statuses(11, '/api/merchant/one', { key: 't-red' })).to.deep.equal([
      ...Array(10).fill(200),
      429,
    ])
    expect(await statuses(1, '/api/merchant/one', { key: 't-red2' })).to.deep.equal([200])
  })

  it('credentials that anybody can have are counted by address, and refused to no organisation', async () => {
    const from = (key: string, address: string): RequestOptions => ({
      key,
      headers: { 'x-forwarded-for': address },
    })
    const remaining = async (options: RequestOptions) =>
      Number((await kit.request('GET', '/v1/one', options)).headers.get('x-ratelimit-remaining'))
    const most = UNAUTHENTICATED_LIMIT_PER_MINUTE
    expect(await remaining(from('a-red', '192.0.2.1'))).to.equal(most - 1)
    expect(await remaining(from('a-blue', '192.0.2.1'))).to.equal(most - 2)
    expect(await remaining(from('a-red', '192.0.2.2'))).to.equal(most - 1)
    expect(await remaining(from('k-red', '192.0.2.1'))).to.equal(9)
    expect(await statuses(4, '/pod/one', from('a-red', '192.0.2.1'))).to.deep.equal([200, 200, 200, 429])
    expect(kit.refusals.map(({ organisation }) => organisation)).to.deep.equal([undefined])
  })

  it('routes of cost 0 are never counted and carry no headers', async () => {
    await statuses(11, '/v1/one', { key: 'k-red' })
    const { status, headers } = await kit.request('GET', '/v1/free', { key: 'k-red' })
    expect([status, headers.get('ratelimit')]).to.deep.equal([200, null])
    expect((await kit.request('GET', '/health')).headers.get('ratelimit')).to.equal(null)
  })

  it('public routes and refused credentials are counted by address', async () => {
    const from = (ip: string) => ({ headers: { 'x-forwarded-for': ip } })
    const remaining = async (path: string, ip: string) =>
      Number((await kit.request('GET', path, from(ip))).headers.get('x-ratelimit-remaining'))
    expect(await remaining('/v1/public', '203.0.113.1')).to.equal(UNAUTHENTICATED_LIMIT_PER_MINUTE - 1)
    expect(await remaining('/v1/one', '203.0.113.1')).to.equal(UNAUTHENTICATED_LIMIT_PER_MINUTE - 2)
    const both = { 'x-api-key': 'k-red', authorization: 'Bearer k-blue' }
    const { headers } = await kit.request('GET', '/v1/one', {
      headers: { ...both, 'x-forwarded-for': '203.0.113.1' },
    })
    expect(headers.get('x-ratelimit-remaining')).to.equal(String(UNAUTHENTICATED_LIMIT_PER_MINUTE - 3))
    expect(await remaining('/v1/public', '203.0.113.2')).to.equal(UNAUTHENTICATED_LIMIT_PER_MINUTE - 1)
    expect(await remaining('/v1/public', '2001:db8::1')).to.equal(UNAUTHENTICATED_LIMIT_PER_MINUTE - 1)
    expect(await remaining('/v1/public', '2001:db8::2')).to.equal(UNAUTHENTICATED_LIMIT_PER_MINUTE - 2)
  })

  it('RATE_LIMITS=off lifts them', async () => {
    const free = await startHttpKit(routes, { config: { rateLimits: false, rateLimitPerMinute: 1 } })
    try {
      for (let i = 0; i < 3; i++)
        expect((await free.request('GET', '/v1/one', { key: 'k-red' })).status).to.equal(200)
    } finally {
      await free.close()
    }
  })
})

describe('guesses of credentials', () => {
  const GUESSER = '192.0.2.1'
  const ELSEWHERE = '192.0.2.2'
  let kit: HttpKit
  /** Credentials that were looked up. */
  let lookedUp: (string | undefined)[]
  const start = async (limits?: Limits): Promise<void> => {
    lookedUp = []
    const config = { rateLimits: true, rateLimitPerMinute: 10_000, trustProxy: ['127.0.0.1/32'] }
    const key: typeof keyAuthenticator = (credentials, context) => {
      lookedUp.push(credentials.apiKey)
      return keyAuthenticator(credentials, context)
    }
    kit = await startHttpKit(routes, { config, limits, authenticators: { key } })
  }
  afterEach(() => kit.close())

  const ask = (key: string | undefined, ip: string, path = '/v1/one') =>
    kit.request('GET', path, { key, headers: { 'x-forwarded-for': ip } })
  const statusOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).status

  it('are not looked up beyond the limit of their address, where only what worked before still does', async () => {
    await start()
    expect(await statusOf('k-red', ELSEWHERE)).to.equal(200)
    const most = UNAUTHENTICATED_LIMIT_PER_MINUTE
    const refused: number[] = []
    for (let i = 0; i < most + 100; i++) refused.push(await statusOf(`guess ${i}`, GUESSER))
    expect(refused).to.deep.equal([...Array(most).fill(401), ...Array(100).fill(429)])
    // Beside the good one, and with the guess that was one too many.
    expect(lookedUp).to.have.length(1 + most + 1)

    const right = await ask('k-blue', GUESSER)
    expect([right.status, right.body.error]).to.deep.equal([429, 'rate_limited'])
    expect(right.headers.get('retry-after')).to.equal(String(right.body.retry_after))
    expect(right.headers.get('x-ratelimit-limit')).to.equal(String(most))
    expect(lookedUp).to.not.include('k-blue')
    expect(await statusOf('k-red', GUESSER)).to.equal(200)
    expect(await statusOf(undefined, GUESSER)).to.equal(429)
    expect(await statusOf('k-blue', ELSEWHERE)).to.equal(200)
    expect(await statusOf('k-blue', GUESSER)).to.equal(200)
    // What anybody can have does not become known.
    expect([await statusOf('a-red', ELSEWHERE), await statusOf('a-red', GUESSER)]).to.deep.equal([200, 429])
  })

  it('are looked up again once the window is over', async () => {
    const limits = createLimits()
    await start({
      consume: (bucket, points) => limits.consume(bucket, { ...points, limit: 2, windowSeconds: 2 }),
    })
    await eventually('a guess too many', async () => (await statusOf('guess', GUESSER)) === 429)
    expect(await statusOf('k-blue', GUESSER)).to.equal(429)
    await eventually('a key that was not known', async () => (await statusOf('k-blue', GUESSER)) === 200)
  })
})

describe('terminals behind the address of a guesser', () => {
  const GUESSER = '192.0.2.1'
  const from = (ip: string) => ({ 'x-forwarded-for': ip })
  let one: TestApp
  let other: TestApp | undefined
  before(async () => {
    const { DATABASE_URL, REDIS_URL } = process.env
    const adminKey = `admin-${randomUUID()}`
    const secrets = { MASTER_KEY: randomBytes(32).toString('hex'), ADMIN_API_KEY: adminKey }
    const env = { ...secrets, RATE_LIMITS: 'on', ...(REDIS_URL && { REDIS_URL }) }
    const database = DATABASE_URL ? await createMigratedDatabase(DATABASE_URL) : undefined
    one = await startTestApp({ env, database })
    other = database && (await startTestApp({ env, database: { ...database, drop: async () => undefined } }))
  })
  after(async () => {
    await other?.close()
    await one.close()
  })

  const upload = async (app: TestApp, bearer: string, ip = GUESSER): Promise<number> =>
    (
      await app.request('POST', '/api/merchant/transactions/sync', {
        ...{ bearer, headers: from(ip) },
        body: { transactions: [] },
      })
    ).status
  const guess = async (app: TestApp, count: number): Promise<number> => {
    let last = 0
    for (let i = 0; i < count; i++) last = await upload(app, `guess-${i}-${randomUUID()}`)
    return last
  }
  const till = async () => {
    const { apiKey } = await one.organisation()
    const { body } = await one.request<TerminalCreated>('POST', '/console/api/terminals', {
      key: apiKey,
      body: { label: 'till' },
    })
    const signIn = async (ip = GUESSER) => {
      const { terminalId, terminalSecret } = body
      const answer = await one.request<TerminalToken>('POST', '/api/merchant/terminals/authenticate', {
        ...{ bearer: body.apiKey, headers: from(ip) },
        body: { terminalId, terminalSecret },
      })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body.token
    }
    return { signIn }
  }

  it('work with the tokens that they are given, here and, a few in a minute, on other servers', async () => {
    const { signIn } = await till()
    const before = await signIn('192.0.2.2')
    const servers = other ? [one, other] : [one]
    for (const app of servers) expect(await guess(app, UNAUTHENTICATED_LIMIT_PER_MINUTE + 1)).to.equal(429)
    // Its key has worked before, and whatever that is given here works here.
    const token = await signIn()
    // More than what is looked up, all of it wrong.
    let wrong = 0
    for (let i = 0; i <= STOPPED_LIMIT_PER_MINUTE; i++)
      wrong = await upload(one, `mt_${randomBytes(22).toString('hex').slice(0, 43)}`)
    expect(wrong).to.equal(429)
    expect(await upload(one, token)).to.equal(200)
    expect(await upload(one, before, '192.0.2.2')).to.equal(200)
  })

  it('work on a server to which their tokens are new', async function () {
    if (other === undefined) return this.skip()
    const { signIn } = await till()
    const token = await signIn('192.0.2.2')
    // Of another address, so that none of its small limit is used.
    const ip = '192.0.2.9'
    for (let i = 0; i <= UNAUTHENTICATED_LIMIT_PER_MINUTE; i++) await upload(other, `guess-${i}`, ip)
    expect(await upload(other, 'guess', ip)).to.equal(429)
    expect(await upload(other, token, ip)).to.equal(200)
  })
})

describe('client address', () => {
  it('X-Forwarded-For counts only as far as trusted proxies vouch for it', () => {
    const from = (trusted: readonly string[]) => {
      const clientAddress = createClientAddress(trusted)
      return (remoteAddress: string | undefined, forwardedFor?: string) =>
        clientAddress({
          socket: { remoteAddress } as Socket,
          headers: { ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor }) },
        })
    }
    const untrusting = from([])
    expect(untrusting('::ffff:10.0.0.1', '1.1.1.1')).to.equal('10.0.0.1')
    const behindProxy = from(['10.0.0.0/8', '2001:db8:ffff::/48', '192.0.2.7'])
    for (const [peer, forwardedFor, client] of [
      ['10.0.0.1', '1.1.1.1', '1.1.1.1'],
      ['192.0.2.7', '1.1.1.1', '1.1.1.1'],
      ['192.0.2.8', '1.1.1.1', '192.0.2.8'],
      ['::ffff:10.0.0.1', '::ffff:1.1.1.1', '1.1.1.1'],
      ['10.0.0.1', '6.6.6.6, 1.1.1.1, 10.2.0.1', '1.1.1.1'],
      ['2001:db8:ffff::1', '2001:db8::7', '2001:db8::7'],
      ['9.9.9.9', '1.1.1.1', '9.9.9.9'],
      ['10.0.0.1', 'not an address', '10.0.0.1'],
      ['10.0.0.1', '1.1.1.1, unknown, 10.2.0.1', '10.2.0.1'],
      // These would be trusted addresses to those who read every notation.
      ['10.0.0.1', '1.1.1.1, 0x0a.1', '10.0.0.1'],
      ['10.0.0.1', '1.1.1.1, 167772161', '10.0.0.1'],
      // With the port that the client sends from.
      ['10.0.0.1', '1.1.1.1:51234', '1.1.1.1'],
      ['10.0.0.1', '6.6.6.6:1, 1.1.1.1:65535, 10.2.0.1:443', '1.1.1.1'],
      ['10.0.0.1', '[2001:db8::7]:51234, [2001:DB8:FFFF::1]:443', '2001:db8::7'],
      ['10.0.0.1', '[::ffff:1.1.1.1]:51234', '1.1.1.1'],
      ...[
        '1.1.1.1:',
        '1.1.1.1:65536',
        '1.1.1.1:000080',
        '1.1.1.1:80:80',
        '1.1.1.1:http',
        '1.1.1:80',
        '0x0a.1:80',
        '167772161:80',
        ':80',
        '[1.1.1.1]:80',
        '[2001:db8::7]',
        '[2001:db8::7]:',
        '[2001:db8::7]80',
        '[[2001:db8::7]]:80',
        '[2001:db8::7:80',
        '2001:db8::7]:80',
        'a[2001:db8::7]:80',
        '[]:80',
      ].map((odd) => ['10.0.0.1', `1.1.1.1, ${odd}`, '10.0.0.1'] as const),
      ['10.0.0.1', '', '10.0.0.1'],
      ['10.0.0.1', undefined, '10.0.0.1'],
      [undefined, '1.1.1.1', ''],
    ] as const)
      expect(behindProxy(peer, forwardedFor), `${peer} < ${forwardedFor}`).to.equal(client)
    for (const everybody of ['0.0.0.0/0', '::/0'])
      expect(from([everybody])('9.9.9.9', '1.1.1.1'), everybody).to.equal('1.1.1.1')
    for (const zone of ['eth0', 'eth0.1', 'br-lan'])
      expect(from(['fe80::/10'])(`fe80::1%${zone}`, '1.1.1.1'), zone).to.equal('1.1.1.1')
    expect(() => createClientAddress(['localhost'])).to.throw('localhost')
  })

  it('an IPv6 address counts with its whole /64, however it is written', () => {
    const block = '2001:db8:0:1::/64'
    for (const ip of ['2001:db8:0:1::1', '2001:0db8:0000:0001:ffff:ffff:ffff:ffff', '2001:db8:0:1:2:3:4:5']) {
      expect(addressBlock(ip), ip).to.equal(block)
    }
    for (const zone of ['eth0', 'eth0.1', 'br-lan'])
      expect(addressBlock(`fe80::1%${zone}`), zone).to.equal('fe80:0:0:0::/64')
    expect(addressBlock('::1')).to.equal('0:0:0:0::/64')
    expect(addressBlock('192.0.2.1')).to.equal('192.0.2.1')
  })
})
