import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type TObject, Type } from 'typebox'
import type { Idempotency } from '../../src/caller.ts'
import { AppError, type ErrorCode } from '../../src/errors.ts'
import { type Method, Reply, route } from '../../src/http/route.ts'
import { sharedApp, startTestApp, type TestApp } from '../support/app.ts'
import { signIn } from '../support/domain/accounts.ts'
import { addMember, openTeam } from '../support/domain/team.ts'
import { tokenRoutesOf } from '../support/domain/tokens.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'
import { createMigratedDatabase } from '../support/servers/scratch-database.ts'

/** Tells what the ledger would see, and plays its part: a body that says so counts as replayed. */
const tell = (method: Method, path: `/${string}`, query?: TObject) =>
  route({
    name: `${method}${path}`,
    method,
    path,
    auth: 'key',
    tag: 'Test',
    summary: path,
    query,
    body: Type.Object({ replay: Type.Optional(Type.Boolean()), text: Type.Optional(Type.String()) }),
    response: { 200: Type.Object({ idempotency: Type.Unknown() }) },
    errors: [],
    handler: ({ caller, body }) => {
      if (caller.idempotency && body.replay) caller.idempotency.replayed = true
      return { idempotency: caller.idempotency ?? null }
    },
  })

const posting = (
  path: `/${string}`,
  handler: () => { made: string },
  more: { commitsInSteps?: true; errors?: ErrorCode[] } = {},
) =>
  route({
    name: path,
    method: 'POST',
    path,
    auth: 'key',
    tag: 'Test',
    summary: path,
    body: Type.Object({}),
    response: { 201: Type.Object({ made: Type.String() }) },
    errors: [],
    ...more,
    handler,
  })

const steps = { handled: 0 }
const make = (path: `/${string}`, more?: { commitsInSteps: true }) =>
  posting(
    path,
    () => {
      steps.handled++
      return { made: 'now' }
    },
    more,
  )

/** Asks somebody who takes their time, before anything comes to the ledger. */
const asking = { asked: 0, answer: () => {} }
const askSomebody = route({
  name: 'ask',
  method: 'POST',
  path: '/v1/ask',
  auth: 'key',
  tag: 'Test',
  summary: 'ask',
  body: Type.Object({}),
  response: { 200: Type.Object({ asked: Type.Integer() }) },
  errors: [],
  handler: async () => {
    asking.asked++
    await new Promise<void>((resolve) => {
      asking.answer = resolve
    })
    return { asked: asking.asked }
  },
})

/** As a route may have become since an answer was stored: nothing that was sent then would be taken now. */
const strict = route({
  name: 'strict',
  method: 'POST',
  path: '/v1/strict/{thing}',
  auth: 'key',
  tag: 'Test',
  summary: 'strict',
  params: Type.Object({ thing: Type.String({ pattern: '^[0-9]+$' }) }),
  query: Type.Object({ size: Type.Integer() }),
  body: Type.Object({ text: Type.String() }),
  response: { 201: Type.Object({ made: Type.String() }) },
  errors: [],
  handler: () => new Reply(201, { made: 'now' }),
})

/** Sees what the same request does on another server in the meantime, and refuses it for that. */
const elsewhere = { hasCommitted: false }
const refuse = (path: `/${string}`, code: ErrorCode, more?: { commitsInSteps: true }) =>
  posting(
    path,
    () => {
      elsewhere.hasCommitted = true
      throw new AppError(code)
    },
    { ...more, errors: [code] },
  )

/** What the store would hold for these values of the header. */
const storedKey = (value: string, path: string): string =>
  createHash('sha256')
    .update(JSON.stringify(['key_org_red', 'POST', path, value]))
    .digest('hex')
