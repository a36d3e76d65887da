import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { Type } from 'typebox'
import { PIECE_BYTES, UNREAD_MAX_BYTES } from '../../src/http/connections/unread.ts'
import { Reply, route } from '../../src/http/route.ts'
import { eventually } from '../support/eventually.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const MIB = 2 ** 20
/** More than the kernel takes for a client that reads nothing. */
const LARGE_BYTES = 16 * MIB
const bytes = new Uint8Array(new SharedArrayBuffer(LARGE_BYTES)).map((_, at) => at % 251)
const text = 'ä'.repeat(3 * PIECE_BYTES)
const large = 'x'.repeat(LARGE_BYTES)

describe('answers that are not read', () => {
  let kit: HttpKit
  let begun: string[]
  const sockets: Socket[] = []
  const file = (path: `/${string}`, body: () => string | Uint8Array) =>
    route({
      name: path.slice(1),
      method: 'GET',
      path,
      auth: 'none',
      cost: 0,
      tag: 'Test',
      summary: 'A file',
      produces: 'text/plain; charset=utf-8',
      response: { 200: Type.String() },
      errors: [],
      handler: () => {
        begun.push(path)
        return new Reply(200, body())
      },
    })
  beforeEach(async () => {
    begun = []
    kit = await startHttpKit([
      file('/bytes', () => bytes),
      file('/text', () => text),
      file('/large', () => large),
      file('/small', () => 'small'),
    ])
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await kit.close()
  })
  /** A connection that sends requests and reads nothing yet. */
  const ask = (...paths: string[]): Socket => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(kit.url).port) })
    socket.on('error', () => undefined).pause()
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
    sockets.push(socket)
    return socket
  }

  it('arrive whole when they are large, with their length, also to HEAD', async () => {
    const answer = await kit.request('GET', '/bytes')
    expect(answer.headers.get('content-length')).to.equal(String(LARGE_BYTES))
    expect(Buffer.compare(answer.bytes, Buffer.from(bytes))).to.equal(0)
    const words = await kit.request('GET', '/text')
    expect(words.headers.get('content-length')).to.equal(String(Buffer.byteLength(text)))
    expect(words.bytes.toString() === text).to.equal(true)
    const head = await kit.request('HEAD', '/text')
    expect(head.headers.get('content-length')).to.equal(String(Buffer.byteLength(text)))
  })

  it('keep the requests behind them waiting, which are answered in order once they are read', async () => {
    const socket = ask('/bytes', '/small', '/text', '/small')
    await eventually('the first', () => begun.length > 0)
    await kit.request('GET', '/small')
    expect(begun).to.deep.equal(['/bytes', '/small'])
    let received = 0
    socket.on('data', (chunk) => {
      received += chunk.length
    })
    socket.resume()
    // Each begins in a turn of its own.
    await eventually(
      'all answers',
      () => received > LARGE_BYTES + Buffer.byteLength(text) && begun.length > 4,
    )
    expect(begun).to.deep.equal(['/bytes', '/small', '/small', '/text', '/small'])
  })

  it('wait up to a bound in all, then whoever has taken nothing for the longest time is cut off', async () => {
    const fitting = Math.floor(UNREAD_MAX_BYTES / LARGE_BYTES)
    const unread: Socket[] = []
    const closed: number[] = []
    for (let i = 0; i < fitting + 2; i++) {
      const socket = ask('/large')
      unread.push(socket)
      socket.once('close', () => closed.push(i))
      await eventually('the request', () => begun.length === i + 1)
    }
    // The kernel tells of the end once everything before it was read.
    for (const socket of unread) socket.resume()
    await eventually('two ends', () => closed.length === 2)
    expect(closed.sort()).to.deep.equal([0, 1])
  })

  it('are not counted when they are the same bytes for everybody', async () => {
    const unread = Array.from({ length: UNREAD_MAX_BYTES / LARGE_BYTES + 4 }, () => ask('/bytes'))
    await eventually('the requests', () => begun.length === unread.length)
    const received = unread.map((socket) => {
      let count = 0
      socket.on('data', (chunk) => {
        count += chunk.length
      })
      socket.resume()
      return () => count
    })
    await eventually('all answers', () => received.every((count) => count() > LARGE_BYTES))
  })

  it('of a client that goes away are forgotten', async () => {
    for (let i = 0; i < 2 * (UNREAD_MAX_BYTES / LARGE_BYTES); i++) {
      const socket = ask('/large')
      await eventually('the request', () => begun.length === i + 1)
      socket.destroy()
      await once(socket, 'close')
    }
    expect((await kit.request('GET', '/large')).bytes.length).to.equal(LARGE_BYTES)
  })
})
