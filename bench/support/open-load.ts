/**
 * Load that comes at its own rate, whoever is behind with it: what a server that can't keep up gets. Times count from when a request was
 * due, so that one which had to wait for a connection has waited.
 * @module
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /^content-length: (\d+)\r$/im
const RETRY_AFTER = /^retry-after: \d+\r$/im
const TICK_MS = 2
/** For connections to be accepted by a server that is not busy yet. */
const OPENING_MS = 500
const MAX_REFUSAL_BYTES = 300
/** Of requests that were due and are not answered after the end. */
const PATIENCE_MS = 120_000

export interface Answered {
  /** Of `performance.now()`, when the request was due. */
  readonly dueAt: number
  readonly ms: number
  readonly status: number
  /** Whether a refusal says when to come back. */
  readonly saysWhen: boolean
  /** What was asked for and answered, where that was no success. */
  readonly refusal?: string
}

export interface OpenLoad {
  readonly port: number
  /** That may be opened; what finds none free waits for one. */
  readonly connections: number
  /** Of these, which are open before the load begins: a server of Node accepts one in a turn of its loop, which is slow where turns are long. */
  readonly opened?: number
  /** A second. */
  readonly rate: number
  /** From 0 to 1: requests come at moments of their own, as those of many who know nothing of each other do, and not one after the other at equal distances. */
  readonly random?: () => number
  readonly milliseconds: number
  next(): Buffer
}

interface Due {
  readonly at: number
  readonly request: Buffer
}

/** Head and body of a whole answer; undefined while it is not whole. */
const wholeAnswer = (data: Buffer): { readonly head: string; readonly body: Buffer } | undefined => {
  const end = data.indexOf(HEAD_END)
  if (end < 0) return undefined
  const head = data.toString('latin1', 0, end + 2)
  const length = Number(LENGTH.exec(head)?.[1] ?? 0)
  const body = data.subarray(end + HEAD_END.length)
  return body.length >= length ? { head, body } : undefined
}

const refusalOf = ({ request }: Due, status: number, body: Buffer): string =>
  `${request.toString('latin1', 0, request.indexOf(' HTTP/'))}: ${status} ${body.toString('utf8', 0, MAX_REFUSAL_BYTES)}`

/**
 * @returns every answer, in the order in which they came
 * @throws Error where a connection is lost, or an answer never comes
 */
export const runOpenLoad = async ({
  port,
  connections,
  opened = 0,
  rate,
  random,
  milliseconds,
  next,
}: OpenLoad): Promise<Answered[]> => {
  const answers: Answered[] = []
  const waiting: Due[] = []
  const free: Socket[] = []
  const open = new Set<Socket>()
  const current = new Map<Socket, { due: Due; parts: Buffer[] }>()
  let failure: Error | undefined
  let isOver = false
  let asked = 0
  // Between two requests: of a Poisson process.
  const distanceMs = (): number => (random ? -Math.log(1 - random()) : 1) * (1000 / rate)

  const send = (socket: Socket, one: Due): void => {
    current.set(socket, { due: one, parts: [] })
    socket.write(one.request)
  }
  const take = (socket: Socket, part: Buffer): void => {
    const question = current.get(socket)
    if (question === undefined) return
    const { due, parts } = question
    parts.push(part)
    const data = parts.length === 1 ? part : Buffer.concat(parts)
    const answer = wholeAnswer(data)
    if (answer === undefined) return
    const status = Number(answer.head.slice(9, 12))
    const { at } = due
    const ms = performance.now() - at
    if (status >= 200 && status < 300) answers.push({ dueAt: at, ms, status, saysWhen: false })
    else {
      const refusal = refusalOf(due, status, answer.body)
      answers.push({ dueAt: at, ms, status, saysWhen: RETRY_AFTER.test(answer.head), refusal })
    }
    const behind = waiting.shift()
    if (behind) send(socket, behind)
    else {
      current.delete(socket)
      free.push(socket)
    }
  }
  const connectOne = (): Socket => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    open.add(socket)
    socket.on('data', (part) => take(socket, part))
    socket.on('error', (error) => {
      failure ??= error
    })
    // One that nobody needed for a minute is closed by the server.
    socket.on('close', () => {
      open.delete(socket)
      const place = free.indexOf(socket)
      if (place >= 0) free.splice(place, 1)
      else if (current.has(socket) && !isOver)
        failure ??= new Error('the server closed a connection that it had to answer on')
    })
    return socket
  }
  const ask = (one: Due): void => {
    // Each has its turn, so that a server closes none for being idle.
    const socket = free.shift()
    if (socket) send(socket, one)
    else if (open.size < connections) send(connectOne(), one)
    else waiting.push(one)
  }

  for (let i = 0; i < opened; i++) free.push(connectOne())
  if (opened > 0) await pause(OPENING_MS)
  const endsAt = performance.now() + milliseconds
  let dueAt = performance.now()
  for (let now = dueAt; now < endsAt && failure === undefined; now = performance.now()) {
    for (; dueAt <= now; dueAt += distanceMs()) {
      ask({ at: dueAt, request: next() })
      asked++
    }
    await pause(TICK_MS)
  }
  const giveUpAt = performance.now() + PATIENCE_MS
  while (answers.length < asked && failure === undefined && performance.now() < giveUpAt) await pause(TICK_MS)
  isOver = true
  for (const socket of open) socket.destroy()
  if (failure) throw failure
  if (answers.length < asked)
    throw new Error(`${asked - answers.length} of ${asked} requests were never answered`)
  return answers
}

/** Ms below which a share of the answers came; NaN for none. @param share 0 to 1 */
export const quantileMs = (answers: readonly Answered[], share: number): number => {
  const times = answers.map(({ ms }) => ms).sort((a, b) => a - b)
  return times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? Number.NaN
}
