import { once } from 'node:events'
import { IncomingMessage } from 'node:http'
import { connect, Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { Type } from 'typebox'
import type { AppError } from '../../src/errors.ts'
import { createArrivingBodies } from '../../src/http/input/arriving.ts'
import { BODY_LIMIT_BYTES, readBody } from '../../src/http/input/body.ts'
import { JSON_MAX_DEPTH, JSON_MAX_KEYS_PER_OBJECT, parseJson } from '../../src/http/input/json.ts'
import { type BodyLimit, route } from '../../src/http/route.ts'
import { heldMemory } from '../support/fuzz/held-memory.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'
import { rejection } from '../support/rejection.ts'

const Received = Type.Object({ keys: Type.Array(Type.String()) })

const take = <B extends Parameters<typeof route>[0]['body']>(
  path: `/${string}`,
  body: B,
  bodyLimit?: BodyLimit,
) =>
  route({
    name: `take${path}`,
    method: 'POST',
    path,
    auth: 'none',
    tag: 'Test',
    summary: path,
    body,
    bodyLimit,
    response: { 200: Received },
    errors: [],
    handler: (request) => ({ keys: Object.keys(request.body as object) }),
  })

const count = (refuse: (error: AppError) => void) => createArrivingBodies().count('a', refuse)

const Closed = Type.Object({ text: Type.String(), note: Type.Optional(Type.String()) })

describe('request bodies', () => {
  let kit: HttpKit
  before(async () => {
    kit = await startHttpKit([
      take('/closed', Closed),
      take('/batch', Closed, 'batch'),
      take('/chat', Closed, 'chat'),
      take('/optional', Type.Object({ note: Type.Optional(Type.String()) })),
      take('/open', Type.Object({ data: Type.Record(Type.String(), Type.Unknown()) })),
    ])
  })
  after(() => kit.close())

  const post = async (path: string, body: unknown, headers?: Record<string, string>) => {
    const { status, body: answer } = await kit.request('POST', path, { body, headers })
    return [status, answer.error ?? answer.keys, answer.details]
  }

  it('what is not JSON is 400 invalid_json', async () => {
    const texts = ['', '{', '{"text":}', "{'text':1}", '{"text":"a"} x', '\ufeff{"text":"a"}', 'NaN']
    for (const text of texts)
      expect((await post('/closed', text)).slice(0, 2), text).to.deep.equal([400, 'invalid_json'])
    for (const number of ['-.12345678901234567', '-.5e300', '.1e-400', '1.2.3e5', '--1e999'])
      expect((await post('/closed', `{"text":${number}}`)).slice(0, 2), number).to.deep.equal([
        400,
        'invalid_json',
      ])
    const latin1 = Buffer.from('{"text":"\xe9"}', 'latin1')
    expect((await post('/closed', latin1)).slice(0, 2)).to.deep.equal([400, 'invalid_json'])
  })

  it('JSON that is not an object is 400 invalid_request', async () => {
    for (const text of ['null', '1', '"text"', '[]', 'true']) {
      expect((await post('/closed', text)).slice(0, 2), text).to.deep.equal([400, 'invalid_request'])
    }
  })

  it('a body may be left out exactly where every field is optional', async () => {
    expect((await post('/optional', undefined)).slice(0, 2)).to.deep.equal([200, []])
    expect((await post('/closed', undefined)).slice(0, 2)).to.deep.equal([400, 'invalid_json'])
  })

  it('only application/json in UTF-8, uncompressed, is accepted', async () => {
    const text = '{"text":"a"}'
    const accepted = [
      'application/json',
      'Application/JSON; charset=UTF-8',
      'application/json;charset="utf-8"',
    ]
    for (const type of accepted)
      expect((await post('/closed', text, { 'content-type': type }))[0], type).to.equal(200)
    const refused = [
      'text/plain',
      'application/json; charset=latin1',
      'application/jsonp',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
    ]
    for (const type of refused)
      expect((await post('/closed', text, { 'content-type': type }))[0], type).to.equal(415)
    expect((await post('/closed', gzipSync(text), { 'content-encoding': 'gzip' }))[0]).to.equal(415)
    expect((await post('/closed', text, { 'content-encoding': 'identity' }))[0]).to.equal(200)
  })

  it('each class of route has its own size limit, exact to the byte', async () => {
    for (const [path, limit] of [
      ['/closed', BODY_LIMIT_BYTES.default],
      ['/batch', BODY_LIMIT_BYTES.batch],
      ['/chat', BODY_LIMIT_BYTES.chat],
    ] as const) {
      const frame = '{"text":""}'.length
      const fits = `{"text":"${'a'.repeat(limit - frame)}"}`
      expect((await post(path, fits))[0], path).to.equal(200)
      expect((await post(path, `${fits} `)).slice(0, 2), path).to.deep.equal([413, 'payload_too_large'])
    }
  })

  it('a body of unannounced length is cut off at the limit, and the connection closes', async () => {
    const { port } = new URL(kit.url)
    const socket = connect(Number(port), '127.0.0.1')
    const answer = new Promise<string>((resolve, reject) => {
      let text = ''
      socket
        .on('data', (chunk) => {
          text += chunk.toString()
        })
        .on('close', () => resolve(text))
        .on('error', reject)
    })
    socket.write(
      'POST /chat HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    const chunk = 'a'.repeat(BODY_LIMIT_BYTES.chat)
    // Never ended: the answer must not wait for the rest.
    for (let i = 0; i < 2; i++) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    const text = await answer
    expect(text).to.match(/^HTTP\/1\.1 413 /)
    expect(text).to.match(/\r\nConnection: close\r\n/i)
    expect(text).to.include('"error":"payload_too_large"')
    expect(await kit.metrics.text()).to.include('http_arriving_bytes 0\n')
  })

  it('a client that sends far too much at once still has its answer, and no reset of the connection', async () => {
    const { port } = new URL(kit.url)
    const body = Buffer.alloc(12 * 1024 * 1024, 'a')
    const head = `POST /closed HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const later = 'GET /closed HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(6)
    for (let round = 0; round < 5; round++) {
      const socket = connect(Number(port), '127.0.0.1')
      // Who sends reads nothing before all is sent, as many clients do.
      await new Promise<void>((sent, failed) => {
        socket
          .once('error', failed)
          .write(Buffer.concat([Buffer.from(head), body, Buffer.from(later)]), () => sent())
      })
      const parts: Buffer[] = []
      for await (const part of socket) parts.push(part)
      expect(Buffer.concat(parts).toString(), `round ${round}`).to.match(
        /^HTTP\/1\.1 413 .*"payload_too_large"/s,
      )
    }
  })

  it('a body that ends with what makes it too large is refused at once: nothing is left to wait for', async () => {
    const request = new IncomingMessage(new Socket())
    let refused: Error | undefined
    const reading = rejection(readBody(request, 10, count)).then((error) => {
      refused = error
    })
    const ended = once(request, 'end')
    request.push(Buffer.alloc(11))
    request.push(null)
    await ended
    await turn()
    expect(refused).to.include({ code: 'payload_too_large' })
    await reading
  })

  it('a client that went away before its body was asked for leaves nothing waiting', async () => {
    const request = new IncomingMessage(new Socket())
    request.headers['content-length'] = '5'
    const closed = once(request, 'close')
    request.destroy()
    await closed
    expect(await rejection(readBody(request, 10, count))).to.include({ code: 'invalid_request' })
  })

  it('holds no more than its bytes, however small the pieces are in which they come', async () => {
    const pieces = BODY_LIMIT_BYTES.default
    const request = new IncomingMessage(new Socket())
    const reading = readBody(request, pieces, count)
    const before = await heldMemory()
    for (let i = 0; i < pieces; i++) request.emit('data', Buffer.from('a'))
    const after = await heldMemory()
    expect(after.heap - before.heap).to.be.below(2e6)
    expect(after.outside - before.outside).to.be.below(2 * pieces + 65_536)
    request.emit('end')
    expect((await reading).equals(Buffer.alloc(pieces, 'a'))).to.equal(true)
  })

  it('keys that reach prototypes are refused anywhere, however they are spelt', async () => {
    const bodies = {
      '{"text":"a","__proto__":{"x":1}}': '/__proto__',
      '{"text":"a","extra":[{"constructor":1}]}': '/extra/0/constructor',
      '{"text":"a","\\u005f_proto__":{}}': '/__proto__',
      '{"text":"a","a/b~":{"c\\u006fnstructor":{}}}': '/a~1b~0/constructor',
    }
    for (const [text, path] of Object.entries(bodies)) {
      const [status, error, details] = await post('/closed', text)
      expect([status, error], text).to.deep.equal([400, 'invalid_request'])
      expect(details).to.have.nested.property('[0].path', path)
    }
    expect((await post('/closed', '{"text":"the constructor of __proto__"}'))[0]).to.equal(200)
  })

  it('text that no database could keep is refused: U+0000 and lone surrogates', async () => {
    for (const text of [
      '{"text":"\\u0000"}',
      '{"text":"\\ud800"}',
      '{"text":"\\udc00\\ud800"}',
      '{"text":"a","k\\u0000":1}',
    ]) {
      expect((await post('/closed', text)).slice(0, 2), text).to.deep.equal([400, 'invalid_request'])
    }
    expect((await post('/closed', '{"text":"\\ud83d\\ude00"}'))[0]).to.equal(200)
  })

  it('where a schema leaves the shape open, depth and keys are bounded', async () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
    const wide = (keys: number) =>
      JSON.stringify({ data: Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, i])) })
    expect((await post('/open', `{"data":${nested(JSON_MAX_DEPTH - 1)}}`))[0]).to.equal(200)
    expect((await post('/open', `{"data":${nested(JSON_MAX_DEPTH)}}`)).slice(0, 2)).to.deep.equal([
      400,
      'invalid_request',
    ])
    expect((await post('/open', wide(JSON_MAX_KEYS_PER_OBJECT)))[0]).to.equal(200)
    expect((await post('/open', wide(JSON_MAX_KEYS_PER_OBJECT + 1))).slice(0, 2)).to.deep.equal([
      400,
      'invalid_request',
    ])
    const deepest = `{"data":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`
    expect((await post('/open', deepest)).slice(0, 2)).to.deep.equal([400, 'invalid_request'])
  })

  it('deep nesting in a member that no schema names does no harm', async () => {
    const deep = (levels: number) => `{"text":"a","extra":${'['.repeat(levels)}${']'.repeat(levels)}}`
    expect((await post('/closed', deep(100_000))).slice(0, 2)).to.deep.equal([400, 'invalid_request'])
    expect((await post('/closed', deep(JSON_MAX_DEPTH - 1))).slice(0, 2)).to.deep.equal([
      422,
      'unknown_member',
    ])
  })

  it('what is not JSON is refused with its place, and nothing of it is told', async () => {
    const said = async (text: string) => {
      const { body } = await kit.request('POST', '/closed', { body: text })
      return `${body.error} ${body.message}`
    }
    const cases = [
      ['{"text":}', 'line 1, column 9'],
      ['{"text":"a",\n  "note": tru}', 'line 2, column 11'],
      ['{"text":"a"', 'line 1, column 12'],
      [`{"text":"${'é'.repeat(60_000)}",}`, 'line 1, column 60012'],
    ] as const
    for (const [text, place] of cases)
      expect(await said(text), place).to.equal(`invalid_json The request body is not valid JSON: ${place}.`)
    expect(await said('{"text":"a","hunter2":hunter3}')).to.not.match(/hunter/)
  })

  it('a name that occurs twice in one object is refused, at every level and however it is spelt', async () => {
    const cases = [
      ['/closed', '{"text":"a","text":"b"}', 'line 1, column 13'],
      ['/closed', '{"text":"a","text":"a"}', 'duplicate member in an object.'],
      ['/closed', '{"text":"a","\\u0074ext":"b"}', 'line 1, column 13'],
      ['/open', '{"data":{"a":[{"b":1,\n"b":{"c":":"}}]}}', 'line 2, column 1'],
      ['/open', '{"data":{"__proto__":1,"__proto__":2}}', 'line 1, column 24'],
    ] as const
    for (const [path, text, place] of cases) {
      const { status, body } = await kit.request('POST', path, { body: text })
      expect([status, body.error], text).to.deep.equal([400, 'invalid_json'])
      expect(body.message, text).to.include('duplicate member').and.include(place)
    }
    const fine = '{"data":{"a":{"b":":,:"},"b":{"b":[{"b":1},{"b":"\\":"}]},"\\"a\\":":1}}'
    expect((await post('/open', fine))[0]).to.equal(200)
  })

  it('finding that a name occurs twice takes time that grows as the text does', () => {
    const milliseconds = (members: number) => {
      const text = Buffer.from(`{${Array.from({ length: members }, (_, i) => `"k${i}":1`).join()},"k0":2}`)
      const start = performance.now()
      expect(() => parseJson(text, false)).to.throw('duplicate member')
      return performance.now() - start
    }
    // Comparing every name with every other would take minutes.
    expect(milliseconds(60_000)).to.be.below(4000)
  })
})
