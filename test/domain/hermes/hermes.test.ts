/** Hermes through the real app: who may ask, what is answered, and what an answer lets others check. */
import { createHash, createHmac } from 'node:crypto'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { compactVerify, createRemoteJWKSet, importJWK, type JSONWebKeySet } from 'jose'
import type { TypedAnswer } from '../../../src/domain/hermes/schemas.ts'
import type { ProxyCreated, ProxyRoute } from '../../../src/domain/hermes/schemas-proxies.ts'
import type { Usage } from '../../../src/domain/usage/schemas.ts'
import { decodeZk1, proofDigest } from '../../../src/protocol/zk1.ts'
import { contextElement, encodeValue, scopeElement } from '../../../src/rules/encode.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ask, askByQuery, createProxy, MEMBERS, sharedTarget, USER_ID } from '../../support/domain/hermes.ts'
import { json, type TargetServer } from '../../support/servers/target-server.ts'
import { freeOrganisation, setSubscription } from '../../support/verification.ts'

const hmac = (key: string | Uint8Array, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

const openRoute = async (app: TestApp, path = '/members'): Promise<ProxyCreated> =>
  createProxy(app, { destinationUrl: (await sharedTarget()).url + path }, app.adminKey)

describe('hermes', () => {
  let app: TestApp
  let target: TargetServer
  before(async () => {
    // Targets of tests are on this machine, where routes of organisations may not go otherwise.
    app = await startTestApp({ env: { EGRESS_OPEN_PROXY: 'on' } })
    target = await sharedTarget()
  })
  after(() => app.close())

  describe('a verdict', () => {
    let route: ProxyCreated
    before(async () => {
      route = await openRoute(app)
    })
    const verdict = async (body: object) => (await ask(app, route.slug, body)).body.verdict
    const byQuery = async (query: string) => (await askByQuery(app, route.slug, query)).body.verdict

    it('is YES if one object satisfies every criterion', async () => {
      expect(await verdict({ name: 'Ada', status: 'active' })).to.equal('YES')
      expect(await byQuery('name=Ada&age=36')).to.equal('YES')
    })

    it('is NO if only two objects together would', async () => {
      expect(await verdict({ name: 'Ada', status: 'inactive' })).to.equal('NO')
      expect(await byQuery('name=Ada&status=inactive')).to.equal('NO')
    })

    it('takes values as they are typed in a body, and as they are written in a query', async () => {
      expect(await verdict({ age: '36' })).to.equal('NO')
      expect(await byQuery('age=36')).to.equal('YES')
    })

    it('has five fields when asked by query, and a zero-knowledge proof besides when asked by body', async () => {
      const five = ['verdict', 'timestamp', 'jws', 'signature', 'proof']
      expect((await askByQuery(app, route.slug, 'name=Ada')).body).to.have.all.keys(five)
      expect((await ask(app, route.slug, { name: 'Ada' })).body).to.have.all.keys(
        ...five,
        'proofId',
        'zkProof',
      )
    })

    it('never shows data of the target', async () => {
      const { body } = await ask(app, route.slug, { name: 'Ada' })
      const shown = JSON.stringify([body, Buffer.from(body.jws.split('.')[1] ?? '', 'base64url').toString()])
      for (const text of ['inactive', 'members', 'address', target.url]) expect(shown).not.to.include(text)
    })

    it('is asked of the target with GET, and with nothing of the asker', async () => {
      const before = target.requests.length
      await ask(
        app,
        route.slug,
        { name: 'Ada' },
        { headers: { cookie: 'a=b', 'x-own': '1', 'accept-language': 'fr' } },
      )
      const [request] = target.requests.slice(before)
      expect(request).to.deep.include({ method: 'GET', path: '/members' })
      expect(request?.body).to.have.length(0)
      expect(request?.headers).to.have.all.keys(
        'host',
        'connection',
        'accept',
        'user-agent',
        'accept-encoding',
      )
    })

    it('refuses to answer nothing', async () => {
      expect((await ask(app, route.slug, {})).body).to.include({ error: 'criteria_required' })
      expect((await askByQuery(app, route.slug, '')).body).to.include({ error: 'criteria_required' })
      expect((await askByQuery(app, route.slug, 'id=1&id=2')).status).to.equal(400)
      expect((await ask(app, route.slug, '{"n": 9007199254740993}' as never)).body).to.include({
        error: 'number_not_exact',
      })
    })
  })

  describe('an id', () => {
    const body = { id: 'a/b c', name: 'Ada' }
    let route: ProxyCreated
    before(async () => {
      target.on('/items/a%2Fb%20c', json(body))
      target.on('/items/gone', json({ error: 'gone' }, 410))
      target.on('/items/other', json({ id: 'another', name: 'Ada' }))
      route = await openRoute(app, '/items/{id}?fields=all&of={id}')
    })

    it('is filled into the URL of the target, percent-encoded', async () => {
      expect((await ask(app, route.slug, { id: 'a/b c' })).body.verdict).to.equal('YES')
      expect(target.requests.at(-1)?.path).to.equal('/items/a%2Fb%20c?fields=all&of=a%2Fb%20c')
      expect((await askByQuery(app, route.slug, 'id=a/b+c&name=Bob')).body.verdict).to.equal('NO')
    })

    it('of an item that the target says does not exist is a NO, signed like any other', async () => {
      for (const id of ['missing', 'gone']) {
        const answer = await ask(app, route.slug, { id })
        expect(answer.body).to.include({ verdict: 'NO' })
        expect(answer.body.proof).to.match(/^zk1\./)
      }
      const whole = await openRoute(app, '/missing')
      for (const question of [{ name: 'Ada' }, { id: 7 }, { id: 7, name: 'Ada' }])
        expect((await ask(app, whole.slug, question)).body).to.include({ error: 'upstream_status' })
    })

    it('must be that of the object that was found', async () => {
      expect((await ask(app, route.slug, { id: 'other', name: 'Ada' })).body.verdict).to.equal('NO')
    })

    it('is required where the URL of the target has a place for it', async () => {
      const { status, body: failure } = await ask(app, route.slug, { name: 'Ada' })
      expect(status).to.equal(422)
      expect(failure.details?.[0]).to.include({ path: '/id', code: 'required' })
    })

    it('can be a number', async () => {
      const members = await openRoute(app)
      expect((await ask(app, members.slug, { id: 2, name: 'Bob' })).body.verdict).to.equal('YES')
      expect((await ask(app, members.slug, { id: 2, name: 'Ada' })).body.verdict).to.equal('NO')
    })
  })

  describe('what others can check', () => {
    let route: ProxyCreated
    let answer: TypedAnswer
    let payload: Record<string, unknown>
    const question = { name: 'Ada', age: { gte: 18 } }
    before(async () => {
      route = await openRoute(app)
      answer = (await ask(app, route.slug, question)).body
      const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
      const { protectedHeader, payload: bytes } = await compactVerify(answer.jws, keys)
      expect(protectedHeader).to.deep.include({ alg: 'EdDSA', typ: 'hv+jws' })
      payload = JSON.parse(new TextDecoder().decode(bytes))
    })
    const decoded = () => {
      const read = decodeZk1(answer.proof)
      if (read === undefined) throw new Error('no proof')
      return read
    }

    it('the JWS says what the answer says, and is bound to the entry in the log', async () => {
      expect(payload).to.deep.include({
        iss: app.url,
        iat: Math.floor(Date.parse(answer.timestamp) / 1000),
        verdict: 'YES',
        route: route.slug,
        fetched_at: answer.timestamp,
        circuit_id: 'yesno',
        digest: proofDigest('yesno', decoded().publicSignals),
      })
      expect(payload.jti).to.match(/^hmv_[0-9a-z]{26}$/)
      const leaf = Buffer.from(String(payload.leaf_hash), 'hex')
      const entry = await app.services.database.knex('ledger_entries').where({ leaf_hash: leaf }).first()
      expect(JSON.stringify(entry)).to.include('verify')
    })

    it('the signature covers verdict, route, time and digest', async () => {
      const { body: set } = await app.request<JSONWebKeySet>('GET', '/.well-known/jwks.json')
      const kid = JSON.parse(Buffer.from(answer.jws.split('.')[0] ?? '', 'base64url').toString()).kid
      const key = await importJWK(set.keys.find((candidate) => candidate.kid === kid) ?? {}, 'EdDSA')
      const { digest } = payload
      const { timestamp, verdict } = answer
      const verify = (fields: object) =>
        crypto.subtle.verify(
          'Ed25519',
          key as CryptoKey,
          Buffer.from(answer.signature, 'base64url'),
          Buffer.from(`hermes/1\n${canonicalize(fields)}`),
        )
      expect(await verify({ digest, route: route.slug, timestamp, verdict })).to.equal(true)
      expect(await verify({ digest, route: route.slug, timestamp, verdict: 'NO' })).to.equal(false)
    })

    it('the proof verifies, and its context is this route, URL, question and answer', async () => {
      const { proof, publicSignals } = decoded()
      const { zkProof } = answer
      expect(await app.services.verifier.verify('yesno', proof, publicSignals, 'org_1')).to.deep.equal({
        valid: true,
      })
      expect(zkProof.proof).to.equal(answer.proof)
      const { verdict, ...signals } = zkProof.publicInputs
      const { decision, nullifier, commitment, op, operand, scope, ctx } = signals
      expect([decision, nullifier, commitment, op, operand, scope, ctx]).to.deep.equal(publicSignals)
      expect({ verdict, decision, op, operand }).to.deep.equal({
        verdict: 'YES',
        decision: '1',
        op: '5',
        operand: String(encodeValue(1)),
      })
      expect(BigInt(`0x${zkProof.commitment}`)).to.equal(BigInt(commitment))
      expect(scope).to.equal(
        String(scopeElement({ aud: app.url, org: String(payload.org), purpose: 'hermes' })),
      )
      const { url_hash, criteria_hash, body_hash, fetched_at, org, jti } = payload
      const statement = { route: route.slug, url_hash, criteria_hash, body_hash, fetched_at }
      const context = { aud: app.url, org: String(org), circuit: 'yesno', statement, nonce: String(jti) }
      expect(ctx).to.equal(String(contextElement(context)))
    })

    it('the verification key is named by what the catalogue serves', async () => {
      const { bytes } = await app.request('GET', '/api/circuits/yesno/vkey')
      const hash = createHash('sha256').update(bytes).digest('hex')
      expect(answer.zkProof.verificationKey).to.equal(`yesno:sha256:${hash}`)
    })

    it('whoever has the manage token can recompute what the verdict is bound to', () => {
      const key = hmac(route.manageToken, 'hermes-binding/1')
      const bound = (label: string, content: string) => hmac(key, `${label}\n${content}`).toString('hex')
      expect(payload).to.include({
        url_hash: bound('url/1', `${target.url}/members`),
        criteria_hash: bound('criteria/1', canonicalize({ form: 'typed', question }) ?? ''),
        body_hash: bound('body/1', JSON.stringify({ members: MEMBERS })),
      })
    })

    it('nobody can link or guess: the same question twice shares nothing but what was asked', async () => {
      const again = (await ask(app, route.slug, question)).body
      const [a, b] = [answer.zkProof.publicInputs, again.zkProof.publicInputs]
      expect(a.commitment).not.to.equal(b.commitment)
      expect(a.nullifier).not.to.equal(b.nullifier)
      expect(a.ctx).not.to.equal(b.ctx)
      const other = await openRoute(app)
      const elsewhere = (await ask(app, other.slug, question)).body
      const bindings = JSON.parse(Buffer.from(elsewhere.jws.split('.')[1] ?? '', 'base64url').toString())
      for (const name of ['url_hash', 'criteria_hash', 'body_hash'])
        expect(bindings[name], name).not.to.equal(payload[name])
    })

    it('a NO is proven as a NO', async () => {
      const no = (await ask(app, route.slug, { name: 'Eve' })).body
      expect(no.zkProof.publicInputs).to.include({ verdict: 'NO', decision: '0' })
      const read = decodeZk1(no.proof)
      expect(
        read && (await app.services.verifier.verify('yesno', read.proof, read.publicSignals, 'org_1')),
      ).to.deep.equal({
        valid: true,
      })
    })
  })

  describe('who may ask', () => {
    let owner: TestOrganisation
    let key: string
    before(async () => {
      owner = await app.organisation()
      key = owner.apiKey
    })
    const question = { name: 'Ada' }
    const closed = () =>
      createProxy(app, { destinationUrl: `${target.url}/members`, requireToken: true }, key)

    it('a route with a token answers its holder and its owner, and nobody else', async () => {
      const { slug, token = '', manageToken } = await closed()
      expect(token).to.match(/^hmt_[0-9A-Za-z]{43}$/)
      const anonymous = await ask(app, slug, question)
      expect(anonymous.status).to.equal(401)
      expect(anonymous.headers.get('www-authenticate')).to.match(/^Bearer/)
      const stranger = await app.organisation()
      const another = await closed()
      for (const bearer of [stranger.apiKey, app.adminKey, another.token, another.manageToken])
        expect((await ask(app, slug, question, { bearer })).status, bearer).to.equal(403)
      for (const bearer of [token, manageToken, key])
        expect((await ask(app, slug, question, { bearer })).status, bearer).to.equal(200)
    })

    it('a credential that is none is refused, also where none is needed', async () => {
      const { slug } = await openRoute(app)
      for (const bearer of ['hmt_unknown', `hmt_${'x'.repeat(43)}`, 'ak_live_unknown'])
        expect((await ask(app, slug, question, { bearer })).status, bearer).to.equal(401)
      const both = { bearer: app.adminKey, headers: { 'x-api-key': key } }
      expect((await ask(app, slug, question, both)).body).to.include({ error: 'ambiguous_credentials' })
    })

    it('a token opens nothing but hermes', async () => {
      const { token = '', manageToken } = await closed()
      for (const bearer of [token, manageToken])
        expect((await app.request('POST', '/verify', { bearer, body: { data: { a: 1 } } })).status).to.equal(
          403,
        )
    })

    it('a key needs the scope for it', async () => {
      const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
        key: owner.apiKey,
        body: { label: 'pods', scopes: ['pod'] },
      })
      const { slug } = await openRoute(app)
      expect((await ask(app, slug, question, { bearer: body.apiKey })).body).to.include({
        error: 'insufficient_scope',
      })
    })

    it('parts of texts are for those who have a token or own the route', async () => {
      const { slug, token } = await closed()
      const open = await createProxy(app, { destinationUrl: `${target.url}/members` }, key)
      for (const operator of [{ contains: 'd' }, { startsWith: 'A' }, { matches: '^A' }]) {
        const parts = { name: operator }
        expect((await ask(app, slug, parts, { bearer: token })).body.verdict).to.equal('YES')
        expect((await ask(app, open.slug, parts, { bearer: owner.apiKey })).body.verdict).to.equal('YES')
        const refused = await ask(app, open.slug, parts)
        expect(refused.status).to.equal(422)
        expect(refused.body.details?.[0]?.code).to.equal('operator_closed')
      }
    })

    it('strangers ask at most 30 times a minute from one address, whatever route', async () => {
      const routes = [await openRoute(app), await openRoute(app)]
      const headers = { 'x-forwarded-for': '198.51.100.7' }
      const asked = await Promise.all(
        // Refused for what they ask, which costs no proof and counts all the same.
        Array.from({ length: 31 }, (_, i) => ask(app, routes[i % 2]?.slug ?? '', {}, { headers })),
      )
      const statuses = asked.map(({ status }) => status)
      expect(statuses.filter((status) => status === 422)).to.have.length(30)
      const limited = asked.find(({ status }) => status === 429)
      expect(limited?.headers.get('retry-after')).to.equal(String(limited?.body.retry_after))
      expect(limited?.headers.get('x-ratelimit-limit')).to.equal('30')
      expect(limited?.headers.get('x-ratelimit-remaining')).to.equal('0')
      expect(limited?.headers.get('ratelimit-policy')).to.equal('"default";q=30;w=60')
      expect(limited?.headers.get('ratelimit')).to.equal(`"default";r=0;t=${limited?.body.retry_after}`)
      const mine = await createProxy(app, { destinationUrl: `${target.url}/members` }, key)
      expect((await ask(app, mine.slug, {}, { headers, bearer: owner.apiKey })).status).to.equal(422)
      // Anybody can make a route with a token, so its token lifts no limit.
      const made = await createProxy(app, { destinationUrl: 'https://example.org/', requireToken: true })
      expect((await ask(app, made.slug, {}, { headers, bearer: made.token })).status).to.equal(429)
    })
  })

  it('counts all tokens of an organisation together with its keys, so that more routes ask no more', async () => {
    const { apiKey } = await app.organisation()
    const destinationUrl = `${target.url}/members`
    const routes = []
    for (let i = 0; i < 2; i++)
      routes.push(await createProxy(app, { destinationUrl, requireToken: true }, apiKey))
    const left = []
    for (const { slug, token } of routes)
      left.push(Number((await ask(app, slug, {}, { bearer: token })).headers.get('x-ratelimit-remaining')))
    left.push(
      Number(
        (await ask(app, routes[0]?.slug ?? '', {}, { bearer: apiKey })).headers.get('x-ratelimit-remaining'),
      ),
    )
    const [first = 0] = left
    expect(left).to.deep.equal([first, first - 1, first - 2])
    const strangers = []
    for (let i = 0; i < 2; i++) strangers.push(await createProxy(app, { destinationUrl, requireToken: true }))
    const leftOfStrangers = []
    for (const address of ['198.51.100.90', '198.51.100.90', '198.51.100.91'])
      for (const { slug, token } of strangers) {
        const headers = { 'x-forwarded-for': address }
        const { headers: answered } = await ask(app, slug, {}, { bearer: token, headers })
        leftOfStrangers.push(Number(answered.get('x-ratelimit-remaining')))
      }
    const [most = 0] = leftOfStrangers
    expect(leftOfStrangers).to.deep.equal([most, most - 1, most - 2, most - 3, most, most - 1])
  })

  describe('what a verdict costs', () => {
    const usageOf = async (key: string) => (await app.request<Usage>('GET', '/api/usage', { key })).body

    it('is counted for the organisation that made the route, whoever asks', async () => {
      const owner = await app.organisation()
      const key = owner.apiKey
      const { slug } = await createProxy(app, { destinationUrl: `${target.url}/members` }, key)
      await ask(app, slug, { name: 'Ada' })
      await ask(app, slug, { name: 'Ada' }, { bearer: (await app.organisation()).apiKey })
      await ask(app, slug, {})
      expect((await usageOf(owner.apiKey)).byCategory).to.deep.equal({ hermes: 2 })
      const entries = await app.services.database
        .knex('ledger_entries')
        .where({ organisation: owner.organisationId, type: 'verify' })
      expect(entries).to.have.length(2)
    })

    it('is a free one without a subscription, and 402 when none is left', async () => {
      const { organisationId, apiKey } = await freeOrganisation(app)
      const { slug } = await createProxy(app, { destinationUrl: `${target.url}/members` }, apiKey)
      expect((await ask(app, slug, { name: 'Ada' })).status).to.equal(200)
      const used = async () => (await usageOf(apiKey)).free?.used
      expect(await used()).to.equal(1)
      await app.services.database
        .knex('ledger_counters')
        .where({ organisation: organisationId })
        .update({ value: 100 })
      const before = target.requests.length
      expect((await ask(app, slug, { name: 'Ada' })).body).to.include({ error: 'free_allocation_used' })
      expect(target.requests).to.have.length(before)
      await setSubscription(app, organisationId, 'active')
      expect((await ask(app, slug, { name: 'Ada' })).status).to.equal(200)
    })
  })

  it('gives a repeated request the first answer, and counts it once', async () => {
    const owner = await app.organisation()
    const key = owner.apiKey
    const { slug, token } = await createProxy(
      app,
      { destinationUrl: `${target.url}/members`, requireToken: true },
      key,
    )
    const options = { bearer: token, headers: { 'idempotency-key': 'once' } }
    const first = await ask(app, slug, { name: 'Ada' }, options)
    const second = await ask(app, slug, { name: 'Ada' }, options)
    expect(second.body).to.deep.equal(first.body)
    expect(second.headers.get('idempotency-replayed')).to.equal('true')
    expect((await ask(app, slug, { name: 'Bob' }, options)).body).to.include({
      error: 'idempotency_key_reused',
    })
    const { body } = await app.request<Usage>('GET', '/api/usage', { key: owner.apiKey })
    expect(body.proofCounts.total).to.equal(1)
  })

  it('repeats it without asking the target again, whosever route it is, and after the route is gone', async () => {
    const owner = await app.organisation()
    const stranger = await app.organisation()
    const destinationUrl = `${target.url}/members`
    const { slug, id } = await createProxy(app, { destinationUrl }, owner.apiKey)
    const options = (bearer: string) => ({ bearer, headers: { 'idempotency-key': 'asked-once' } })
    const keys = [owner.apiKey, stranger.apiKey]
    const first = []
    for (const key of keys) first.push(await ask(app, slug, { name: 'Ada' }, options(key)))
    expect(first.map(({ status }) => status)).to.deep.equal([200, 200])
    expect(first[0]?.body.jws).not.to.equal(first[1]?.body.jws)
    const asked = target.requests.length
    await app.request('DELETE', `/proxy/${id}`, { key: owner.apiKey, body: { userId: USER_ID } })
    for (const [index, key] of keys.entries()) {
      const again = await ask(app, slug, { name: 'Ada' }, options(key))
      expect([again.status, again.body]).to.deep.equal([200, first[index]?.body])
    }
    expect((await ask(app, slug, { name: 'Ada' })).body).to.include({ error: 'route_deleted' })
    expect(target.requests).to.have.length(asked)
  })

  it('says nothing of a route that was deleted while its target was waited for, and counts nothing', async () => {
    const { apiKey: key } = await app.organisation()
    const { slug, id } = await createProxy(app, { destinationUrl: `${target.url}/late` }, key)
    target.on('/late', async (request, response) => {
      await app.request('DELETE', `/proxy/${id}`, { key, body: { userId: USER_ID } })
      json({ members: MEMBERS })(request, response)
    })
    const { status, body } = await ask(app, slug, { name: 'Ada' })
    expect([status, body.error]).to.deep.equal([410, 'route_deleted'])
    const usage = (await app.request<Usage>('GET', '/api/usage', { key })).body
    expect(usage.proofCounts.total).to.equal(0)
    const { stats } = (await app.request<ProxyRoute>('GET', `/proxy/${id}`, { key })).body
    expect(stats.total).to.equal(0)
  })

  it('keeps verdicts about routes of strangers in the ledger of the operator, for nothing', async () => {
    const usage = async () =>
      (await app.request<Usage>('GET', '/api/usage', { key: app.adminKey })).body.byCategory.hermes ?? 0
    const before = await usage()
    const { slug } = await createProxy(app, { destinationUrl: `${target.url}/members` })
    expect((await ask(app, slug, { name: 'Ada' })).body).to.include({ verdict: 'YES' })
    expect(await usage()).to.equal(before + 1)
  })
})
