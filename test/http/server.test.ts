import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { closeHttpServer, createHttpServer, HEADERS_MAX_BYTES } from '../../src/http/connections/server.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/programs.ts'

/** More than the kernel's buffers hold. */
const LARGE_BYTES = 32 * 1024 * 1024
/** What a slow machine takes to read them. */
const PATIENCE_MS = 20_000

/** A server that is closed while clients connect to it again and again, each of whose requests takes its only thread so long. */
const CONNECT_OFTEN = join(import.meta.dirname, '../support/programs/connect-often.ts')
const CLOSING_ROUNDS = 8
const WORK_MS = 3
const LOAD_MS = 200

/** What a request may take, and how long one is before it, so that its time is up meanwhile. */
const REQUEST_TIMEOUT_MS = 1000
const BEFORE_MS = 3000

const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Sends raw bytes, resolves with everything that came back once the server closes the connection. */
const exchange = (port: number, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket
      .on('data', (chunk) => {
        answer += chunk.toString()
      })
      .on('close', () => resolve(answer))
      .on('error', reject)
  })

describe('HTTP server', () => {
  it('requests that are not HTTP, or whose headers are too large, get the common error body', async () => {
    const server = createHttpServer((_, response) => response.end('ok'))
    const port = await listen(server)
    try {
      const garbage = await exchange(port, 'this is not HTTP\r\n\r\n')
      expect(garbage).to.match(/^HTTP\/1\.1 400 /)
      expect(JSON.parse(garbage.split('\r\n\r\n')[1] ?? '')).to.include({ error: 'invalid_request' })
      const large = await exchange(
        port,
        `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'a'.repeat(HEADERS_MAX_BYTES)}\r\n\r\n`,
      )
      expect(large).to.match(/^HTTP\/1\.1 431 /)
      expect(JSON.parse(large.split('\r\n\r\n')[1] ?? '').message).to.include(String(HEADERS_MAX_BYTES))
    } finally {
      await closeHttpServer(server)
    }
  })

  it('no field of a request is left out, however many there are: what a proxy adds may be the last', async () => {
    const told: unknown[] = []
    const server = createHttpServer(({ headers, rawHeaders }, response) => {
      told.push(headers['x-forwarded-for'], headers['idempotency-key'], rawHeaders.length / 2)
      response.end()
    })
    const port = await listen(server)
    const fields = Array.from({ length: 1500 }, (_, i) => `a${i}:\r\n`).join('')
    const last = 'Idempotency-Key: order-17\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n'
    await exchange(port, `GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.7\r\n${fields}${last}`)
    expect(told).to.deep.equal(['192.0.2.7, 203.0.113.9', 'order-17', 1505])
    await closeHttpServer(server)
  })

  it('an answer that has begun is broken off, and nothing written into it, when the rest of its request is no HTTP', async () => {
    const server = createHttpServer((_, response) => response.write('begun'))
    const socket = connect(await listen(server), '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString()
      if (answer.includes('begun')) socket.write('this is no chunk\r\n')
    })
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    await once(socket, 'close')
    expect(answer).to.match(/^HTTP\/1\.1 200 .*\r\n\r\n5\r\nbegun\r\n$/s)
    await closeHttpServer(server)
  })

  it('a request whose time was up behind others has it anew, and is refused when it is up again', async () => {
    const server = createHttpServer((request, response) => {
      if (request.url === '/slow') setTimeout(() => response.end('slow'), BEFORE_MS)
      else request.resume().on('end', () => response.end('whole'))
    })
    server.requestTimeout = REQUEST_TIMEOUT_MS
    server.headersTimeout = REQUEST_TIMEOUT_MS
    const port = await listen(server)
    const slow = 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'
    const fast = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
    const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n'
    /** Sends a text, and more once the slow answer is there. @returns what came back, while the connection stays open */
    const dial = (text: string, more = ''): { socket: Socket; answers: string } => {
      const client = { socket: connect(port, '127.0.0.1', () => client.socket.write(text)), answers: '' }
      client.socket.on('data', (chunk) => {
        if (client.answers === '') client.socket.write(more)
        client.answers += chunk.toString()
      })
      return client
    }
    const silent = dial(`${slow}${post}\r\n1234`)
    // Not even its headers had come, and there is no sign of it but their end.
    const late = dial(`${slow}${fast}${post}`, '\r\n1234')
    const punctual = dial(`${slow}${post}\r\n1234`, '5')
    await Promise.all([once(silent.socket, 'close'), once(late.socket, 'close')])
    expect(silent.answers).to.match(/^HTTP\/1\.1 200 .*slow.*HTTP\/1\.1 408 .*invalid_request/s)
    expect(late.answers).to.match(/^HTTP\/1\.1 200 .*slow.*whole.*HTTP\/1\.1 408 .*invalid_request/s)
    await new Promise((resolve) => setTimeout(resolve, REQUEST_TIMEOUT_MS))
    expect(punctual.answers).to.match(/slow.*whole$/s)
    punctual.socket.write(fast)
    await eventually('another answer', () => /whole.*whole$/s.test(punctual.answers))
    punctual.socket.destroy()
    await closeHttpServer(server)
  })

  it('an expectation that nobody knows is left aside', async () => {
    const server = createHttpServer((_, response) => response.end('answered'))
    const request = 'GET / HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n'
    expect(await exchange(await listen(server), request)).to.match(/^HTTP\/1\.1 200 .*answered$/s)
    await closeHttpServer(server)
  })

  it('requests behind one another on a connection let others have their turn', async () => {
    const begun: (string | undefined)[] = []
    const server = createHttpServer(({ url }, response) => {
      begun.push(url)
      for (const until = performance.now() + WORK_MS; performance.now() < until; );
      response.end('ok')
    })
    const port = await listen(server)
    const many = exchange(
      port,
      `${'GET /one-of-many HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(60)}GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    )
    await eventually('the first of them', () => begun.length > 0)
    await exchange(port, 'GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(begun).not.to.include('/last')
    await many
    expect(begun.at(-1)).to.equal('/last')
    await closeHttpServer(server)
  })

  it('closing lets open requests finish, accepts no new ones and waits for no idle connection', async () => {
    const open: ServerResponse[] = []
    const server = createHttpServer((request, response) => {
      if (request.url === '/slow') open.push(response)
      else response.end('ok')
    })
    const port = await listen(server)
    const url = `http://127.0.0.1:${port}`
    await (await fetch(url)).text()
    const slow = fetch(`${url}/slow`).then((answer) => answer.text())
    await eventually('the request', () => open.length > 0)
    const closed = closeHttpServer(server)
    // What the kernel has accepted by now is still answered.
    await eventually('the end of accepting', () => !server.listening)
    await exchange(port, 'GET / HTTP/1.1\r\n\r\n').then(
      () => expect.fail('accepted a connection while closing'),
      (error: NodeJS.ErrnoException) => expect(error.code).to.equal('ECONNREFUSED'),
    )
    open[0]?.end('finished')
    expect(await slow).to.equal('finished')
    expect(await closed).to.equal(true)
  })

  it('closing cuts off no client that is still reading an answer which was written already', async () => {
    const body = Buffer.alloc(LARGE_BYTES)
    let written: () => void = () => undefined
    const isWritten = new Promise<void>((resolve) => {
      written = resolve
    })
    const server = createHttpServer((_, response) => {
      response.end(body)
      written()
    })
    const socket = connect(await listen(server), '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await isWritten
    const closed = closeHttpServer(server, { timeoutMs: PATIENCE_MS })
    // Several looks at what is idle.
    await new Promise((resolve) => setTimeout(resolve, 200))
    let received = 0
    socket.on('data', (chunk) => {
      received += chunk.length
    })
    await once(socket, 'close')
    expect(received).to.be.greaterThan(body.length)
    expect(await closed).to.equal(true)
  })

  it('closing waits for nobody who connected and asks nothing', async () => {
    const server = createHttpServer((_, response) => response.end('ok'))
    const socket = connect(await listen(server), '127.0.0.1')
    await Promise.all([once(socket, 'connect'), once(server, 'connection')])
    expect(await closeHttpServer(server)).to.equal(true)
    socket.destroy()
  })

  it('closing answers what still arrives on an open connection, and tells the client to go elsewhere', async () => {
    const open: ServerResponse[] = []
    const server = createHttpServer((_, response) => open.push(response))
    const socket = connect(await listen(server), '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    const ended = once(socket, 'close')
    socket.write('GET /1 HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually('the first request', () => open.length === 1)
    const closed = closeHttpServer(server)
    const before = socket.bytesWritten
    socket.write('GET /2 HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually('the second request to arrive', () => open[0]?.req.socket.bytesRead === 2 * before)
    open[0]?.end('answer 1')
    await eventually('the turn of the second request', () => open.length === 2)
    open[1]?.end('answer 2')
    await ended
    expect(text).to.match(/keep-alive.*answer 1.*Connection: close.*answer 2$/s)
    expect(await closed).to.equal(true)
  })

  it('closing resets nobody who is just connecting, also while it works all the time', async function () {
    this.timeout(60_000)
    const servers = Array.from({ length: CLOSING_ROUNDS }, () =>
      createHttpServer((_, response) => {
        for (const until = performance.now() + WORK_MS; performance.now() < until; );
        response.end('ok')
      }),
    )
    const ports: number[] = []
    for (const server of servers) ports.push(await listen(server))
    const clients = startProgram(CONNECT_OFTEN, ports.map(String))
    try {
      for (const [i, server] of servers.entries()) {
        await clients.line(new RegExp(`^asking ${ports[i]}$`))
        await new Promise((resolve) => setTimeout(resolve, LOAD_MS))
        expect(await closeHttpServer(server)).to.equal(true)
        const { answers } = JSON.parse(await clients.line(new RegExp(`^{"port":${ports[i]},`)))
        for (const { answered, ...lost } of answers) {
          expect(answered).to.be.above(0)
          expect(lost).to.deep.equal({ reset: 0, unanswered: 0 })
        }
      }
    } finally {
      await clients.kill()
      for (const server of servers) await closeHttpServer(server)
    }
  })

  it('what does not finish in time is cut off', async () => {
    let arrived: () => void = () => undefined
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const server = createHttpServer(() => arrived())
    const url = `http://127.0.0.1:${await listen(server)}`
    const stuck = fetch(url).then(
      () => 'answered',
      () => 'cut off',
    )
    await arrival
    expect(await closeHttpServer(server, { timeoutMs: 20 })).to.equal(false)
    expect(await stuck).to.equal('cut off')
    expect(await closeHttpServer(server)).to.equal(true)
  })
})
