/**
 * The Node server beneath the application: bounds on headers and time, answers to requests that are not HTTP,
 * and an orderly end.
 * @module
 */
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { ErrorCode } from '../../errors.ts'
import { type Connections, PACE, type Refusal, trackConnections } from './connections.ts'

export const HEADERS_MAX_BYTES = 16 * 1024
/** A client must have sent its headers within this time, */
export const HEADERS_TIMEOUT_MS = 10_000
/** and the whole request within this. */
export const REQUEST_TIMEOUT_MS = 30_000
/** Longer than the idle time of common load balancers (60 s), so that they close first. */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000
const TIMEOUT_CHECK_INTERVAL_MS = 1000
/** How long open requests may take to finish once the server closes; the rest of 10 s is for what lies below. */
export const CLOSE_TIMEOUT_MS = 7_000
/** How long a connection must have been quiet before it is ended, where nobody asks for more patience. */
const QUIET_MS = 50
/** How long to look for a moment in which nobody connects, */
const UNCONNECTED_TIMEOUT_MS = 1_000
/** and how short a turn of the loop must be to be one. */
const SHORT_TURN_MS = 1

const SERVER_OPTIONS: ServerOptions = {
  maxHeaderSize: HEADERS_MAX_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
  // The application refuses such requests itself.
  requireHostHeader: false,
}

type Fault = readonly [status: number, reason: string, code: ErrorCode, message: string]
const MALFORMED: Fault = [400, 'Bad Request', 'invalid_request', 'The request is not valid HTTP.']
const FAULTS: Readonly<Record<string, Fault>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    'Request Header Fields Too Large',
    'invalid_request',
    `Request headers can have at most ${HEADERS_MAX_BYTES} bytes.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'Request Timeout',
    'invalid_request',
    'The request took too long to arrive.',
  ],
}

/** Such requests never reach the application, so they get the common error body from here, without a request id. */
const refusalOf = ({ code: cause = '' }: NodeJS.ErrnoException): Refusal => {
  const [status, reason, code, message] = FAULTS[cause] ?? MALFORMED
  const body = JSON.stringify({ error: code, message })
  const text =
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  return { status, text }
}

export interface HttpServer extends Server {
  readonly tracked: Connections
}

/** A server that does not listen yet. @param pace at which clients must take what waits for them */
export const createHttpServer = (listener: RequestListener, pace = PACE): HttpServer => {
  const server = createServer(SERVER_OPTIONS)
  // Their bytes are bounded. Beyond a number Node would leave fields out and say nothing, of X-Forwarded-For those of the proxy.
  server.maxHeadersCount = 0
  const tracked = trackConnections(server, listener, pace)
  server.on('request', tracked.take)
  // An expectation that nobody here knows is left aside (RFC 9110 §10.1.1); Node would refuse it without a word.
  server.on('checkExpectation', tracked.take)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // The rest of a request may be late because we don't read it yet.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && tracked.putOff(socket, error)) return
    if (error.code === 'ECONNRESET') socket.destroy()
    else tracked.refuseInTurn(socket, refusalOf(error))
  })
  // Node would reset those on which a request is just arriving.
  server.closeIdleConnections = () => undefined
  return Object.assign(server, { tracked })
}

export interface Closing {
  /** A connection ends when nothing was asked on it for so long. */
  readonly quietMs?: number
  /** What still runs after this time is cut off. */
  readonly timeoutMs?: number
}

/**
 * Waits for a short turn of the loop that accepts nobody. Who connects after such a turn and before the end of listening
 * is reset by the kernel; that is as little time as there can be.
 */
const untilNobodyConnects = async (server: Server): Promise<void> => {
  let accepted = 0
  const count = () => {
    accepted++
  }
  server.on('connection', count)
  const giveUpAt = performance.now() + UNCONNECTED_TIMEOUT_MS
  // The turn that is under way may have looked at the port before.
  await setImmediate()
  let isQuiet = false
  while (!isQuiet && performance.now() < giveUpAt) {
    const [startedAt, before] = [performance.now(), accepted]
    await setImmediate()
    isQuiet = accepted === before && performance.now() - startedAt < SHORT_TURN_MS
  }
  server.off('connection', count)
}

/**
 * Stops accepting, answers what was asked, and ends each connection as soon as it is quiet.
 * @returns false when something had to be cut off
 */
export const closeHttpServer = async (
  server: HttpServer,
  { quietMs = QUIET_MS, timeoutMs = CLOSE_TIMEOUT_MS }: Closing = {},
): Promise<boolean> => {
  if (!server.listening) return true
  let finished = true
  const stopDraining = server.tracked.drain(quietMs)
  const limit = setTimeout(() => {
    finished = false
    server.closeAllConnections()
  }, timeoutMs)
  try {
    let closed: Promise<void> | undefined
    // What begins makes turns long, and whoever was answered may connect again.
    await server.tracked.holdWhile(async () => {
      await untilNobodyConnects(server)
      closed = new Promise((resolve) => server.close(() => resolve()))
    })
    await closed
  } finally {
    stopDraining()
    clearTimeout(limit)
  }
  return finished
}
