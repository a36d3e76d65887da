/**
 * A load generator that costs the machine little, so that on few cores the server is what is measured: keep-alive
 * sockets, requests prepared as bytes beforehand, answers recognised by their length header alone.
 * @module
 */
import { connect, type Socket } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const CONTENT_LENGTH = Buffer.from('content-length:')
const CONTENT_LENGTH_CAPITALS = Buffer.from('Content-Length:')
const CARRIAGE_RETURN = 13

/** One HTTP/1.1 request as bytes. */
export const requestBytes = (path: string, body: string, headers: Record<string, string> = {}): Buffer => {
  const lines = Object.entries({ Host: '127.0.0.1', 'Content-Type': 'application/json', ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\n${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

export interface LoadResult {
  /** Answers within the time. */
  readonly answers: number
  readonly seconds: number
  /** Milliseconds, ascending. */
  readonly latencies: Float64Array
  /** Answers that did not contain the expected bytes. */
  readonly unexpected: number
  /** The first of them. */
  readonly example?: string
}

export interface LoadOptions {
  readonly port: number
  readonly connections: number
  /** What comes next, for whichever connection is free. Undefined: nothing is left, the run ends early. */
  next(): Buffer | undefined
  /** Every good answer contains this. */
  readonly expected: string
  readonly milliseconds: number
}

interface Answer {
  /** Bytes of the whole answer, or 0 while it is incomplete. */
  readonly length: number
}

const answerIn = (data: Buffer): Answer => {
  const head = data.indexOf(HEAD_END)
  if (head < 0) return { length: 0 }
  const capital = data.indexOf(CONTENT_LENGTH_CAPITALS)
  const field = capital >= 0 && capital < head ? capital : data.indexOf(CONTENT_LENGTH)
  if (field < 0 || field > head)
    throw new Error(`an answer without Content-Length: ${data.subarray(0, head)}`)
  const from = field + CONTENT_LENGTH.length
  const length =
    head + HEAD_END.length + Number(data.toString('latin1', from, data.indexOf(CARRIAGE_RETURN, from)))
  return { length: data.length >= length ? length : 0 }
}

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    socket.once('connect', () => resolve(socket)).once('error', reject)
  })

/** Keeps every connection busy with one request at a time until the time is over, then waits for the last answers. */
export const runLoad = async (options: LoadOptions): Promise<LoadResult> => {
  const { port, connections, expected, milliseconds, next } = options
  const wanted = Buffer.from(expected)
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const latencies: number[] = []
  let unexpected = 0
  let example: string | undefined
  const started = performance.now()
  const end = started + milliseconds

  const drive = (socket: Socket): Promise<void> =>
    new Promise((resolve, reject) => {
      let sentAt = 0
      let pending: Buffer | undefined
      const send = () => {
        const request = performance.now() < end ? next() : undefined
        if (request === undefined) {
          socket.removeAllListeners()
          socket.destroy()
          return resolve()
        }
        sentAt = performance.now()
        socket.write(request)
      }
      socket.on('data', (chunk) => {
        pending = pending ? Buffer.concat([pending, chunk]) : chunk
        if (answerIn(pending).length === 0) return
        latencies.push(performance.now() - sentAt)
        if (pending.indexOf(wanted) < 0) {
          unexpected++
          example ??= pending.toString()
        }
        pending = undefined
        send()
      })
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the server closed the connection')))
      send()
    })

  await Promise.all(sockets.map(drive))
  return {
    answers: latencies.length,
    seconds: (performance.now() - started) / 1000,
    latencies: Float64Array.from(latencies).sort(),
    unexpected,
    ...(example !== undefined && { example }),
  }
}

/** @param q 0..1 @returns the value below which that share lies; NaN for none */
export const quantile = (ascending: Float64Array, q: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(q * ascending.length))] ?? Number.NaN
