/**
 * The Node server beneath the application: bounds on headers and time, answers to requests that are not HTTP,
 * and an orderly end.
 * @module
 */
import {
  createServer,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ErrorCode } from '../errors.ts'

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
const IDLE_SWEEP_MS = 50

const SERVER_OPTIONS: ServerOptions = {
  maxHeaderSize: HEADERS_MAX_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
}

type Refusal = readonly [statusLine: string, code: ErrorCode, message: string]
const MALFORMED: Refusal = ['400 Bad Request', 'invalid_request', 'The request is not valid HTTP.']
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'invalid_request',
    `Request headers may have at most ${HEADERS_MAX_BYTES} bytes.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    '408 Request Timeout',
    'invalid_request',
    'The request took too long to arrive.',
  ],
}

/** Such requests never reach the application, so they get the common error body from here, without a request id. */
const refuseConnection = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [statusLine, code, message] = REFUSALS[error.code ?? ''] ?? MALFORMED
  const body = JSON.stringify({ error: code, message })
  socket.end(
    `HTTP/1.1 ${statusLine}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

/** @property bytesRead from it when it was looked at last */
interface Use {
  unanswered: number
  bytesRead: number
}

/**
 * Closes only connections on which nothing is asked and everything sent. Node goes by whether an answer was written, and
 * would cut off clients that are still reading; and it waits for connections on which nobody ever asked.
 */
const keepTrackOfUse = (server: Server): Server => {
  const uses = new Map<Socket, Use>()
  server.closeIdleConnections = () => {
    for (const [socket, use] of uses) {
      const isIdle = use.unanswered === 0 && use.bytesRead === socket.bytesRead
      use.bytesRead = socket.bytesRead
      if (isIdle) socket.destroy()
    }
  }
  // One function each for all connections: thousands of them may be open for long.
  function forget(this: Socket): void {
    uses.delete(this)
  }
  function answered(this: ServerResponse): void {
    const use = uses.get(this.req.socket)
    if (use !== undefined) use.unanswered--
  }
  return server
    .on('connection', (socket: Socket) => {
      uses.set(socket, { unanswered: 0, bytesRead: -1 })
      socket.on('close', forget)
    })
    .on('request', ({ socket }, response) => {
      // So that a busy client goes elsewhere.
      if (!server.listening) response.setHeader('Connection', 'close')
      const use = uses.get(socket)
      if (use === undefined) return
      use.unanswered++
      response.on('close', answered)
    })
}

/** A server that does not listen yet. */
export const createHttpServer = (listener: RequestListener): Server =>
  keepTrackOfUse(createServer(SERVER_OPTIONS)).on('request', listener).on('clientError', refuseConnection)

/**
 * Stops accepting, lets open requests finish, then closes. What still runs after `timeoutMs` is cut off.
 * @returns false when something had to be cut off
 */
export const closeHttpServer = async (server: Server, timeoutMs = CLOSE_TIMEOUT_MS): Promise<boolean> => {
  if (!server.listening) return true
  let finished = true
  // Keep-alive connections become idle one by one as their last answers are sent.
  const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
  const limit = setTimeout(() => {
    finished = false
    server.closeAllConnections()
  }, timeoutMs)
  try {
    await new Promise<void>((resolve) => server.close(() => resolve()))
  } finally {
    clearInterval(sweep)
    clearTimeout(limit)
  }
  return finished
}
