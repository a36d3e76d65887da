/**
 * The connections of a server. Requests that a client sent behind another start one after the other, each once the
 * answer before it was handed over to the kernel; a client that takes nothing is cut off; and when the server closes, what
 * was sent is answered before its connection ends.
 * @module
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { EVENT_STREAM_TYPE } from '../event-stream.ts'

/** Requests that wait behind others, on all connections. Beyond it, the connection with most of them is cut off. */
export const WAITING_MAX_REQUESTS = 1_000
/** How fast a client must take what waits for it. Event streams have bounds of their own. */
export interface Pace {
  /** It must take some within this time, and close its side within this once we have closed ours, */
  readonly stallMs: number
  /** and this many bytes a second, */
  readonly bytesPerSecond: number
  /** counted over this time. */
  readonly windowMs: number
  readonly sweepMs: number
}
/** The kernel takes more only once a third of its buffer is free, so clients a little faster than this are cut off, too. */
export const PACE: Pace = { stallMs: 30_000, bytesPerSecond: 1024, windowMs: 60_000, sweepMs: 1000 }
/** How long a client may take to close its side once we have closed ours, while the server closes. What it still sends meanwhile is not begun. */
export const LINGER_MS = 1000
const LINGER_MAX_REQUESTS = 100
const CLOSING_SWEEP_MS = 25

/** How a client takes the bytes that wait for it. Times in ms of performance.now(). */
interface Taking {
  bytes: number
  at: number
  windowBytes: number
  windowAt: number
}

interface Connection {
  readonly socket: Socket
  /** The answer that is being made or sent. */
  current: ServerResponse | undefined
  /** Requests behind that one. */
  waiting: number
  taking: Taking | undefined
  /** What Node told of a request that took too long while others were before it. */
  late: Error | undefined
  /** The clock of that request once it is read on; it is unknown until its headers have come. */
  overtime: { readonly timer: NodeJS.Timeout; request: IncomingMessage | undefined } | undefined
  /** Bytes read from it when it was looked at last, and since when there was nothing to do on it. */
  bytesRead: number
  quietSince: number
  /** When we ended our side; nothing is begun any more. */
  endedAt: number | undefined
  ignored: number
}

/** An answer to what can't be read as a request. */
export interface Refusal {
  readonly status: number
  /** As it is sent. */
  readonly text: string
}

export interface Connections {
  /** Starts the request in its turn. */
  take(request: IncomingMessage, response: ServerResponse): void
  /**
   * Sends `refusal`, and nothing more, when it is the turn of what could not be read on the connection: once all before it is answered,
   * or at once where it is the body of the request whose turn it is. An answer to that which has begun is broken off instead.
   */
  refuseInTurn(socket: Socket, refusal: Refusal): void
  /**
   * Where requests wait on the connection, so that nothing more is read from it, one that takes too long has its time anew
   * once it is read on; then `clientError` is told again.
   * @returns whether requests wait
   */
  putOff(socket: Socket, late: Error): boolean
  /** Begins no request until `work` is done; those whose turn comes meanwhile begin then. */
  holdWhile(work: () => Promise<void>): Promise<void>
  /**
   * Ends connections one by one, as soon as nothing was asked on them for `quietMs`, until all are closed.
   * @returns stops it
   */
  drain(quietMs: number): () => void
}

/** What was refused while its answer was still to come, and the status that its client was told. */
const refused = new WeakMap<ServerResponse, number>()

/** The status that a client was told: of the answer, or of what refused the rest of its request in place of one. */
export const toldStatus = (response: ServerResponse): number => refused.get(response) ?? response.statusCode

const create = (socket: Socket): Connection => ({
  socket,
  current: undefined,
  waiting: 0,
  taking: undefined,
  late: undefined,
  overtime: undefined,
  bytesRead: 0,
  quietSince: performance.now(),
  endedAt: undefined,
  ignored: 0,
})

const isEventStream = (response: ServerResponse | undefined): boolean =>
  String(response?.getHeader('Content-Type')).startsWith(EVENT_STREAM_TYPE)

