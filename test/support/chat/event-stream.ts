/** A reader of Server-Sent Events that keeps everything: the parsing of WHATWG HTML §9.2.6, slowly. */
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'

export interface ReadEvent {
  readonly event: string
  /** Last-Event-ID from here on; undefined when the event has no `id` line of its own. */
  readonly id?: string
  readonly data: unknown
}

export interface StreamReader {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Everything that came, as text. */
  readonly text: () => string
  /** Events so far. */
  readonly events: ReadEvent[]
  /** Of one kind. */
  of(event: string): ReadEvent[]
  /** Ids of the messages so far. */
  ids(): number[]
  /** Resolves as soon as `is` holds; looked at whenever something comes. @throws Error in 20 s, with what came */
  until(is: (reader: StreamReader) => boolean): Promise<void>
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
  /** Stops and resumes reading from the socket. */
  pause(): void
  resume(): void
  close(): void
}

const PATIENCE_MS = 20_000

/** @param block the lines of one event */
export const parseEvent = (block: string): ReadEvent | undefined => {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    fields.set(name, name === 'data' && fields.has('data') ? `${fields.get('data')}\n${value}` : value)
  }
  const data = fields.get('data')
  if (data === undefined) return undefined
  const id = fields.get('id')
  return { event: fields.get('event') ?? 'message', ...(id !== undefined && { id }), data: JSON.parse(data) }
}

const respond = (url: string, headers: Record<string, string>): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get(url, { headers, agent: false }, resolve).on('error', reject)
  })

/** Opens a stream. */
export const openStream = async (
  url: string,
  headers: Record<string, string> = {},
): Promise<StreamReader> => {
  const response = await respond(url, headers)
  const waiting = new Set<() => void>()
  const events: ReadEvent[] = []
  let text = ''
  let parsedTo = 0
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
    for (let end = text.indexOf('\n\n', parsedTo); end >= 0; end = text.indexOf('\n\n', parsedTo)) {
      const event = parseEvent(text.slice(parsedTo, end))
      parsedTo = end + 2
      if (event) events.push(event)
    }
    for (const look of waiting) look()
  })
  const ended = new Promise<void>((resolve) => {
    response.once('close', resolve)
  })
  response.on('error', () => undefined)
  const reader: StreamReader = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: () => text,
    events,
    of: (kind) => events.filter(({ event }) => event === kind),
    ids: () => reader.of('message').map(({ id }) => Number(id)),
    ended,
    until: (is) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`it did not come; what came:\n${text.slice(-500)}`))
        }, PATIENCE_MS)
        const look = (): void => {
          if (!is(reader)) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    pause: () => response.pause(),
    resume: () => response.resume(),
    close: () => response.destroy(),
  }
  return reader
}
