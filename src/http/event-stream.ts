/**
 * Answers that stay open: Server-Sent Events (WHATWG HTML §9.2). An event becomes bytes once, however many read it.
 * A client that does not read is cut off before it costs memory; it comes back and names the last event it saw.
 * @module
 */
import type { ServerResponse } from 'node:http'
import type { HttpContext } from './context.ts'

export const EVENT_STREAM_TYPE = 'text/event-stream'
/** After how long a client tries again when a stream broke. */
export const RETRY_MS = 3000
/** Proxies and browsers close what is silent; a comment now and then keeps it open. */
export const HEARTBEAT_MS = 15_000
/** What may wait to be sent to one client. What finds nothing waiting is taken whatever its size. */
export const UNSENT_MAX_BYTES = 1024 * 1024
/** Clients of a server that goes away come back after this time, one after the other within the spread. */
const CLOSE_RETRY_MS = 1000
const CLOSE_RETRY_SPREAD_MS = 3000
/** Coprime to the spread, so that neighbours are far apart and the times fill it evenly. */
const CLOSE_RETRY_STEP_MS = 37
/** How long a client may take to read its last bytes when all streams end. */
const CLOSE_GRACE_MS = 1000

/**
 * Blank lines stand behind events only: fetch-based readers make an event of each, which has no data. So `retry` is part of
 * the first event, and what ends a stream is a line alone.
 */
const retryLine = (retryMs: number): string => `retry: ${retryMs}\n`
const PREAMBLE = Buffer.from(`${retryLine(RETRY_MS)}: open\n`)
const HEARTBEAT = Buffer.from(':\n')

const HEADERS: readonly (readonly [name: string, value: string])[] = [
  ['Content-Type', `${EVENT_STREAM_TYPE}; charset=utf-8`],
  ['Cache-Control', 'no-store, no-transform'],
  // nginx: pass on at once.
  ['X-Accel-Buffering', 'no'],
  // The end of the connection is the end of the stream, so that nothing has to be framed a second time as chunks.
  ['Connection', 'close'],
]

/** One event. @param json text of its data; JSON holds no raw line break, so it is one line @param id Last-Event-ID from here on */
export const eventFrame = (event: string, json: string, id?: number): Buffer =>
  Buffer.from(`${
    id === undefined
      ? ''
      : `id: ${id}
`
  }event: ${event}
data: ${json}

`)

const byteLength = (parts: readonly Buffer[]): number =>
  parts.reduce((length, part) => length + part.length, 0)

/** One open stream. Thousands of them share these methods. */
export class EventConnection {
  readonly #response: ServerResponse
  constructor(response: ServerResponse) {
    this.#response = response
  }

  /**
   * Sends whole events; the bytes are not copied, and must not change any more. Does nothing on a stream that has
   * ended, and cuts off a client for which more than UNSENT_MAX_BYTES would wait.
   */
  send(...events: readonly Buffer[]): void {
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    const unsent = response.writableLength
    if (unsent > 0 && unsent + byteLength(events) > UNSENT_MAX_BYTES) {
      response.destroy()
      return
    }
    // Nothing is framed, so that the socket takes the same bytes at less cost.
    for (const bytes of events) response.socket?.write(bytes)
  }

  /** Ends the stream. @param last events that are still sent */
  end(last?: Buffer): void {
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    response.end(last)
  }

  /** Ends the stream at once, whatever waits to be sent. */
  destroy(): void {
    this.#response.destroy()
  }
}

/** What a handler answers with when the answer stays open. */
export class EventStreamReply {
  readonly begin: (ctx: HttpContext) => void
  constructor(begin: (ctx: HttpContext) => void) {
    this.begin = begin
  }
}

/** Streams that share a heartbeat and an end. */
export interface EventStreams {
  /** How many are open. */
  readonly open: number
  /**
   * @param start called before anything is sent: it may throw AppError, which is then the answer, and sends only later.
   *   It returns what is to be done when the stream has ended, whoever ended it. HEAD requests never get here
   */
  answer(start: (connection: EventConnection) => () => void): EventStreamReply
  /** Ends all streams, and new ones as soon as they begin: clients are told to come back, not all at once. */
  close(): void
}

const writeHead = (response: ServerResponse): void => {
  for (const [name, value] of HEADERS) response.setHeader(name, value)
  response.removeHeader('Transfer-Encoding')
  response.writeHead(200)
}

/**
 * Answers with a stream that ends at once. A browser's EventSource gives up for good at any status but 200, so this is
 * how it is told to come back.
 */
export const answerLater = (response: ServerResponse, retryMs: number): void => {
  writeHead(response)
  response.end(retryLine(retryMs))
}

/** @param options.heartbeatMs between two comments on a silent stream */
export const createEventStreams = ({ heartbeatMs = HEARTBEAT_MS } = {}): EventStreams => {
  const connections = new Set<EventConnection>()
  let heartbeat: NodeJS.Timeout | undefined
  let closed = false

  const add = (connection: EventConnection): void => {
    connections.add(connection)
    heartbeat ??= setInterval(() => {
      for (const each of connections) each.send(HEARTBEAT)
    }, heartbeatMs).unref()
  }
  const remove = (connection: EventConnection): void => {
    connections.delete(connection)
    if (connections.size > 0) return
    clearInterval(heartbeat)
    heartbeat = undefined
  }

  return {
    get open() {
      return connections.size
    },
    answer: (start) =>
      new EventStreamReply((ctx) => {
        const { res } = ctx
        if (ctx.method === 'HEAD' || closed) {
          ctx.respond = false
          answerLater(res, closed ? CLOSE_RETRY_MS : RETRY_MS)
          return
        }
        // A client that has gone meanwhile will not say so again.
        if (res.destroyed) return
        const connection = new EventConnection(res)
        const ended = start(connection)
        ctx.respond = false
        add(connection)
        res.on('close', () => {
          remove(connection)
          ended()
        })
        writeHead(res)
        res.write(PREAMBLE)
        // Koa waits for the end with the whole context of the request in hand, as much memory as the stream itself. Node
        // never emits this of a response: it only tells Koa to let go.
        res.emit('end')
      }),
    close() {
      closed = true
      let position = 0
      for (const connection of connections) {
        const retryMs = CLOSE_RETRY_MS + ((position++ * CLOSE_RETRY_STEP_MS) % CLOSE_RETRY_SPREAD_MS)
        connection.end(Buffer.from(retryLine(retryMs)))
      }
      setTimeout(() => {
        for (const connection of connections) connection.destroy()
      }, CLOSE_GRACE_MS).unref()
    },
  }
}
