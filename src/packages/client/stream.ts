/** The chat's live stream (Server-Sent Events), which is taken up again where it ended. @module */
import { AssayError } from './errors.ts'
import { pause } from './request.ts'

const DEFAULT_RETRY_MS = 3_000

export interface StreamEvent {
  /** Where to go on from, as `since`. */
  readonly id: string | undefined
  readonly event: string
  readonly data: unknown
}

/** Fields of one event, as the service writes them: one line each. */
const fieldsOf = (block: string): Readonly<Record<string, string>> =>
  Object.fromEntries(block.split('\n').map((line) => [line.split(':', 1)[0], line.replace(/^[^:]*: ?/, '')]))

async function* readBlocks(body: ReadableStream<BufferSource>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let text = ''; ; ) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (text + value).split('\n\n')
      text = blocks.pop() ?? ''
      yield* blocks
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/**
 * Events for as long as somebody reads them.
 * @param open begins after an event, or at what happens from now on
 * @throws AssayError for what the service refuses for good, the reason of the signal when it is aborted
 */
export async function* readStream(
  open: (lastId: string | undefined) => Promise<Response>,
  signal?: AbortSignal,
): AsyncGenerator<StreamEvent> {
  let lastId: string | undefined
  let retryMs = DEFAULT_RETRY_MS
  for (;;) {
    try {
      const { body } = await open(lastId)
      for await (const block of body ? readBlocks(body) : []) {
        const { id, event = 'message', data, retry } = fieldsOf(block)
        lastId = id ?? lastId
        retryMs = retry === undefined ? retryMs : Number(retry)
        if (data !== undefined) yield { id: lastId, event, data: JSON.parse(data) }
      }
    } catch (error) {
      if (error instanceof AssayError || signal?.aborted) throw error
    }
    await pause(retryMs, signal)
  }
}
