import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect } from 'chai'
import Type from 'typebox'
import { fail } from '../../src/errors.ts'
import { closeHttpServer, createHttpServer } from '../../src/http/connections/server.ts'
import {
  answerLater,
  createEventStreams,
  type EventConnection,
  type EventStreams,
  eventFrame,
  UNSENT_MAX_BYTES,
} from '../../src/http/event-stream.ts'
import { route } from '../../src/http/route.ts'
import { openStream } from '../support/chat/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const HEARTBEAT_MS = 40
/** Frames sent to a client that does not read, 64 KiB each. */
const MOST_ROUNDS = 400

describe('event streams', () => {
  let kit: HttpKit
  let streams: EventStreams
  let connections: EventConnection[]
  let ended: number
  let answerSlow: (() => void) | undefined

  beforeEach(async () => {
    connections = []
    ended = 0
    answerSlow = undefined
    streams = createEventStreams({ heartbeatMs: HEARTBEAT_MS })
    const follow = (path: `/${string}`, start = () => undefined as unknown) =>
      route({
        name: `follow${path.length}`,
        method: 'GET',
        path,
        auth: 'none',
        cost: 0,
        tag: 'Test',
        summary: 'Follow',
        response: { 200: Type.String() },
        produces: 'text/event-stream',
        errors: ['unavailable'],
        handler: () =>
          streams.answer((connection) => {
            start()
            connections.push(connection)
            return () => ended++
          }),
      })
    const slow = route({
      name: 'slow',
      method: 'GET',
      path: '/api/slow',
      auth: 'none',
      cost: 0,
      tag: 'Test',
      summary: 'Answers when the test says so',
      response: { 200: Type.Object({ slow: Type.Boolean() }) },
      errors: [],
      handler: () =>
        new Promise<{ slow: boolean }>((resolve) => {
          answerSlow = () => resolve({ slow: true })
        }),
    })
    kit = await startHttpKit([follow('/api/stream'), follow('/api/refused', () => fail('unavailable')), slow])
  })
  afterEach(async () => {
    streams.close()
    await kit.close()
  })

  const open = async (headers: Record<string, string> = {}) => {
    const reader = await openStream(`${kit.url}/api/stream`, headers)
    const connection = connections.at(-1)
    if (connection === undefined) throw new Error('nothing was opened')
    return { reader, connection }
  }
  /** A client that never reads. */
  const openStalled = async (): Promise<{ socket: Socket; connection: EventConnection }> => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(kit.url).port) })
    socket.on('error', () => undefined)
    socket.pause()
    const before = connections.length
    socket.write('GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await eventually('a stream', () => connections.length > before)
    return { socket, connection: connections.at(-1) as EventConnection }
  }

  it('begin at once, with when to come back and a comment, under headers that keep proxies from holding them', async () => {
    const { reader } = await open()
    await reader.until(({ text }) => text().includes(': open\n'))
    // No blank line yet: it would be an event without data to readers that are built on fetch.
    expect(reader.text()).to.match(/^retry: 3000\n: open\n(:\n)*$/)
    expect(reader.status).to.equal(200)
    expect(reader.headers).to.include({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    })
    expect(reader.headers).to.not.have.any.keys('content-encoding', 'content-length', 'transfer-encoding')
    expect(reader.headers['x-request-id']).to.be.a('string')
    reader.close()
  })

  it('are never compressed, even for clients that would take it', async () => {
    const { reader } = await open({ 'accept-encoding': 'gzip, br' })
    expect(reader.headers['content-encoding']).to.equal(undefined)
    reader.close()
  })

  it('carry events as one line of data each, whatever the texts hold', async () => {
    const { reader, connection } = await open()
    const data = { text: 'one\ntwo\r\nthree\rfour\u2028five\n\nevent: forged\ndata: 1\n\n' }
    connection.send(eventFrame('message', JSON.stringify(data), 7), eventFrame('delete', '{"id":3}'))
    await reader.until(({ events }) => events.length === 2)
    expect(reader.events).to.deep.equal([
      { event: 'message', id: '7', data },
      { event: 'delete', data: { id: 3 } },
    ])
    reader.close()
  })

  it('are kept awake by comments, from one timer for all', async () => {
    const readers = await Promise.all([open(), open(), open()])
    for (const { reader } of readers) {
      await reader.until(({ text }) => text().split('\n:\n').length > 2)
      expect(reader.text()).to.not.include('\n\n')
    }
    expect(streams.open).to.equal(3)
    for (const { reader } of readers) reader.close()
  })

  it('are counted, and say once that they have ended when the client goes', async () => {
    const { reader } = await open()
    expect([streams.open, ended]).to.deep.equal([1, 0])
    reader.close()
    await eventually('the end of the streams', () => streams.open === 0)
    expect(ended).to.equal(1)
  })

  it('answer a refusal like any other route, and HEAD with the headers alone', async () => {
    const refused = await kit.request('GET', '/api/refused')
    expect([refused.status, refused.body.error]).to.deep.equal([503, 'unavailable'])
    const head = await kit.request('HEAD', '/api/stream')
    expect([head.status, head.bytes.length, head.headers.get('content-type')]).to.deep.equal([
      200,
      0,
      'text/event-stream; charset=utf-8',
    ])
    expect([connections.length, streams.open]).to.deep.equal([0, 0])
  })

  it('have a log line and a metric when they begin, and headers for pages of other origins', async () => {
    const { reader } = await open({ origin: 'https://elsewhere.example' })
    expect(reader.headers['access-control-allow-origin']).to.equal('*')
    const counted = (await kit.metrics.json()).find(({ name }) => name === 'http_request_duration_seconds')
    const labels = counted?.values.map((value) => value.labels)
    expect(labels?.some((label) => label.route === '/api/stream' && label.status === '200')).to.equal(true)
    reader.close()
  })

  it('outlive the time-outs of requests and idle connections', async () => {
    const { server } = kit
    Object.assign(server, { headersTimeout: 50, requestTimeout: 50, keepAliveTimeout: 50 })
    const { reader, connection } = await open()
    // The server looks for late requests once a second.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    connection.send(eventFrame('message', '{}', 1))
    await reader.until(({ events }) => events.length === 1)
    reader.close()
  })

  it('cut off a client that does not read before it costs memory, and nobody else', async () => {
    const { reader } = await open()
    const stalled = await openStalled()
    const closed = once(stalled.socket, 'close')
    const frame = eventFrame('message', `"${'x'.repeat(64 * 1024)}"`, 1)
    const all = connections
    // Far more than the kernel's buffers and ours hold together.
    for (let round = 0; round < MOST_ROUNDS && streams.open > 1; round++) {
      for (const connection of all) connection.send(frame)
      await reader.until(({ events }) => events.length === round + 1)
    }
    expect(streams.open).to.equal(1)
    expect(reader.events.length).to.be.greaterThan(UNSENT_MAX_BYTES / frame.length)
    stalled.socket.resume()
    await closed
    reader.close()
  })

  it('take one large piece when nothing waits, so that a replay always arrives', async () => {
    const { reader, connection } = await open()
    await reader.until(({ text }) => text().includes(': open\n'))
    const part = `"${'x'.repeat(100 * 1024)}"`
    connection.send(...Array.from({ length: 30 }, (_, i) => eventFrame('message', part, i + 1)))
    await reader.until(({ events }) => events.length === 30)
    reader.close()
  })

  it('end with the server: clients are told to come back, at different times, and the stalled are cut off', async () => {
    const readers = await Promise.all(Array.from({ length: 5 }, () => open()))
    const stalled = await openStalled()
    // More than the kernel takes, so that the end can't be sent.
    stalled.connection.send(eventFrame('message', JSON.stringify('x'.repeat(16 * UNSENT_MAX_BYTES)), 1))
    streams.close()
    await Promise.all(readers.map(({ reader }) => reader.ended))
    await eventually('the end of the streams', () => streams.open === 0)
    const nothingWasCut = closeHttpServer(kit.server)
    const retries = readers.map(({ reader }) => /\nretry: (\d+)\n$/.exec(reader.text())?.[1])
    expect(new Set(retries).size).to.equal(5)
    expect(retries.every((ms) => Number(ms) >= 1000 && Number(ms) < 4000)).to.equal(true)
    expect(await nothingWasCut).to.equal(true)
    expect([streams.open, ended]).to.deep.equal([0, 6])
    stalled.socket.destroy()
  })

  it('begin behind another request of the same connection once that is answered, and end with their client', async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(kit.url).port) })
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    socket.write('GET /api/slow HTTP/1.1\r\nHost: a\r\n\r\nGET /api/stream HTTP/1.1\r\nHost: a\r\n\r\n')
    await eventually('the slow request', () => answerSlow !== undefined)
    expect(streams.open).to.equal(0)
    answerSlow?.()
    await eventually('the stream', () => text.includes('retry: 3000'))
    expect(text).to.match(/\{"slow":true\}HTTP\/1\.1 200 OK.*\r\n\r\nretry: 3000\n/s)
    socket.destroy()
    await eventually('its end', () => streams.open === 0)
    expect([connections.length, ended]).to.deep.equal([1, 1])
  })

  it('are one for each connection, however often it asks', async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(kit.url).port) })
    socket.on('error', () => undefined)
    socket.write('GET /api/stream HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(5))
    await eventually('the first', () => streams.open === 1)
    // As if it had sent the others after that, too.
    socket.write('GET /api/stream HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(5))
    await new Promise((resolve) => setTimeout(resolve, 5 * HEARTBEAT_MS))
    expect([connections.length, streams.open]).to.deep.equal([1, 1])
    socket.destroy()
    await eventually('the end of the streams', () => streams.open === 0)
    expect(ended).to.equal(1)
  })

  it('can end at once, which tells a browser to come back where any other status would be for good', async () => {
    const server = createHttpServer((_, response) => answerLater(response, 2000)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const reader = await openStream(`http://127.0.0.1:${port}/`)
    await reader.ended
    expect([reader.status, reader.headers['content-type'], reader.text()]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
      'retry: 2000\n',
    ])
    server.close()
  })

  it('end as soon as they begin once the server ends, since a browser comes back after nothing else', async () => {
    streams.close()
    const reader = await openStream(`${kit.url}/api/stream`)
    await reader.ended
    expect([reader.status, reader.headers['content-type'], reader.text()]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
      'retry: 1000\n',
    ])
    expect(connections).to.deep.equal([])
  })
})
