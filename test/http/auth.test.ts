import { once } from 'node:events'
import { get as httpGet } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { Type } from 'typebox'
import type { Scope } from '../../src/caller.ts'
import { type Auth, type Method, route } from '../../src/http/route.ts'
import type { RequestOptions } from '../support/client.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const who = (path: `/${string}`, auth: Auth, method: Method = 'GET', scope?: Scope) =>
  route({
    name: `${method}${path}`,
    method,
    path,
    auth,
    scope,
    tag: 'Test',
    summary: path,
    response: {
      200: Type.Object({ organisation: Type.Union([Type.String(), Type.Null()]), requestId: Type.String() }),
    },
    errors: [],
    handler: ({ caller, requestId }) => ({ organisation: caller?.organisation ?? null, requestId }),
  })

describe('authentication', () => {
  let kit: HttpKit
  before(async () => {
    kit = await startHttpKit([
      who('/v1/public', 'none'),
      who('/v1/closed', 'key'),
      who('/v1/scoped', 'key', 'GET', 'verify'),
      who('/v1/admin', 'key', 'GET', 'admin'),
      who('/console/api/me', 'console'),
      who('/console/api/me', 'console', 'POST'),
      who('/pod/closed', 'key'),
    ])
  })
  after(() => kit.close())

  const get = (path: string, headers?: RequestOptions['headers']) => kit.request('GET', path, { headers })

  it('a key is taken from X-API-Key and from Authorization alike', async () => {
    for (const headers of [
      { 'x-api-key': 'k-red' },
      { authorization: 'Bearer k-red' },
      { authorization: 'bearer  k-red' },
    ]) {
      const { status, body } = await get('/v1/closed', headers)
      expect([status, body.organisation]).to.deep.equal([200, 'org_red'])
    }
    expect(
      (await get('/v1/closed', { 'x-api-key': 'k-red', authorization: 'Bearer k-red' })).status,
    ).to.equal(200)
  })

  it('two different credentials are refused as ambiguous, even if both are good', async () => {
    const { status, body } = await get('/v1/closed', { 'x-api-key': 'k-red', authorization: 'Bearer k-blue' })
    expect([status, body.error]).to.deep.equal([400, 'ambiguous_credentials'])
  })

  it('two Authorization fields are refused as ambiguous, unless they are the same', async () => {
    const twice = async (...values: readonly string[]) => {
      const headers = ['Host', 'localhost', ...values.flatMap((value) => ['authorization', value])]
      const [response] = await once(httpGet(`${kit.url}/v1/closed`, { headers }), 'response')
      const body = await json(response)
      return [response.statusCode, (body as { error?: string }).error]
    }
    const refused = [400, 'ambiguous_credentials']
    expect(await twice('Bearer k-red', 'Bearer k-blue')).to.deep.equal(refused)
    expect(await twice('Bearer k-red', 'Bearer k-red', 'Basic abc')).to.deep.equal(refused)
    expect(await twice('Bearer k-red', 'Bearer k-red')).to.deep.equal([200, undefined])
  })

  it('no, an unknown or a malformed credential is 401 with WWW-Authenticate', async () => {
    const bad = [
      {},
      { 'x-api-key': 'wrong' },
      { authorization: 'Basic abc' },
      { authorization: 'Bearer' },
      { 'x-api-key': `k-${'x'.repeat(600)}` },
    ]
    for (const headers of bad) {
      const answer = await get('/v1/closed', headers)
      expect([answer.status, answer.body.error], JSON.stringify(headers)).to.deep.equal([401, 'unauthorized'])
      expect(answer.headers.get('www-authenticate')).to.match(/^Bearer realm="assay"/)
    }
    expect((await get('/pod/closed')).body).to.include({ success: false, error: 'unauthorized' })
  })

  it('public routes ignore credentials, good or bad', async () => {
    for (const headers of [
      {},
      { 'x-api-key': 'wrong' },
      { authorization: 'Basic x' },
      { 'x-api-key': 'a', authorization: 'Bearer b' },
    ]) {
      const { status, body } = await get('/v1/public', headers)
      expect([status, body.organisation]).to.deep.equal([200, null])
    }
  })

  it('a credential without the scope of the route is 403', async () => {
    expect((await get('/v1/scoped', { 'x-api-key': 'k-red' })).status).to.equal(200)
    const { status, body } = await get('/v1/admin', { 'x-api-key': 'k-red' })
    expect([status, body.error]).to.deep.equal([403, 'insufficient_scope'])
    expect(body.message).to.include('"admin"')
  })

  it('a session cookie counts on console routes only, and beside a key the key counts', async () => {
    const cookie = 'other=1; assay_session=s-red; last=2'
    expect((await get('/console/api/me', { cookie })).body.organisation).to.equal('org_red')
    expect((await get('/console/api/me', { cookie: 'xassay_session=s-red' })).status).to.equal(401)
    expect((await get('/v1/closed', { cookie })).status).to.equal(401)
    expect((await get('/console/api/me', { cookie, 'x-api-key': 'k-blue' })).body.organisation).to.equal(
      'org_blue',
    )
  })

  it('the authenticator sees the CSRF token and the method', async () => {
    const cookie = 'assay_session=s-red'
    const post = (headers: Record<string, string>) =>
      kit.request('POST', '/console/api/me', { headers: { cookie, ...headers } })
    expect((await post({})).body.error).to.equal('csrf_required')
    expect((await post({ 'x-csrf-token': 'csrf-red' })).status).to.equal(200)
  })
})
