/** Outbound calls to servers that are slow, endless or lying: every answer ends within its time and its size. */

import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { EgressError } from '../../src/net/egress-error.ts'
import { createSafeFetch, type SafeFetch, type SafeFetchRequest } from '../../src/net/safe-fetch.ts'
import { rejection } from '../support/rejection.ts'
import { redirectTo, startTargetServer, type TargetServer } from '../support/servers/target-server.ts'

const MEBIBYTE = 1024 * 1024
const SHORT_MS = 150

const ask: SafeFetchRequest = {
  method: 'GET',
  headers: {},
  maxBytes: 1000,
  deadlineMs: 10_000,
  redirects: 3,
  allowListed: true,
}

describe('safe fetch: limits', () => {
  let target: TargetServer
  let raw: Server
  let rawUrl: string
  let answerRaw = ''
  let safeFetch: SafeFetch
  before(async () => {
    target = await startTargetServer()
    safeFetch = createSafeFetch({ allowCidrs: ['127.0.0.0/8'], resolve: () => new Promise(() => undefined) })
    raw = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(answerRaw))
    }).listen(0, '127.0.0.1')
    await once(raw, 'listening')
    const address = raw.address()
    rawUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`
  })
  after(async () => {
    await Promise.all([safeFetch.close(), target.close()])
    raw.close()
  })

  const refusal = async (path: string, request: Partial<SafeFetchRequest> = {}): Promise<EgressError> => {
    const url = path.startsWith('http') ? path : target.url + path
    const error = (await rejection(safeFetch(url, { ...ask, ...request }))) as EgressError
    expect(error.name, error.stack).to.equal('EgressError')
    return error
  }

  /** Serves bytes with an encoding. @returns the path */
  const serve = (bytes: Buffer | string, encoding?: string): string => {
    target.on('/served', (_, response) => {
      response.writeHead(200, encoding === undefined ? {} : { 'content-encoding': encoding }).end(bytes)
    })
    return '/served'
  }

  it('ends a call that waits for a name, for a head, for a body, or between redirects', async () => {
    target.on('/silent', () => undefined)
    target.on('/headless', (_, response) => {
      response.socket?.write('HTTP/1.1 200 OK\r\nX-Slow: ')
    })
    target.on('/bodyless', (_, response) => {
      response.writeHead(200, { 'content-length': '10' }).flushHeaders()
    })
    target.on('/round', redirectTo('/silent'))
    const urls = ['http://name.example/', '/silent', '/headless', '/bodyless', '/round']
    const started = performance.now()
    const kinds = await Promise.all(urls.map((url) => refusal(url, { deadlineMs: SHORT_MS })))
    expect(kinds.map(({ kind }) => kind)).to.deep.equal(urls.map(() => 'timeout'))
    // undici gives up on a connection after five seconds; the call must not wait for that.
    expect(performance.now() - started).to.be.below(4000)
  })

  it('ends a body that drips, however steadily, and drops its connection', async () => {
    let dropped: Promise<unknown> | undefined
    target.on('/drip', (_, response) => {
      const timer = setInterval(() => response.write('.'), 10)
      dropped = once(response, 'close').finally(() => clearInterval(timer))
    })
    expect(await refusal('/drip', { deadlineMs: SHORT_MS })).to.include({ kind: 'timeout' })
    await dropped
  })

  it('accepts exactly as many bytes as allowed', async () => {
    expect((await safeFetch(target.url + serve('x'.repeat(1000)), ask)).body).to.have.length(1000)
    expect(await refusal(serve('x'.repeat(1001)))).to.include({ kind: 'too_large', status: 200 })
  })

  it('stops reading an endless body, and one of 10 MiB, at the limit', async () => {
    let written = 0
    let dropped: Promise<unknown> | undefined
    target.on('/endless', (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536
      }
      response.on('drain', more)
      dropped = once(response, 'close')
      more()
    })
    expect(await refusal('/endless')).to.include({ kind: 'too_large' })
    await dropped
    expect(written).to.be.below(32 * MEBIBYTE)
    const large = Buffer.alloc(10 * MEBIBYTE, 'x')
    expect(await refusal(serve(large), { maxBytes: 5 * MEBIBYTE })).to.include({ kind: 'too_large' })
    const whole = await safeFetch(target.url + serve(large), { ...ask, maxBytes: 10 * MEBIBYTE })
    expect(whole.body.equals(large)).to.equal(true)
  })

  const packers: readonly (readonly [what: string, encoding: string, pack: (bytes: Buffer) => Buffer])[] = [
    ['gzip', 'gzip', gzipSync],
    ['gzip by its old name', 'X-GZIP', gzipSync],
    ['deflate', 'deflate', deflateSync],
    ['deflate without a zlib head', 'deflate', deflateRawSync],
    ['br', 'br', brotliCompressSync],
    ['what is not packed', 'identity', (bytes) => bytes],
  ]
  for (const [what, encoding, pack] of packers) {
    it(`unpacks ${what} up to the limit and not beyond`, async () => {
      const text = Buffer.alloc(1000, 'x')
      expect((await safeFetch(target.url + serve(pack(text), encoding), ask)).body.equals(text)).to.equal(
        true,
      )
      const larger = pack(Buffer.alloc(1001, 'x'))
      expect(await refusal(serve(larger, encoding))).to.include({ kind: 'too_large', status: 200 })
    })
  }

  it('stops a bomb at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MEBIBYTE))
    const before = process.memoryUsage().arrayBuffers
    expect(await refusal(serve(bomb, 'gzip'), { maxBytes: MEBIBYTE })).to.include({ kind: 'too_large' })
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(32 * MEBIBYTE)
  })

  it('refuses encodings that it does not know, more than one, and broken ones', async () => {
    const packed = gzipSync('hello')
    for (const [bytes, encoding] of [
      [packed, 'zstd'],
      [packed, 'gzip, gzip'],
      [packed, 'constructor'],
      [packed.subarray(0, -4), 'gzip'],
      [Buffer.from('hello'), 'gzip'],
      [Buffer.from('hello'), 'br'],
    ] as const) {
      expect(await refusal(serve(bytes, encoding)), encoding).to.include({ kind: 'undecodable', status: 200 })
    }
  })

  it('answers HEAD and 204, which have no body, whatever their headers say', async () => {
    target.on('/empty', ({ method }, response) => {
      response.writeHead(method === 'HEAD' ? 200 : 204, { 'content-encoding': 'gzip' }).end()
    })
    for (const method of ['HEAD', 'GET'] as const) {
      expect((await safeFetch(`${target.url}/empty`, { ...ask, method })).body).to.have.length(0)
    }
  })

  it('bounds the head of an answer', async () => {
    target.on('/heady', (_, response) => {
      response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()
    })
    expect(await refusal('/heady')).to.include({ kind: 'too_large' })
  })

  it('refuses what is not HTTP, and answers that break off', async () => {
    answerRaw = 'SSH-2.0-OpenSSH_9.2\r\n'
    expect(await refusal(rawUrl)).to.include({ kind: 'undecodable' })
    answerRaw = 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort'
    expect(await refusal(rawUrl)).to.include({ kind: 'unreachable' })
    answerRaw = ''
    expect(await refusal(rawUrl)).to.include({ kind: 'unreachable' })
  })

  it('ends at once when its caller cancels, with the reason of the caller', async () => {
    const control = new AbortController()
    target.on('/cancel', () => control.abort(new Error('not needed any more')))
    const call = safeFetch(`${target.url}/cancel`, { ...ask, signal: control.signal })
    expect(await rejection(call)).to.have.property('message', 'not needed any more')
    const late = safeFetch(`${target.url}/cancel`, { ...ask, signal: control.signal })
    expect(await rejection(late)).to.have.property('message', 'not needed any more')
    expect(target.requests.filter(({ path }) => path === '/cancel')).to.have.length(1)
  })

  it('ends calls in flight when it is closed, and makes none afterwards', async () => {
    const closing = createSafeFetch({ allowCidrs: ['127.0.0.0/8'] })
    let closed: Promise<void> | undefined
    target.on('/closing', () => {
      closed = closing.close()
    })
    expect(await rejection(closing(`${target.url}/closing`, ask))).to.include({ kind: 'unreachable' })
    await closed
    expect(await rejection(closing(`${target.url}/`, ask))).to.include({ kind: 'unreachable' })
  })

  it('names the host and no path in its messages', async () => {
    const { message } = await refusal('http://10.0.0.1/path?token=secret')
    expect(message).to.include('10.0.0.1').and.not.include('secret').and.not.include('path')
  })
})
