/** Sends bytes on a connection of its own, and reads what comes back as answers of HTTP/1.1. @module */
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Exchange } from './raw-requests.ts'

export interface RawAnswer {
  readonly status: number
  /** Lower-case names; of several the last. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface Exchanged {
  readonly answers: readonly RawAnswer[]
  /** Bytes that are no whole answer. */
  readonly rest: Buffer
  /** Whether nothing came for too long. */
  readonly isLate: boolean
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
/** An event stream never ends; what has come by then is its answer. */
const STREAM = 'text/event-stream'
/** For an answer to what is no whole request. */
const PATIENCE_MS = 200

/** @returns where the body ends, and what it is; undefined where it is not whole */
const chunkedBody = (data: Buffer, from: number): { end: number; body: Buffer } | undefined => {
  const parts: Buffer[] = []
  for (let at = from; ; ) {
    const line = data.indexOf(LINE_END, at)
    if (line < 0) return undefined
    const size = Number.parseInt(data.toString('latin1', at, line), 16)
    if (!Number.isSafeInteger(size)) throw new Error('an answer in chunks that are none')
    const start = line + 2
    if (data.length < start + size + 2) return undefined
    if (size === 0) return { end: start + 2, body: Buffer.concat(parts) }
    parts.push(data.subarray(start, start + size))
    at = start + size + 2
  }
}

const hasNoBody = (method: string | undefined, status: number): boolean =>
  method === 'HEAD' || status === 204 || status === 304 || status < 200

interface Read {
  readonly answer: RawAnswer
  readonly end: number
}

/** The answer that begins at `at`. @param isOver whether nothing follows @throws Error for what is none */
const answerAt = (
  data: Buffer,
  at: number,
  method: string | undefined,
  isOver: boolean,
): Read | undefined => {
  const head = data.indexOf(HEAD_END, at)
  if (head < 0) return undefined
  const [first = '', ...lines] = data.toString('latin1', at, head).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
  if (Number.isNaN(status))
    throw new Error(`an answer that begins with ${JSON.stringify(first.slice(0, 80))}`)
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const from = head + HEAD_END.length
  const found = (end: number, body = data.subarray(from, end)): Read => ({
    answer: { status, headers, body },
    end,
  })
  if (hasNoBody(method, status)) return found(from)
  if (headers['content-type']?.startsWith(STREAM)) return found(data.length)
  if (headers['transfer-encoding'] === 'chunked') {
    const chunks = chunkedBody(data, from)
    return chunks && found(chunks.end, chunks.body)
  }
  const length = headers['content-length']
  if (length === undefined) return isOver ? found(data.length) : undefined
  return data.length >= from + Number(length) ? found(from + Number(length)) : undefined
}

/** @throws Error for bytes that are no answers */
const readAnswers = (
  data: Buffer,
  methods: readonly string[],
  isOver: boolean,
): Omit<Exchanged, 'isLate'> => {
  const answers: RawAnswer[] = []
  let at = 0
  let final = 0
  while (at < data.length) {
    const read = answerAt(data, at, methods[final], isOver)
    if (read === undefined) break
    answers.push(read.answer)
    // What says to go on comes before the answer itself.
    if (read.answer.status >= 200) final++
    at = read.end
  }
  return { answers, rest: data.subarray(at) }
}

const finalOf = (answers: readonly RawAnswer[]): number =>
  answers.filter(({ status }) => status >= 200).length

/**
 * Sends, and reads until every request is answered or the server ends the connection; of what is no whole request nothing more is sent.
 * @param deadlineMs for which nothing may come
 * @throws Error for what comes back and is no HTTP
 */
export const exchange = async (
  url: string,
  { writes, pauseMs, methods, isWhole }: Exchange,
  deadlineMs: number,
): Promise<Exchanged> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  const parts: Buffer[] = []
  let isOver = false
  // The server may reset a connection on which it was sent nonsense.
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      isOver = true
      resolve()
    })
  })
  const ended = new Promise<void>((resolve) => void socket.once('end', resolve))
  let isLate = false
  let timeUp: () => void = () => undefined
  const silence = new Promise<void>((resolve) => {
    timeUp = resolve
  })
  const timer = setTimeout(() => {
    isLate = true
    timeUp()
  }, deadlineMs)
  const answered = new Promise<void>((resolve) => {
    socket.on('data', (part: Buffer) => {
      parts.push(part)
      timer.refresh()
      if (finalOf(readAnswersSafely(parts, methods)) >= methods.length) resolve()
    })
  })
  try {
    for (const write of writes) {
      if (socket.destroyed) break
      socket.write(write)
      if (pauseMs > 0) await pause(pauseMs)
      else await new Promise((resolve) => setImmediate(resolve))
      // Nothing has to come before all is sent, which may take long on a busy machine.
      timer.refresh()
    }
    const done = Promise.race([answered, closed, ended, silence])
    // Node answers nobody who has closed their side, so only who has nothing to expect does.
    if (!isWhole) {
      await Promise.race([done, pause(PATIENCE_MS)])
      socket.end()
    }
    await done
    const whole = readAnswers(Buffer.concat(parts), methods, isOver || socket.readableEnded)
    return { ...whole, isLate }
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

const readAnswersSafely = (parts: readonly Buffer[], methods: readonly string[]): readonly RawAnswer[] => {
  try {
    return readAnswers(Buffer.concat(parts), methods, false).answers
  } catch {
    // Read again, and thrown, at the end.
    return []
  }
}
