/** What the typed client does beside asking: again where it is safe, page by page, for a stream that ended, and what it says of errors. */
import { getEventListeners } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { readStream } from '../../src/bin/packages/contents/client/stream.ts'
import { answerLater } from '../../src/http/event-stream.ts'
import { signWebhook } from '../../src/protocol/webhook/webhook.ts'
import { sharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { rejection } from '../support/rejection.ts'
import { filesBelow, read } from '../support/sources.ts'
import { type AssayError, type ClientModule, loadClient } from '../support/typed-client.ts'

const MAX_OWN_LINES = 300

describe('the typed client', () => {
  let client: ClientModule
  before(async () => {
    client = await loadClient()
  })

  it(`has at most ${MAX_OWN_LINES} lines of code of our own`, () => {
    const lines = filesBelow('src/bin/packages/contents/client', '.ts').flatMap((file) =>
      read(file).split('\n'),
    )
    expect(lines.filter((line) => !/^\s*(\/?\*|\/\/|$)/.test(line)).length).to.be.at.most(MAX_OWN_LINES)
  })

  it('lists everything, page by page', async () => {
    const app = await sharedApp()
    const { apiKey: key } = await app.organisation()
    const assay = client.createClient({ baseUrl: app.url, key })
    for (const subject of ['a', 'b', 'c']) await assay.generateToken?.({ subject })
    const found: unknown[] = []
    for await (const token of assay.listTokens?.all({ limit: 2 }) ?? []) found.push(token)
    expect(found).to.have.lengthOf(3)
    // Whose place is not called cursor: what webhooks announced, to the end of the log.
    const announced: { cursor: string; event: { event: string } }[] = []
    for await (const event of assay.listEvents?.all({ limit: 2 }) ?? []) announced.push(event as never)
    expect(announced.map(({ event }) => event.event)).to.deep.equal(Array(3).fill('merkle.leaf_appended'))
    const later: unknown[] = []
    for await (const event of assay.listEvents?.all({ after: announced[0]?.cursor, limit: 1 }) ?? [])
      later.push(event)
    expect(later).to.deep.equal(announced.slice(1))
  })

  it('says what was refused, and its request', async () => {
    const app = await sharedApp()
    const { apiKey: key } = await app.organisation()
    const assay = client.createClient({ baseUrl: app.url, key })
    const error = await rejection(
      assay.tokenStatus?.({ tokenId: `tok_${'0'.repeat(26)}` }) as Promise<unknown>,
    )
    expect(error).to.include({ status: 404, error: 'not_found', name: 'AssayError' })
    expect((error as AssayError).requestId).to.be.a('string')
    expect(client.isErrorOf('tokenStatus', error)).to.equal(true)
    expect(client.isErrorOf('verify', error)).to.equal(false)
  })

  describe('asks again', () => {
    let server: Server
    let heard: { readonly method: string; readonly key: string | undefined }[]
    let answer: RequestListener
    before(async () => {
      server = createServer((request, response) => {
        heard.push({ method: request.method ?? '', key: request.headers['idempotency-key'] as string })
        answer(request, response)
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    })
    beforeEach(() => {
      heard = []
    })
    after(() => server.close())
    const baseUrl = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const assay = () => client.createClient({ baseUrl: baseUrl() })
    const json =
      (status: number, body: object, headers = {}): RequestListener =>
      (_, response) =>
        void response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify(body))

    it('what is safe, under one Idempotency-Key, until it is answered', async () => {
      answer = (request, response) =>
        heard.length < 3
          ? json(503, { error: 'unavailable' }, { 'retry-after': '0' })(request, response)
          : json(200, { decision: 'YES' })(request, response)
      expect(await assay().verify?.({ data: {} })).to.deep.equal({ decision: 'YES' })
      expect(heard).to.have.lengthOf(3)
      expect(heard[0]?.key).to.match(/^[0-9a-f]{32}$/)
      expect(new Set(heard.map(({ key }) => key)).size).to.equal(1)
      await assay().verify?.({ data: {} })
      expect(heard[3]?.key).not.to.equal(heard[0]?.key)
    })

    it('with the headers that it is given in place of its own, in upper or lower case', async () => {
      const received: IncomingHttpHeaders[] = []
      answer = (request, response) => {
        const status = received.push(request.headers) === 1 ? 503 : 200
        json(status, { error: 'unavailable' }, { 'retry-after': '0' })(request, response)
      }
      const named = client.createClient({
        baseUrl: baseUrl(),
        key: 'own',
        headers: { 'X-Shop': 'a', 'X-Till': 'b' },
      })
      const headers = {
        Authorization: 'Bearer other',
        'Idempotency-Key': 'order-17',
        Accept: 'text/csv',
        'x-shop': 'c',
      }
      await named.verify?.({ data: {} }, { headers })
      const expected = {
        authorization: 'Bearer other',
        'idempotency-key': 'order-17',
        accept: 'text/csv',
        'x-shop': 'c',
        'x-till': 'b',
      }
      expect(received).to.have.lengthOf(2)
      for (const each of received) expect(each).to.include(expected)
    })

    it('nothing that might be done twice, and nothing that was refused', async () => {
      answer = json(503, { error: 'unavailable' }, { 'retry-after': '0' })
      await rejection(assay().postMessage?.({ agent_name: 'a', text: 'b' }) as Promise<unknown>)
      expect(heard).to.have.lengthOf(1)
      answer = json(422, { error: 'validation_failed' })
      const error = (await rejection(assay().verify?.({ data: {} }) as Promise<unknown>)) as AssayError
      expect([error.error, error.status, heard.length]).to.deep.equal(['validation_failed', 422, 2])
      answer = json(429, { error: 'rate_limited' }, { 'retry-after': '3600' })
      await rejection(assay().getJwks?.() as Promise<unknown>)
      expect(heard).to.have.lengthOf(3)
    })

    it('what needs no credential only with one: without, no Idempotency-Key counts', async () => {
      answer = json(503, { error: 'unavailable' }, { 'retry-after': '0' })
      const input = { userId: 'user-1', destinationUrl: 'https://api.example.org/members' }
      await rejection(assay().createProxy?.(input) as Promise<unknown>)
      expect(heard).to.have.lengthOf(1)
      heard = []
      const known = client.createClient({ baseUrl: baseUrl(), key: 'own' })
      await rejection(known.createProxy?.(input) as Promise<unknown>)
      expect(heard).to.have.lengthOf(3)
      expect(new Set(heard.map(({ key }) => key)).size).to.equal(1)
    })

    it('no longer than its time, its signal and its number of attempts allow', async () => {
      answer = () => undefined
      const late = await rejection(
        assay().verify?.({ data: {} }, { timeoutMs: 30, retries: 1 }) as Promise<unknown>,
      )
      expect([late.name, heard.length]).to.deep.equal(['TimeoutError', 2])
      const stopped = assay().verify?.({ data: {} }, { signal: AbortSignal.timeout(30) }) as Promise<unknown>
      expect((await rejection(stopped)).name).to.equal('TimeoutError')
      expect(heard).to.have.lengthOf(3)
    })

    it('within the time and number that the client has, where a call leaves them open', async () => {
      answer = () => undefined
      const hasty = client.createClient({ baseUrl: baseUrl(), timeoutMs: 30, retries: 0 })
      const open = { timeoutMs: undefined, retries: undefined }
      const late = await rejection(hasty.getJwks?.({}, open) as Promise<unknown>)
      expect([late.message, heard.length]).to.deep.equal(['getJwks: no answer within 30 ms', 1])
    })

    it('only once a question that waits by itself has had its wait besides the time of an attempt', async () => {
      const page = { events: [], nextCursor: null }
      answer = (request, response) => void setTimeout(() => json(200, page)(request, response), 200)
      const options = { timeoutMs: 50, retries: 0 }
      expect(await assay().listEvents?.({ wait: 30 }, options)).to.deep.equal(page)
      expect((await rejection(assay().listEvents?.({}, options) as Promise<unknown>)).name).to.equal(
        'TimeoutError',
      )
    })

    it('nothing that something between answered, and says so', async () => {
      const elsewhere = `${baseUrl()}/login`
      const tokenId = 'tok_1'
      const said = async (operation: string, listener: RequestListener, input: object = { tokenId }) => {
        answer = listener
        heard = []
        const error = await rejection(assay()[operation]?.(input) as Promise<unknown>)
        expect(heard, error.message).to.have.lengthOf(1)
        expect(error).to.include({ name: 'AssayError', error: 'not_the_service' })
        return error.message
      }
      const page =
        (status: number, headers: Record<string, string>, text = '<html>Sign in'): RequestListener =>
        (_, response) =>
          void response.writeHead(status, headers).end(text)
      const html = { 'content-type': 'text/html' }
      const inJson = { 'content-type': 'application/json' }
      const login = 'tokenStatus: <html>Sign in (200 not_the_service)'
      expect(await said('tokenStatus', page(200, html))).to.equal(login)
      expect(await said('tokenStatus', page(200, inJson))).to.equal(login)
      expect(await said('tokenStatus', page(200, {}))).to.equal(login)
      expect(await said('tokenStatus', page(204, {}))).to.include('204 not_the_service')
      expect(await said('tokenQr', page(200, html))).to.include('200 not_the_service')
      expect(await said('deleteSession', page(200, html), {})).to.include('200 not_the_service')
      const moved = page(302, { ...html, location: elsewhere })
      expect(await said('tokenStatus', moved)).to.equal(`tokenStatus: ${elsewhere} (302 not_the_service)`)
    })

    it('nothing that is refused without a code, and hands over all of the answer', async () => {
      const refused = (operation: string, status: number, body: object, input: object = {}) => {
        answer = json(status, body)
        return rejection(assay()[operation]?.(input, { retries: 0 }) as Promise<unknown>)
      }
      const unhealthy = { status: 'unhealthy', database: { status: 'disconnected' } }
      const ill = await refused('getHealth', 503, unhealthy)
      expect(ill).to.include({ name: 'AssayError', status: 503, error: 'no_success' })
      expect((ill as AssayError).body?.answer).to.deep.equal(unhealthy)
      expect(await refused('getReadiness', 503, { ready: false })).to.include({ error: 'no_success' })
      const failure = { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'Method not found' } }
      const unknown = await refused('callMcp', 404, failure, { jsonrpc: '2.0', id: 1, method: 'none' })
      expect(unknown.message).to.match(/^callMcp: .*Method not found.* \(404 no_success\)$/)
      expect((unknown as AssayError).body?.answer).to.deep.equal(failure)
      // With a code it is told by that, and of others no such answer is known.
      expect(await refused('getHealth', 503, { error: 'unavailable' })).to.include({ error: 'unavailable' })
      expect(await refused('getJwks', 503, unhealthy)).to.include({ error: 'not_the_service' })
    })

    it('for the stream, from the last event that it saw', async () => {
      const ids: (string | undefined)[] = []
      answer = ({ headers }, response) => {
        ids.push(headers['last-event-id'] as string | undefined)
        const id = ids.length
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(`retry: 1\nid: ${id}\nevent: message\ndata: {"id":${id}}\n\n`)
      }
      const seen: unknown[] = []
      const events = assay().streamMessages?.() as unknown as AsyncGenerator<{ data: unknown }>
      for await (const { data } of events) if (seen.push(data) === 2) break
      expect(seen).to.deep.equal([{ id: 1 }, { id: 2 }])
      expect(ids).to.deep.equal([undefined, '1'])
    })

    it('never for a stream of members that nobody knows', () => {
      const streamMessages = assay().streamMessages as unknown as (input: object) => unknown
      expect(() => streamMessages({ tread: 'x' })).to.throw(TypeError, 'has no member tread')
    })

    it('not for the stream of an address that leads elsewhere or has a page of its own', async () => {
      for (const [status, headers] of [
        [301, { location: '/login' }],
        [200, { 'content-type': 'text/html' }],
      ] as const) {
        answer = (_, response) => void response.writeHead(status, headers).end('<html>Sign in')
        const events = assay().streamMessages?.() as unknown as AsyncGenerator<unknown>
        expect(await rejection(events.next())).to.include({ error: 'not_the_service', status })
      }
    })

    it('for the stream while the service restarts, until it is refused', async () => {
      const statuses: number[] = []
      answer = (request, response) => {
        const status = [200, 503, 503, 503, 502, 500, 408, 429, 429, 429, 200, 401][statuses.length] ?? 401
        statuses.push(status)
        if (status !== 200) return json(status, { error: 'x' }, { 'retry-after': '0' })(request, response)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(`retry: 1\nid: ${statuses.length}\nevent: message\ndata: {}\n\n`)
      }
      const events = assay().streamMessages?.() as unknown as AsyncGenerator<{ id: string }>
      expect((await events.next()).value).to.include({ id: '1' })
      expect((await events.next()).value).to.include({ id: '11' })
      expect(await rejection(events.next())).to.include({ name: 'AssayError', status: 401 })
      expect(statuses).to.have.lengthOf(12)
    })

    it('for the stream when the service says so as it goes away, and no sooner than it is told to', async () => {
      const times: number[] = []
      answer = (request, response) => {
        const attempt = times.push(Date.now())
        if (attempt === 1) return answerLater(response, 1)
        if (attempt === 2) return json(500, { error: 'x' }, { 'retry-after': '1' })(request, response)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end('id: 3\ndata: {}\n\n')
      }
      const events = assay().streamMessages?.() as unknown as AsyncGenerator<{ id: string }>
      expect((await events.next()).value).to.include({ id: '3' })
      // Without that word it is 3 s.
      expect(Number(times[1]) - Number(times[0])).to.be.below(2000)
      expect(Number(times[2]) - Number(times[1])).to.be.at.least(900)
    })

    it('for the stream as if what was cut off had never come', async () => {
      const ids: unknown[] = []
      answer = ({ headers }, response) => {
        const attempt = ids.push(headers['last-event-id'])
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(
          attempt === 1 ? 'retry: 1\nid: 1\ndata: {}\nretry: 36000' : 'id: 2\nevent: message\ndata: {}\n\n',
        )
      }
      const events = assay().streamMessages?.() as unknown as AsyncGenerator<{ id: string }>
      expect((await events.next()).value).to.include({ id: '2' })
      expect(ids).to.deep.equal([undefined, undefined])
    })

    it('for the stream whose connection has fallen silent, and not while there is a heartbeat', async () => {
      const silenceMs = 500
      const ids: unknown[] = []
      const closed: unknown[] = []
      answer = ({ headers }, response) => {
        const attempt = ids.push(headers['last-event-id'])
        response.on('close', () => closed.push(attempt))
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`retry: 1\nid: ${attempt}\ndata: {}\n\n`)
        if (attempt > 1) return
        const heartbeat = setInterval(() => response.write(':\n'), silenceMs / 10)
        setTimeout(() => {
          clearInterval(heartbeat)
          response.write('id: live\ndata: {}\n\n')
        }, 2 * silenceMs)
      }
      const open = (lastId?: string) =>
        fetch(baseUrl(), { headers: lastId ? { 'last-event-id': lastId } : {} })
      const seen: unknown[] = []
      for await (const { id } of readStream(open, undefined, silenceMs)) if (seen.push(id) === 3) break
      expect(seen).to.deep.equal(['1', 'live', '2'])
      expect(ids).to.deep.equal([undefined, 'live'])
      await eventually('both connections are closed', () => closed.length === 2)
    })

    it('with interceptors that see, and may change, each attempt and each answer', async () => {
      const seen: string[] = []
      const intercepted = client.createClient({
        baseUrl: baseUrl(),
        async onRequest({ operation, attempt, request }) {
          seen.push(`${operation} ${attempt} ${request.method}`)
          const changed = new Request(request)
          changed.headers.set('idempotency-key', `key-${attempt}`)
          return changed
        },
        onResponse({ request, response }) {
          seen.push(`${request.headers.get('idempotency-key')} ${response.status}`)
          return response.status === 418 ? Response.json({ decision: 'YES' }) : undefined
        },
      })
      answer = (request, response) =>
        json(heard.length < 2 ? 503 : 418, { error: 'x' }, { 'retry-after': '0' })(request, response)
      expect(await intercepted.verify?.({ data: {} })).to.deep.equal({ decision: 'YES' })
      expect(seen).to.deep.equal(['verify 0 POST', 'key-0 503', 'verify 1 POST', 'key-1 418'])
      expect(heard.map(({ key }) => key)).to.deep.equal(['key-0', 'key-1'])
    })

    it('when an interceptor fails, as after a broken connection, and never past its signal', async () => {
      const failing = (fails: (attempt: number) => void) =>
        client.createClient({
          baseUrl: baseUrl(),
          onRequest: ({ attempt }) => fails(attempt),
        })
      answer = json(200, { decision: 'YES' })
      const once = failing((attempt) => {
        if (attempt === 0) throw new Error('no token')
      })
      expect(await once.verify?.({ data: {} })).to.deep.equal({ decision: 'YES' })
      const abort = new AbortController()
      const aborting = failing(() => abort.abort(new Error('stop')))
      const stopped = aborting.verify?.({ data: {} }, { signal: abort.signal }) as Promise<unknown>
      expect((await rejection(stopped)).message).to.equal('stop')
      expect(heard).to.have.lengthOf(1)
    })

    it('within its time and until its signal also where an interceptor, or a fetch of its own, never ends', async () => {
      const forever = () => new Promise<never>(() => undefined)
      const hanging = [{ onRequest: forever }, { onResponse: forever }, { fetch: forever }]
      answer = json(200, { decision: 'YES' })
      for (const options of hanging) {
        const { verify } = client.createClient({ baseUrl: baseUrl(), ...options })
        const late = await rejection(
          verify?.({ data: {} }, { timeoutMs: 30, retries: 1 }) as Promise<unknown>,
        )
        expect(late.name).to.equal('TimeoutError')
        const signal = AbortSignal.timeout(30)
        expect(await rejection(verify?.({ data: {} }, { signal }) as Promise<unknown>)).to.equal(
          signal.reason,
        )
      }
    }).timeout(5000)

    it('and hears its signal no longer than that, which may last as long as the program and would keep each answer', async () => {
      const seen: { request: unknown; heardBy: AbortSignal; listeners: number }[] = []
      const { verify } = client.createClient({
        baseUrl: baseUrl(),
        fetch: async (request, init) => {
          const heardBy = init?.signal as AbortSignal
          // The request is kept: it listens for as long as it is there.
          seen.push({ request, heardBy, listeners: getEventListeners(heardBy, 'abort').length })
          return Response.json({ decision: 'YES' })
        },
      })
      await verify?.({ data: {} }, { signal: new AbortController().signal })
      expect(seen).to.have.lengthOf(1)
      for (const { heardBy, listeners } of seen)
        expect(getEventListeners(heardBy, 'abort')).to.have.lengthOf(listeners - 1)
    })

    it('nothing that has no place in the request', async () => {
      expect(await rejection(assay().getJwks?.({ limit: 1 }) as Promise<unknown>)).to.be.instanceOf(TypeError)
      expect((await rejection(assay().getResult?.({}) as Promise<unknown>)).message).to.include(
        'verificationId',
      )
      // URLs fold these, so that another operation would answer.
      for (const tokenId of ['.', '..', ['..'], ''])
        expect(await rejection(assay().tokenStatus?.({ tokenId }) as Promise<unknown>)).to.be.instanceOf(
          TypeError,
        )
      expect(() => client.createClient({ baseUrl: 'assay' })).to.throw(TypeError, 'baseUrl')
      expect(heard).to.deep.equal([])
    })
  })

  it('verifies webhooks as the service signs them', () => {
    const secret = `whsec_${'ab'.repeat(24)}`
    const rawBody = JSON.stringify({ delivery_id: 'dlv_1', event: 'proof.spent', created_at: '', data: {} })
    const headers = signWebhook({
      deliveryId: 'dlv_1',
      event: 'proof.spent',
      timestamp: 1000,
      rawBody,
      secret,
    })
    const verdictOf = (body: string) =>
      client.verifyWebhook({ rawBody: body, headers, secret, now: 1_000_000 })
    expect(verdictOf(rawBody).valid).to.equal(true)
    expect(verdictOf(`${rawBody} `).valid).to.equal(false)
  })
})