const REFUSED = ['/v1/refused', '/v1/refused-in-steps', '/v1/unavailable'] as const
const findAnswer = async ({ key }: Idempotency) => {
  if (key === storedKey('reused', '/v1/made')) throw new AppError('idempotency_key_reused')
  const paths = ['/v1/made', '/v1/made-in-steps', '/v1/strict/1', '/v1/strict/one']
  const isStored =
    paths.some((path) => key === storedKey('stored', path)) ||
    (elsewhere.hasCommitted && REFUSED.some((path) => key === storedKey('overtaken', path)))
  return isStored ? { answer: { made: 'stored' } } : undefined
}

describe('Idempotency-Key', () => {
  let kit: HttpKit
  before(async () => {
    const routes = [
      tell('POST', '/v1/things'),
      tell('PATCH', '/v1/things'),
      tell('PUT', '/v1/things'),
      tell('POST', '/v1/others/{otherId}'),
      tell('POST', '/v1/asked', Type.Object({ prepare: Type.Optional(Type.String()) })),
      make('/v1/made'),
      make('/v1/made-in-steps', { commitsInSteps: true }),
      strict,
      askSomebody,
      refuse(REFUSED[0], 'conflict'),
      refuse(REFUSED[1], 'conflict', { commitsInSteps: true }),
      refuse(REFUSED[2], 'unavailable'),
    ]
    kit = await startHttpKit(routes, { findAnswer })
  })
  after(() => kit.close())

  const ask = async (
    method: string,
    path: string,
    key: string,
    idempotencyKey?: string,
    body: unknown = '{}',
  ) => {
    const answer = await kit.request(method, path, {
      key,
      body,
      headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
    })
    return { ...answer, seen: answer.body.idempotency as Idempotency | null }
  }

  it('is bound to credential, method, path and value, and to nothing else', async () => {
    const base = (await ask('POST', '/v1/things', 'k-red', 'a')).seen
    expect(base?.key).to.match(/^[0-9a-f]{64}$/)
    expect((await ask('POST', '/v1/things', 'k-red', 'a', '{ }')).seen?.key).to.equal(base?.key)
    const others = [
      await ask('POST', '/v1/things', 'k-blue', 'a'),
      await ask('PATCH', '/v1/things', 'k-red', 'a'),
      await ask('POST', '/v1/others/1', 'k-red', 'a'),
      await ask('POST', '/v1/others/2', 'k-red', 'a'),
      await ask('POST', '/v1/things', 'k-red', 'b'),
    ]
    expect(new Set([base, ...others.map((other) => other.seen)].map((seen) => seen?.key)).size).to.equal(6)
  })

  it('carries a hash of the raw body that takes a secret, and that no other request has', async () => {
    const body = '{ "text": "é" }'
    const hashOf = async (key: string, sent = body) =>
      (await ask('POST', '/v1/things', 'k-red', key, sent)).seen?.requestHash
    const hash = await hashOf('a')
    expect(hash).to.match(/^[0-9a-f]{64}$/)
    expect(hash).not.to.equal(createHash('sha256').update(body).digest('hex'))
    expect(await hashOf('a')).to.equal(hash)
    expect(await hashOf('a', '{ "text": "e" }')).not.to.equal(hash)
    expect(await hashOf('b')).not.to.equal(hash)
  })

  it('is bound to the query, since it can ask for something else', async () => {
    const hashOf = async (query: string) => {
      const { status, body } = await ask('POST', `/v1/asked${query}`, 'k-red', 'a')
      expect(status).to.equal(200)
      return (body.idempotency as Idempotency).requestHash
    }
    expect(await hashOf('?prepare=1')).to.equal(await hashOf('?prepare=1'))
    expect(
      new Set([await hashOf(''), await hashOf('?prepare=1'), await hashOf('?prepare=2')]),
    ).to.have.property('size', 3)
  })

  it('lets nobody ask twice while the first request runs, and is free again after it', async () => {
    const first = ask('POST', '/v1/ask', 'k-red', 'slow')
    while (asking.asked === 0) await new Promise(setImmediate)
    const second = await ask('POST', '/v1/ask', 'k-red', 'slow')
    expect([second.status, second.body.error]).to.deep.equal([409, 'idempotency_in_flight'])
    asking.answer()
    expect((await first).body).to.deep.equal({ asked: 1 })
    const third = ask('POST', '/v1/ask', 'k-red', 'slow')
    while (asking.asked === 1) await new Promise(setImmediate)
    asking.answer()
    expect((await third).body).to.deep.equal({ asked: 2 })
  })

  it('finds a stored answer before the handler runs, with the status and schema of the route', async () => {
    const { handled } = steps
    const replayed = await ask('POST', '/v1/made', 'k-red', 'stored')
    expect([replayed.status, replayed.headers.get('idempotency-replayed')]).to.deep.equal([201, 'true'])
    expect(replayed.body).to.deep.equal({ made: 'stored' })
    expect(steps.handled).to.equal(handled)
    for (const fresh of [
      await ask('POST', '/v1/made', 'k-red', 'new'),
      await ask('POST', '/v1/made', 'k-red'),
    ]) {
      expect([fresh.status, fresh.headers.get('idempotency-replayed')]).to.deep.equal([201, null])
      expect(fresh.body).to.deep.equal({ made: 'now' })
    }
    const refused = await ask('POST', '/v1/made', 'k-red', 'reused')
    expect([refused.status, refused.body.error]).to.deep.equal([422, 'idempotency_key_reused'])
    expect(steps.handled).to.equal(handled + 2)
  })

  for (const [what, path, body] of [
    ['path', '/v1/strict/one?size=1', '{"text":"a"}'],
    ['query', '/v1/strict/1?size=large', '{"text":"a"}'],
    ['query without what it needs', '/v1/strict/1', '{"text":"a"}'],
    ['query with an unknown parameter', '/v1/strict/1?size=1&colour=red', '{"text":"a"}'],
    ['body', '/v1/strict/1?size=1', '{"text":1}'],
    ['body with an unknown member', '/v1/strict/1?size=1', '{"text":"a","colour":"red"}'],
    ['body that is no JSON', '/v1/strict/1?size=1', '{'],
  ] as const)
    it(`finds a stored answer before a ${what} is refused`, async () => {
      const stored = await ask('POST', path, 'k-red', 'stored', body)
      expect([stored.status, stored.body]).to.deep.equal([201, { made: 'stored' }])
      const fresh = await ask('POST', path, 'k-red', 'new', body)
      expect(fresh.status).to.be.within(400, 422)
    })

  it('finds an answer that another server stored while the handler came to refuse the request', async () => {
    const of = async (path: string, key?: string) => {
      elsewhere.hasCommitted = false
      const { status, headers, body } = await ask('POST', path, 'k-red', key)
      return [status, headers.get('idempotency-replayed'), body.made ?? body.error]
    }
    expect(await of('/v1/refused', 'overtaken')).to.deep.equal([201, 'true', 'stored'])
    expect(await of('/v1/refused', 'new')).to.deep.equal([409, null, 'conflict'])
    expect(await of('/v1/refused')).to.deep.equal([409, null, 'conflict'])
    expect(await of('/v1/refused-in-steps', 'overtaken')).to.deep.equal([409, null, 'conflict'])
    expect(await of('/v1/unavailable', 'overtaken')).to.deep.equal([503, null, 'unavailable'])
  })

  it('is left to a handler that commits in steps', async () => {
    const { body } = await ask('POST', '/v1/made-in-steps', 'k-red', 'stored')
    expect(body).to.deep.equal({ made: 'now' })
  })

  it('counts on POST and PATCH only, and only when it is sent', async () => {
    expect((await ask('PUT', '/v1/things', 'k-red', 'a')).seen).to.equal(null)
    expect((await ask('POST', '/v1/things', 'k-red')).seen).to.equal(null)
  })

  it('must be 1 to 255 visible ASCII characters', async () => {
    for (const bad of ['', 'a b', 'a'.repeat(256), 'caf\u00e9']) {
      const { status, body } = await ask('POST', '/v1/things', 'k-red', bad)
      expect([status, body.error], bad).to.deep.equal([422, 'invalid_idempotency_key'])
    }
    expect((await ask('POST', '/v1/things', 'k-red', 'a'.repeat(255))).status).to.equal(200)
  })

  it('a replayed answer says so', async () => {
    expect(
      (await ask('POST', '/v1/things', 'k-red', 'a', '{"replay":true}')).headers.get('idempotency-replayed'),
    ).to.equal('true')
    expect((await ask('POST', '/v1/things', 'k-red', 'a')).headers.get('idempotency-replayed')).to.equal(null)
  })
})

