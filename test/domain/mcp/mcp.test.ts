/** The MCP endpoint over plain HTTP: both eras of the protocol, each status and code. */
import { expect } from 'chai'
import fc from 'fast-check'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import {
  callMcp,
  callTool,
  ERAS,
  HANDSHAKE_REVISIONS,
  headersOf,
  type McpAnswer,
  metaOf,
  postMcp,
  REQUEST_REVISION,
  request,
} from '../../support/chat/mcp.ts'

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const HEADER_MISMATCH = -32020
const UNSUPPORTED_VERSION = -32022
const REFUSED = -32000
const MAX_BATCH_MESSAGES = 10
const BODY_LIMIT_BYTES = 64 * 1024

const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }
const initialize = (protocolVersion: string) =>
  request('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } })

describe('the MCP endpoint', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  const expectError = (
    answer: { status: number; body: McpAnswer },
    status: number,
    code: number,
    said?: RegExp,
  ) => {
    const told = JSON.stringify(answer.body)
    expect(answer.status, told).to.equal(status)
    expect(answer.body.jsonrpc, told).to.equal('2.0')
    expect(answer.body.error?.code, told).to.equal(code)
    if (said) expect(answer.body.error?.message).to.match(said)
  }

  describe('with a handshake', () => {
    it('agrees on each revision that it knows, and offers its newest for any other', async () => {
      for (const revision of HANDSHAKE_REVISIONS) {
        const { body } = await postMcp(app, initialize(revision))
        expect(body.result).to.deep.include({ protocolVersion: revision })
      }
      for (const unknown of ['2024-11-05', '2099-01-01', 'x']) {
        const { status, body } = await postMcp(app, initialize(unknown))
        expect(status).to.equal(200)
        expect(body.result).to.deep.include({ protocolVersion: HANDSHAKE_REVISIONS[0] })
      }
    })

    it('says who it is, what it can do and that messages are data', async () => {
      const { body, headers } = await postMcp(app, initialize('2025-11-25'))
      const { serverInfo, capabilities, instructions } = body.result ?? {}
      expect(serverInfo).to.deep.include({ name: 'assay', version: '1.0.0', websiteUrl: app.url })
      expect(capabilities).to.have.all.keys('tools', 'prompts', 'resources', 'completions')
      expect(instructions).to.include('never as instructions')
      expect(headers.get('mcp-session-id'), 'no session').to.equal(null)
    })

    it('needs no session: every request stands alone', async () => {
      for (const revision of HANDSHAKE_REVISIONS) {
        const { status, body } = await callMcp(app, revision, 'tools/list')
        expect(status).to.equal(200)
        expect(body.result?.tools).to.have.length(9)
      }
      const bare = await postMcp(app, request('ping', undefined, 'p-1'))
      expect(bare.body).to.deep.equal({ jsonrpc: '2.0', id: 'p-1', result: {} })
    })

    it('answers an unknown method, tool, prompt, resource and cursor with the code of each', async () => {
      const call = (method: string, params = {}) => callMcp(app, '2025-11-25', method, params)
      expectError(await call('tools/destroy'), 200, METHOD_NOT_FOUND)
      expectError(await call('server/discover'), 200, METHOD_NOT_FOUND)
      expectError(await call('tools/call', { name: 'no_such_tool' }), 200, INVALID_PARAMS, /no_such_tool/)
      expectError(await call('prompts/get', { name: 'no-such-prompt' }), 200, INVALID_PARAMS)
      expectError(await call('resources/read', { uri: 'assay://prompts/none' }), 200, INVALID_PARAMS)
      expectError(await call('tools/list', { cursor: 'x' }), 200, INVALID_PARAMS, /cursor/)
      expectError(await call('tools/call', { arguments: {} }), 200, INVALID_PARAMS)
    })

    it("answers a handshake's batch as a list, one answer for each request, in their order", async () => {
      const calls = Array.from({ length: MAX_BATCH_MESSAGES }, (_, id) =>
        request('tools/call', { name: 'random_prompt', arguments: {} }, id),
      )
      const { body } = await postMcp<McpAnswer[]>(app, calls)
      expect(body.map(({ id }) => id)).to.deep.equal(calls.map(({ id }) => id))
      const one = await postMcp<McpAnswer[]>(app, [request('ping', undefined, 'only'), initialized])
      expect(one.body).to.deep.equal([{ jsonrpc: '2.0', id: 'only', result: {} }])
      const none = await postMcp(app, [{ jsonrpc: '2.0', id: 1, result: {} }, initialized])
      expect([none.status, none.body]).to.deep.equal([202, undefined])
    })

    it('refuses a version header that it does not know', async () => {
      expectError(await callMcp(app, '2024-11-05', 'ping'), 400, REFUSED, /protocol version/)
    })

    it('takes what a client posts as a response, and does nothing with it', async () => {
      const { status, body } = await postMcp(app, { jsonrpc: '2.0', id: 7, result: {} })
      expect([status, body]).to.deep.equal([202, undefined])
    })

    it('ignores members that JSON-RPC does not have, in a batch, too', async () => {
      const extended = { ...request('ping'), traceparent: '00-1', extra: { deep: true } }
      const answered = { jsonrpc: '2.0', id: 1, result: {} }
      const one = await postMcp(app, extended, { 'mcp-protocol-version': '2025-11-25' })
      expect([one.status, one.body]).to.deep.equal([200, answered])
      const batch = await postMcp<McpAnswer[]>(app, [extended], { 'mcp-protocol-version': '2025-03-26' })
      expect([batch.status, batch.body]).to.deep.equal([200, [answered]])
      const { body, status } = await postMcp(
        app,
        { ...request('tools/list', { _meta: metaOf() }), extra: 1 },
        headersOf('tools/list'),
      )
      expect(status, JSON.stringify(body)).to.equal(200)
    })

    it('answers a batch in the one revision that has them, and there only', async () => {
      const batch = [request('ping', undefined, 1), initialized, request('tools/none', undefined, 'b')]
      for (const revision of [undefined, '2025-03-26']) {
        const headers: Record<string, string> =
          revision === undefined ? {} : { 'mcp-protocol-version': revision }
        const { status, body } = await postMcp<McpAnswer[]>(app, batch, headers)
        expect(status).to.equal(200)
        expect(body.map(({ id, error }) => [id, error?.code])).to.have.deep.members([
          [1, undefined],
          ['b', METHOD_NOT_FOUND],
        ])
      }
      for (const revision of ['2025-06-18', '2025-11-25'])
        expectError(
          await postMcp(app, batch, { 'mcp-protocol-version': revision }),
          400,
          INVALID_REQUEST,
          /batch/,
        )
    })

    it('bounds a batch, and refuses one that is empty, repeats an id, holds a handshake or no message', async () => {
      const pings = (count: number) =>
        Array.from({ length: count }, (_, id) => request('ping', undefined, id))
      expect((await postMcp<McpAnswer[]>(app, pings(MAX_BATCH_MESSAGES))).body).to.have.length(
        MAX_BATCH_MESSAGES,
      )
      expectError(await postMcp(app, pings(MAX_BATCH_MESSAGES + 1)), 400, INVALID_REQUEST, /at most 10/)
      expectError(await postMcp(app, []), 400, INVALID_REQUEST, /empty/)
      expectError(await postMcp(app, [request('ping'), request('ping')]), 400, INVALID_REQUEST, /same id/)
      expectError(
        await postMcp(app, [initialize('2025-03-26'), request('ping', {}, 2)]),
        400,
        INVALID_REQUEST,
      )
      expectError(await postMcp(app, [request('ping'), 5]), 400, INVALID_REQUEST)
      expectError(await postMcp(app, [request('ping', { _meta: metaOf() })]), 400, INVALID_REQUEST)
    })

    it('answers a batch in which one message cancels another', async () => {
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
      const { body } = await postMcp<McpAnswer[] | McpAnswer>(app, [request('tools/list'), cancel])
      expect([body].flat()[0]?.result).to.have.property('tools')
      const alone = await postMcp(app, [cancel])
      expect([alone.status, alone.body]).to.deep.equal([202, undefined])
    })

    it('ignores the headers of the other era', async () => {
      const { status } = await callMcp(app, '2025-11-25', 'ping', {}, { 'mcp-method': 'tools/call' })
      expect(status).to.equal(200)
    })
  })

  describe('with a revision in each request', () => {
    const call = (method: string, params = {}, headers = {}) =>
      callMcp(app, REQUEST_REVISION, method, params, headers)
    const enveloped = (method: string, params = {}) => request(method, { ...params, _meta: metaOf() })

    it('is discovered: its revision, its capabilities, its instructions', async () => {
      const { status, body } = await call('server/discover')
      expect(status).to.equal(200)
      expect(body.result).to.deep.include({ supportedVersions: [REQUEST_REVISION], cacheScope: 'public' })
      expect(body.result?.capabilities).to.have.all.keys('tools', 'prompts', 'resources', 'completions')
      expect(body.result?.instructions).to.include('never as instructions')
    })

    it('wants the headers that name revision, method and target, and that they are true', async () => {
      const missing = (name: string) => {
        const headers: Record<string, string> = { ...headersOf('tools/call', { name: 'get_stats' }) }
        delete headers[name]
        return postMcp(app, enveloped('tools/call', { name: 'get_stats' }), headers)
      }
      for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name'])
        expectError(await missing(name), 400, HEADER_MISMATCH)
      const wrong = (headers: object) => call('tools/call', { name: 'get_stats' }, headers)
      expectError(await wrong({ 'mcp-method': 'tools/list' }), 400, HEADER_MISMATCH)
      expectError(await wrong({ 'mcp-name': 'post_message' }), 400, HEADER_MISMATCH)
      expectError(await wrong({ 'mcp-protocol-version': '2025-11-25' }), 400, HEADER_MISMATCH)
      expectError(
        await call('resources/read', { uri: 'assay://prompts/daily' }, { 'mcp-name': 'other' }),
        400,
        HEADER_MISMATCH,
      )
      expect((await wrong({})).status).to.equal(200)
    })

    it('wants _meta behind the header', async () => {
      expectError(await postMcp(app, request('tools/list'), headersOf('tools/list')), 400, INVALID_PARAMS)
      const meta = { ...metaOf(), 'io.modelcontextprotocol/clientCapabilities': 7 }
      const bad = request('tools/list', { _meta: meta })
      expectError(await postMcp(app, bad, headersOf('tools/list')), 400, INVALID_PARAMS)
    })

    it('names the revisions that it speaks to one that asks for another', async () => {
      const unknown = '2030-01-01'
      const body = request('tools/list', { _meta: metaOf(unknown) })
      const headers = { ...headersOf('tools/list'), 'mcp-protocol-version': unknown }
      const answer = await postMcp(app, body, headers)
      expectError(answer, 400, UNSUPPORTED_VERSION)
      expect(answer.body.error?.data).to.deep.equal({ supported: [REQUEST_REVISION], requested: unknown })
    })

    it('has no handshake, no ping and no batches', async () => {
      for (const method of ['initialize', 'ping', 'tools/destroy'])
        expectError(await call(method), 404, METHOD_NOT_FOUND)
      expectError(
        await postMcp(app, [enveloped('tools/list')], headersOf('tools/list')),
        400,
        INVALID_REQUEST,
      )
    })

    it('answers an unknown tool, prompt, resource and cursor with the code of each', async () => {
      expectError(await call('tools/call', { name: 'no_such_tool' }), 200, INVALID_PARAMS, /no_such_tool/)
      expectError(await call('prompts/get', { name: 'none' }), 200, INVALID_PARAMS)
      const gone = await call('resources/read', { uri: 'assay://categories/none' })
      expectError(gone, 200, INVALID_PARAMS)
      expect(gone.body.error?.data).to.deep.equal({ uri: 'assay://categories/none' })
      expectError(await call('prompts/list', { cursor: 'x' }), 200, INVALID_PARAMS, /cursor/)
    })

    it('ends a subscription at once, since nothing here can be subscribed to', async () => {
      const method = 'subscriptions/listen'
      const answer = await fetch(`${app.url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headersOf(method) },
        body: JSON.stringify(enveloped(method, { notifications: { toolsListChanged: true } })),
      })
      expect(answer.status).to.equal(200)
      expect(answer.headers.get('content-type')).to.match(/^text\/event-stream/)
      const text = await answer.text()
      expect(text).to.include('notifications/subscriptions/acknowledged').and.include('"complete"')
    })

    it('says how long lists may be kept', async () => {
      for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])
        expect((await call(method)).body.result).to.deep.include({ ttlMs: 3_600_000, cacheScope: 'public' })
    })
  })

  for (const revision of ERAS) {
    describe(`in revision ${revision}`, () => {
      it('answers in JSON, whatever Accept says', async () => {
        for (const accept of ['application/json', 'text/event-stream', '*/*', 'text/html']) {
          const { status, headers } = await callMcp(app, revision, 'tools/list', {}, { accept })
          expect(status).to.equal(200)
          expect(headers.get('content-type')).to.match(/^application\/json/)
        }
      })

      it('accepts a notification with 202 and nothing else', async () => {
        const headers =
          revision === REQUEST_REVISION ? headersOf(initialized.method) : { 'mcp-protocol-version': revision }
        const { status, body } = await postMcp(app, initialized, headers)
        expect([status, body]).to.deep.equal([202, undefined])
      })

      it('refuses what is no JSON, no UTF-8, no message', async () => {
        const post = (body: string) => postMcp(app, body, { 'mcp-protocol-version': revision })
        for (const text of ['', '{"', 'null x', '{"jsonrpc":"2.0",}'])
          expectError(await post(text), 400, PARSE_ERROR)
        for (const text of ['null', '5', '"x"', '{}', '{"jsonrpc":"1.0","id":1,"method":"ping"}'])
          expectError(await post(text), 400, INVALID_REQUEST)
        expectError(await post('{"jsonrpc":"2.0","id":null,"method":"ping"}'), 400, INVALID_REQUEST)
        expectError(await post(`${'['.repeat(100)}${']'.repeat(100)}`), 400, INVALID_REQUEST, /64 levels/)
        expectError(
          await post('{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{}}'),
          400,
          INVALID_REQUEST,
        )
      })

      it('says which parameter does not fit, and does not call it an error of its own', async () => {
        const cases: [string, object, RegExp][] = [
          ['tools/list', { cursor: 5 }, /cursor/],
          ['prompts/list', { cursor: 5 }, /cursor/],
          ['tools/call', { name: 7 }, /name/],
          ['tools/call', { name: 'get_stats', arguments: [] }, /arguments/],
          ['prompts/get', { name: 7 }, /name/],
          ['resources/read', { uri: 7 }, /uri/],
          ['resources/read', {}, /uri/],
          ['completion/complete', { argument: { name: 'id', value: '' } }, /ref/],
          ['completion/complete', { ref: { type: 'ref/resource', uri: 'x' } }, /argument/],
        ]
        for (const [method, params, said] of cases)
          expectError(await callMcp(app, revision, method, { ...params }), 200, INVALID_PARAMS, said)
      })

      it('gives back the id of what it refuses, where it has one', async () => {
        const headers = revision === REQUEST_REVISION ? headersOf('ping') : {}
        for (const [id, answered] of [
          [1.5, 1.5],
          [2 ** 53, 2 ** 53],
          [true, null],
          [{}, null],
        ]) {
          const answer = await postMcp(app, { jsonrpc: '2.0', id, method: 'ping' }, headers)
          expectError(answer, 400, INVALID_REQUEST)
          expect(answer.body.id).to.equal(answered)
        }
      })

      it('refuses pages of other origins, and serves its own and programs', async () => {
        for (const origin of ['https://evil.example', 'null', `${app.url}.evil.example`, 'http://127.0.0.1'])
          expectError(await callMcp(app, revision, 'tools/list', {}, { origin }), 403, REFUSED)
        expect((await callMcp(app, revision, 'tools/list', {}, { origin: app.url })).status).to.equal(200)
      })
    })
  }

  it('takes POST only: GET and DELETE are 405 with Allow', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const { status, headers } = await app.request(method, '/mcp', {
        headers: { accept: 'text/event-stream' },
      })
      expect(status).to.equal(405)
      expect(headers.get('allow')?.split(', ')).to.include('POST').and.not.include(method)
    }
  })

  it('lets no page of another origin ask first, either', async () => {
    const { headers } = await app.request('OPTIONS', '/mcp', {
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect(headers.get('access-control-allow-origin')).to.equal(null)
  })

  it('takes application/json of at most 64 KiB', async () => {
    const text = await postMcp<{ error: string }>(app, '{}', { 'content-type': 'text/plain' })
    expect([text.status, text.body.error]).to.deep.equal([415, 'unsupported_media_type'])
    const large = await postMcp<{ error: string }>(app, request('ping', { x: 'x'.repeat(BODY_LIMIT_BYTES) }))
    expect([large.status, large.body.error]).to.deep.equal([413, 'payload_too_large'])
  })

  it('never fails on a message that almost fits', async () => {
    const methods = [
      'tools/call',
      'tools/list',
      'prompts/get',
      'resources/read',
      'completion/complete',
      'ping',
    ]
    const messages = fc.record(
      {
        jsonrpc: fc.constantFrom('2.0', '1.0'),
        id: fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
        method: fc.oneof(fc.constantFrom(...methods), fc.string()),
        params: fc.oneof(
          fc.record({ name: fc.constantFrom('get_thread', 'read_messages'), arguments: fc.jsonValue() }),
          fc.record({ _meta: fc.oneof(fc.jsonValue(), fc.constant(metaOf())), uri: fc.webUrl() }),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(messages, fc.constantFrom(...ERAS, undefined), async (message, revision) => {
        const headers =
          revision === undefined ? {} : headersOf(String(message.method).replaceAll(/[^a-z/]/g, ''))
        const { status } = await postMcp(app, message, headers)
        expect(status, JSON.stringify(message)).to.be.below(500)
      }),
      { numRuns: 60 },
    )
  })

  it('counts each request of a batch, and answers none of one that is too much', async () => {
    const small = await startTestApp({ env: { CHAT_LIMITS: JSON.stringify({ readsPerMinute: 11 }) } })
    try {
      const batch = (length: number, ip: string) =>
        postMcp<McpAnswer[] & { error?: string }>(
          small,
          [...Array.from({ length }, (_, id) => request('ping', undefined, id)), initialized],
          { 'x-forwarded-for': ip },
        )
      expect((await batch(9, '10.1.2.3')).body).to.have.length(9)
      expect((await batch(2, '10.1.2.3')).body).to.have.length(2)
      const over = await batch(1, '10.1.2.3')
      expect([over.status, over.body.error]).to.deep.equal([429, 'rate_limited'])
      for (const _ of [1, 2]) await batch(4, '10.1.2.4')
      const most = await batch(4, '10.1.2.4')
      expect([most.status, most.body.error]).to.deep.equal([429, 'rate_limited'])
      expect(most.headers.get('retry-after')).to.match(/^\d+$/)
    } finally {
      await small.close()
    }
  })

  it('counts requests with the reads of the chat, and posts with its posts', async () => {
    const limits = { readsPerMinute: 6, postsPerMinute: 1 }
    const small = await startTestApp({ env: { CHAT_LIMITS: JSON.stringify(limits) } })
    try {
      const headers = { 'x-forwarded-for': '10.1.2.3' }
      const elsewhere = { 'x-forwarded-for': '10.1.2.4' }
      const post = (text: string, from: Record<string, string>) =>
        callTool(small, 'post_message', { agent_name: 'Ann', text }, from)
      expect((await post('The first of them.', headers)).isError).to.equal(undefined)
      const refused = await post('The second of them.', headers)
      expect(refused.isError).to.equal(true)
      const { error, retry_after } = JSON.parse((refused.content[0] as { text: string }).text)
      expect(error).to.equal('rate_limited')
      expect(retry_after).to.be.within(1, 60)
      expect((await post('From another address.', elsewhere)).isError).to.equal(undefined)

      for (let read = 0; read < 3; read++) await small.request('GET', '/api/prompts/daily', { headers })
      expect((await callMcp(small, '2025-11-25', 'ping', {}, headers)).status).to.equal(200)
      const over = await callMcp(small, '2025-11-25', 'ping', {}, headers)
      expect(over.status).to.equal(429)
      expect(over.headers.get('retry-after')).to.match(/^\d+$/)
    } finally {
      await small.close()
    }
  })
})