/** Whether the client of a connection takes too little of what waits for it. */
const standsStill = (connection: Connection, now: number, pace: Pace): boolean => {
  const { socket, current } = connection
  if (socket.writableLength === 0 || isEventStream(current)) {
    connection.taking = undefined
    return false
  }
  // Counted without what waits, in our memory or in the hands of the kernel's caller.
  const bytes = socket.bytesWritten - socket.writableLength
  connection.taking ??= { bytes, at: now, windowBytes: bytes, windowAt: now }
  const { taking } = connection
  if (taking.bytes !== bytes) Object.assign(taking, { bytes, at: now })
  if (now - taking.at >= pace.stallMs) return true
  if (now - taking.windowAt < pace.windowMs) return false
  const tooFew = bytes - taking.windowBytes < (pace.bytesPerSecond * pace.windowMs) / 1000
  Object.assign(taking, { windowBytes: bytes, windowAt: now })
  return tooFew
}

/** Closes our side, and goes on reading: closing at once would reset what the client sends just then. @param last is sent before */
const endSide = (connection: Connection, last = ''): void => {
  if (connection.endedAt !== undefined) return
  connection.endedAt = performance.now()
  connection.socket.end(last)
}

/** Whether a connection is through while the server closes. */
const isThrough = (connection: Connection, quietMs: number, now: number): boolean => {
  const { socket } = connection
  if (connection.endedAt !== undefined) return now - connection.endedAt >= LINGER_MS
  if (connection.current !== undefined || connection.bytesRead !== socket.bytesRead) {
    connection.bytesRead = socket.bytesRead
    connection.quietSince = now
  } else if (now - connection.quietSince >= quietMs) endSide(connection)
  return false
}

