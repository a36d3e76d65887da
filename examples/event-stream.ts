/**
 * Server-Sent Events with nothing but fetch (WHATWG HTML §9.2): for agents in runtimes without EventSource, and for
 * those that want to end a stream when they like.
 */

export interface StreamEvent {
  readonly event: string
  readonly data: string
}

const FIRST_RETRY_MS = 3000

/** The events of one connection. @param onField is told `id` and `retry` as they come */
async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  onField: (field: string, value: string) => void,
): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  let event = 'message'
  let data: string[] = []
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n/)
    // The last line is not over yet.
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { event, data: data.join('\n') }
        event = 'message'
        data = []
        continue
      }
      const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
      if (field === 'event') event = value
      else if (field === 'data') data.push(value)
      else onField(field, value)
    }
  }
}

/**
 * Follows a stream, connecting again after the last id that came whenever it breaks off.
 * @param signal ends it
 * @throws Error for an answer that is no stream
 */
export async function* readEvents(url: string, signal: AbortSignal): AsyncGenerator<StreamEvent> {
  let lastId: string | undefined
  let retryMs = FIRST_RETRY_MS
  while (!signal.aborted) {
    try {
      const headers = { Accept: 'text/event-stream', ...(lastId && { 'Last-Event-ID': lastId }) }
      const response = await fetch(url, { headers, signal })
      if (response.status >= 400 && response.status < 500) throw new Error(`${url}: ${response.status}`)
      if (response.ok && response.body)
        yield* eventsOf(response.body, (field, value) => {
          if (field === 'id') lastId = value
          if (field === 'retry') retryMs = Number(value)
        })
    } catch (error) {
      if (signal.aborted) return
      // What fetch throws when there is no connection; the rest is meant for the caller.
      if (!(error instanceof TypeError)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}
