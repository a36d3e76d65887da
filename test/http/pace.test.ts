/** Clients that take what waits for them slowly, or not at all. The limits are those of a test: fractions of a second. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import type { Pace } from '../../src/http/connections/connections.ts'
import { closeHttpServer, createHttpServer, type HttpServer } from '../../src/http/connections/server.ts'
import { EVENT_STREAM_TYPE } from '../../src/http/event-stream.ts'
import { eventually } from '../support/eventually.ts'

const KIB = 1024
const MIB = 1024 * KIB
const PIECE = Buffer.alloc(16 * KIB, 'x')
/** More than the kernel takes for a client that reads nothing. */
const LARGE_BYTES = 48 * MIB
const NEVER_MS = 60_000
const STALL_MS = 300
const WINDOW_MS = 500
const SWEEP_MS = 20
/** What a client of these tests reads at once, and its pause after that: some 30 MiB a second at most. */
const BITE_BYTES = 3 * MIB
const BITE_PAUSE_MS = 100

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function* pieces() {
  for (let sent = 0; sent < LARGE_BYTES; sent += PIECE.length) yield PIECE
}

describe('the pace of clients', () => {
  let server: HttpServer
  const sockets: Socket[] = []
  const open: ServerResponse[] = []

  const serve = async (pace: Partial<Pace>): Promise<void> => {
    const listener = (request: { url?: string }, response: ServerResponse) => {
      if (request.url === '/large') Readable.from(pieces()).pipe(response)
      else if (request.url === '/stream') {
        response.setHeader('Content-Type', EVENT_STREAM_TYPE)
        Readable.from(pieces()).pipe(response)
      } else open.push(response)
    }
    const limits = { stallMs: NEVER_MS, bytesPerSecond: 1, windowMs: NEVER_MS, sweepMs: SWEEP_MS, ...pace }
    server = createHttpServer(listener, limits)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    for (const response of open.splice(0)) response.destroy()
    await closeHttpServer(server)
  })

  const dial = (allowHalfOpen = false): Socket => {
    const { port } = server.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen }).on('error', () => undefined)
    sockets.push(socket)
    return socket
  }
  /** A connection that asks, and reads nothing by itself. */
  const ask = (path: string) => {
    const socket = dial()
    socket.pause()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    return socket
  }
  const connections = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))

  /** Reads a bite now and then, until all has come or the connection ended. @returns how many bytes came */
  const readInBites = async (socket: Socket): Promise<number> => {
    let received = 0
    let bite = 0
    socket.on('data', (chunk) => {
      received += chunk.length
      bite += chunk.length
      if (bite < BITE_BYTES) return
      bite = 0
      socket.pause()
    })
    while (!socket.closed && received < LARGE_BYTES) {
      socket.resume()
      await pause(BITE_PAUSE_MS)
    }
    return received
  }

  it('one that takes nothing for too long is reset, and nothing for it stays in the kernel', async () => {
    await serve({ stallMs: STALL_MS })
    const stuck = ask('/large')
    await eventually('the connection', async () => (await connections()) === 1)
    await pause(STALL_MS / 2)
    expect(await connections()).to.equal(1)
    await eventually('its end', async () => (await connections()) === 0)
    expect(await readInBites(stuck)).to.be.below(MIB)
  })

  it('one that takes some now and then is not', async () => {
    await serve({ stallMs: 2 * STALL_MS })
    expect(await readInBites(ask('/large'))).to.be.at.least(LARGE_BYTES)
  })

  it('one that takes less than so many bytes over a window is reset', async () => {
    await serve({ bytesPerSecond: 4096 * MIB, windowMs: WINDOW_MS })
    expect(await readInBites(ask('/large'))).to.be.below(LARGE_BYTES)
  })

  it('one that takes more than that is not', async () => {
    await serve({ bytesPerSecond: MIB, windowMs: WINDOW_MS })
    expect(await readInBites(ask('/large'))).to.be.at.least(LARGE_BYTES)
  })

  it('one that keeps its side open once its request was refused is cut off', async () => {
    await serve({ stallMs: STALL_MS })
    server.requestTimeout = STALL_MS
    const socket = dial(true)
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n1234')
    const [answer] = await once(socket, 'data')
    expect(String(answer)).to.match(/^HTTP\/1\.1 408 /)
    await once(socket, 'end')
    expect(await connections()).to.equal(1)
    await eventually('its end', async () => (await connections()) === 0)
  })

  it('nobody is reset for whom nothing waits: while an answer is made, between two, and on event streams', async () => {
    await serve({ stallMs: STALL_MS, bytesPerSecond: MIB, windowMs: WINDOW_MS })
    const made = ask('/made')
    dial()
    ask('/stream')
    await eventually('three connections', async () => (await connections()) === 3)
    await pause(2 * Math.max(STALL_MS, WINDOW_MS))
    expect(await connections()).to.equal(3)
    open[0]?.end('made')
    made.resume()
    const [answer] = await once(made, 'data')
    expect(String(answer)).to.match(/made$/)
  })
})