/** @param listener gets each request in its turn */
export const trackConnections = (server: Server, listener: RequestListener, pace: Pace): Connections => {
  const connections = new Map<Socket, Connection>()
  let waiting = 0
  let isDraining = false
  /** What is to begin later; undefined: everything begins at once. */
  let held: (() => void)[] | undefined

  const forget = (connection: Connection): void => {
    clearTimeout(connection.overtime?.timer)
    if (connections.delete(connection.socket)) waiting -= connection.waiting
  }
  const cutOff = (connection: Connection): void => {
    forget(connection)
    connection.socket.destroy()
  }
  /** With what the kernel still keeps for a client that doesn't take it. */
  const reset = (connection: Connection): void => {
    forget(connection)
    connection.socket.resetAndDestroy()
  }
  const resetLongestQueue = (): void => {
    let longest: Connection | undefined
    for (const connection of connections.values())
      if (connection.waiting > (longest?.waiting ?? 0)) longest = connection
    if (longest) reset(longest)
  }

  /** Under this header Node closes the connection after the answer, so only the last one may have it. */
  const announceEnd = ({ current, waiting: behind }: Connection): void => {
    if (!isDraining || current === undefined || current.headersSent) return
    current.setHeader('Connection', behind === 0 ? 'close' : 'keep-alive')
  }

  // One function each for all connections: thousands of them may be open for long.
  function onClose(this: Socket): void {
    const connection = connections.get(this)
    if (connection) forget(connection)
  }
  /** Node reads on after each answer. What it would read is only kept in memory while others are before it. */
  function onResume(this: Socket): void {
    if (connections.get(this)?.waiting) this.pause()
  }
  function onAnswered(this: ServerResponse): void {
    const connection = connections.get(this.req.socket)
    if (connection?.current === this) connection.current = undefined
  }

  /** Node's own way, after an answer with `Connection: close`, resets what the client has sent meanwhile. */
  const lingerAtEnd = (connection: Connection): void => {
    connection.socket.destroySoon = () => endSide(connection)
  }

  const begin = (connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    connection.current = response
    announceEnd(connection)
    response.on('close', onAnswered)
    const run = () => {
      // Where it was held, its client may be gone.
      if (connections.has(request.socket)) listener(request, response)
    }
    if (held) held.push(run)
    else run()
  }

  /** Node tells only once that a request takes too long. @param last the last one whose headers have come */
  const giveTime = (connection: Connection, last: IncomingMessage): void => {
    const { socket, late } = connection
    if (late === undefined) return
    connection.late = undefined
    clearTimeout(connection.overtime?.timer)
    const overtime = {
      // Behind a complete one it is the next that takes too long.
      request: last.complete ? undefined : last,
      timer: setTimeout(() => {
        connection.overtime = undefined
        if (!overtime.request?.complete) server.emit('clientError', late, socket)
      }, server.requestTimeout),
    }
    connection.overtime = overtime
  }

  const enqueue = (connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    connection.waiting++
    waiting++
    connection.socket.pause()
    announceEnd(connection)
    response.once('socket', () => {
      connection.waiting--
      waiting--
      if (connection.waiting === 0) {
        connection.socket.resume()
        giveTime(connection, request)
      }
      connection.current = response
      // In a turn of its own: answers that wait for nothing would else follow one another, and nobody else would be read.
      setImmediate(begin, connection, request, response)
    })
    if (waiting > WAITING_MAX_REQUESTS) resetLongestQueue()
  }

  const refuseInTurn = (socket: Socket, refusal: Refusal): void => {
    const connection = connections.get(socket)
    if (connection === undefined) {
      socket.destroy()
      return
    }
    const { current, waiting: behind } = connection
    // The next one begins in the next turn of the loop, before this.
    if (current && (behind > 0 || current.req.complete))
      current.once('close', () => setImmediate(refuseInTurn, socket, refusal))
    else if (current?.writableEnded) endSide(connection)
    else if (current?.headersSent || !socket.writable) cutOff(connection)
    else {
      if (current) refused.set(current, refusal.status)
      endSide(connection, refusal.text)
    }
  }

  const sweep = (): void => {
    const now = performance.now()
    for (const connection of connections.values()) {
      const { endedAt = now } = connection
      if (standsStill(connection, now, pace)) reset(connection)
      // Its client would keep its side open for ever.
      else if (now - endedAt >= pace.stallMs) cutOff(connection)
    }
  }
  let sweeping: NodeJS.Timeout | undefined

  server
    .on('connection', (socket: Socket) => {
      const connection = create(socket)
      connections.set(socket, connection)
      sweeping ??= setInterval(sweep, pace.sweepMs).unref()
      socket.on('close', onClose).on('resume', onResume)
      if (isDraining) lingerAtEnd(connection)
    })
    .on('close', () => {
      clearInterval(sweeping)
      sweeping = undefined
    })

  return {
    take(request, response) {
      const connection = connections.get(request.socket)
      // One that was cut off while the rest of what it sent is still being read.
      if (connection === undefined) return
      if (connection.overtime) connection.overtime.request ??= request
      if (connection.endedAt !== undefined) {
        if (++connection.ignored > LINGER_MAX_REQUESTS) cutOff(connection)
      } else if (response.socket === null) enqueue(connection, request, response)
      else begin(connection, request, response)
    },

    refuseInTurn,

    putOff(socket, late) {
      const connection = connections.get(socket)
      if (!connection?.waiting) return false
      connection.late = late
      return true
    },

    async holdWhile(work) {
      const begun: (() => void)[] = []
      held = begun
      try {
        await work()
      } finally {
        held = undefined
        for (const start of begun) start()
      }
    },

    drain(quietMs) {
      isDraining = true
      const startedAt = performance.now()
      for (const connection of connections.values()) {
        connection.quietSince = startedAt
        lingerAtEnd(connection)
        announceEnd(connection)
      }
      const look = (): void => {
        const now = performance.now()
        for (const connection of connections.values())
          if (isThrough(connection, quietMs, now)) cutOff(connection)
      }
      // After the loop has read what has arrived: a timer alone would run before that.
      const looking = setInterval(() => setImmediate(look), CLOSING_SWEEP_MS)
      return () => clearInterval(looking)
    },
  }
}
