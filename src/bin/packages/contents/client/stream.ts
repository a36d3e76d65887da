/** The chat's live stream (Server-Sent Events), which is taken up again where it ended. @module */
import { AssayError } from './errors.ts'
import { MS_PER_SECOND, pause } from './request.ts'

const DEFAULT_RETRY_MS = 3_000
/** Timers can't hold everything that a proxy may ask for. */
const LONGEST_PAUSE_MS = 3_600_000
/** The service says something every 15 s; after this long without a word the connection is taken for dead. */
const SILENCE_MS = 60_000

export interface StreamEvent {
  /** Where to go on from, as `since`. */
  readonly id: string | undefined
  readonly event: string
  readonly data: unknown
}

/** Fields of one event, as the service writes them: one line each. */
const fieldsOf = (block: string): Readonly<Record<string, string>> =>
  Object.fromEntries(block.split('\n').map((line) => [line.split(':', 1)[0], line.replace(/^[^:]*: ?/, '')]))

async function* readBlocks(body: ReadableStream<BufferSource>, silenceMs: number): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  const cancel = () => reader.cancel().catch(() => undefined)
  try {
    let text = ''
    for (;;) {
      const silence = setTimeout(cancel, silenceMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(silence))
      if (done) break
      const blocks = (text + value).split('\n\n')
      text = blocks.pop() ?? ''
      yield* blocks
    }
    // The service's last words are a line alone, when to come back. An event without its blank line was cut off.
    yield* text.match(/^retry:.*\n/gm) ?? []
  } finally {
    await cancel()
  }
}

/** What asking again can't change, such as a redirect: 408 and 429 are of the moment, as is what the service or a proxy fails at. */
const isForGood = ({ status }: AssayError): boolean => status < 500 && status !== 408 && status !== 429

/**
 * Events for as long as somebody reads them.
 * @param open begins after an event, or at what happens from now on
 * @param silenceMs without a byte, after which a connection is given up and opened anew
 * @throws AssayError for what the service refuses for good, the reason of the signal when it is aborted
 */
export async function* readStream(
  open: (lastId: string | undefined) => Promise<Response>,
  signal?: AbortSignal,
  silenceMs = SILENCE_MS,
): AsyncGenerator<StreamEvent> {
  let lastId: string | undefined
  let retryMs = DEFAULT_RETRY_MS
  for (;;) {
    let retryAfterMs = 0
    try {
      const { body } = await open(lastId)
      for await (const block of body ? readBlocks(body, silenceMs) : []) {
        const { id, event = 'message', data, retry } = fieldsOf(block)
        lastId = id ?? lastId
        // WHATWG HTML §9.2.6: digits only, or it is ignored.
        retryMs = retry !== undefined && /^\d+$/.test(retry) ? Number(retry) : retryMs
        if (data !== undefined) yield { id: lastId, event, data: JSON.parse(data) }
      }
    } catch (error) {
      const isRefusal = error instanceof AssayError
      if (signal?.aborted || (isRefusal && isForGood(error))) throw error
      if (isRefusal) retryAfterMs = (error.retryAfter ?? 0) * MS_PER_SECOND
    }
    await pause(Math.min(LONGEST_PAUSE_MS, Math.max(retryMs, retryAfterMs)), signal)
  }
}