describe('Idempotency-Key through the whole service', () => {
  it('a repeated request gets the first answer, once-shown secret included; another body is refused', async () => {
    const app = await sharedApp()
    const { apiKey } = await app.organisation()
    const headers = { 'idempotency-key': 'make-a-key-1' }
    const make = (label: string) =>
      app.request<Record<string, unknown>>('POST', '/v1/api-keys', { key: apiKey, headers, body: { label } })
    const first = await make('till')
    const again = await make('till')
    expect([first.status, again.status]).to.deep.equal([201, 201])
    expect(again.body).to.deep.equal(first.body)
    expect(first.headers.get('idempotency-replayed')).to.equal(null)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    const other = await make('another till')
    expect([other.status, other.body.error]).to.deep.equal([422, 'idempotency_key_reused'])
    const { body } = await app.request<{ keys: { label: string }[] }>('GET', '/console/api/keys', {
      key: apiKey,
    })
    expect(body.keys.filter(({ label }) => label === 'till')).to.have.length(1)
  })

  it('gets the answer of another server that was committed since this one looked for it', async function () {
    const { DATABASE_URL } = process.env
    if (!DATABASE_URL) return this.skip()
    const database = await createMigratedDatabase(DATABASE_URL)
    const env = { MASTER_KEY: randomBytes(32).toString('hex'), ADMIN_API_KEY: `admin-${randomUUID()}` }
    const one = await startTestApp({ database, env })
    const other = await startTestApp({ database: { ...database, drop: async () => undefined }, env })
    try {
      const { apiKey } = await one.organisation()
      const { token } = await tokenRoutesOf(one, apiKey).issued({ singleUse: true })
      const consume = (app: TestApp) =>
        tokenRoutesOf(app, apiKey).validate({ token, consume: true }, { 'idempotency-key': 'gate' })
      const { idempotency } = other.services
      const { findAnswer } = idempotency
      let first: Awaited<ReturnType<typeof consume>> | undefined
      Object.assign(idempotency, {
        async findAnswer(asked: Idempotency) {
          const found = await findAnswer(asked)
          first ??= await consume(one)
          return found
        },
      })
      const late = await consume(other)
      expect([first?.status, first?.body.consumed]).to.deep.equal([200, true])
      expect([late.status, late.headers.get('idempotency-replayed')]).to.deep.equal([200, 'true'])
      expect(late.body).to.deep.equal(first?.body)
    } finally {
      await other.close()
      await one.close()
    }
  })

  it('is that of an account in all its sessions, and not of another member', async () => {
    const app = await sharedApp()
    const { owner } = await openTeam(app)
    const second = await addMember(app, owner, 'owner')
    const make = async (account: { email: string; password: string }) => {
      const { headers } = await signIn(app, account)
      const { status, body } = await app.request<{ keyId: string }>('POST', '/console/api/keys', {
        headers: { ...headers, 'idempotency-key': 'make-a-key-2' },
        body: { label: 'till' },
      })
      expect(status).to.equal(201)
      return body.keyId
    }
    const first = await make(owner)
    expect(await make(owner)).to.equal(first)
    expect(await make(second)).to.not.equal(first)
  })
})
