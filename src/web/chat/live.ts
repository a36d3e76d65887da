/**
 * The live stream, kept open: what came last is asked for again after every interruption, so that nothing is missed.
 * The browser reconnects by itself while the network fails; what it gives up on (a refusal), and what it can't notice
 * (a connection that died in silence), is done here.
 * @module
 */
import type { ChatStats, Message, PostingState } from '../../domain/chat/schemas.ts'

const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 30_000
/** A page that nobody sees gives its connection back: a browser has six for all pages of a service. */
const UNSEEN_MS = 60_000
/** After this long without a word the stream is opened anew, in case that its connection is dead. */
const SILENCE_MS = 120_000

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'resting'

interface StreamState extends PostingState {
  readonly replay?: { readonly truncated: boolean }
}

export interface LiveHandlers {
  /**
   * Shows what there is by now.
   * @returns the id after which the stream goes on
   * @throws where that failed; it is called again
   */
  begin(): Promise<number>
  message(message: Message): void
  removed(id: number): void
  stats(stats: ChatStats): void
  posting(state: PostingState): void
  connection(state: Connection): void
}

/** Opens the stream, and never closes it for good. */
export const followStream = (handlers: LiveHandlers): void => {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let silence: ReturnType<typeof setTimeout> | undefined
  let pauseMs = FIRST_PAUSE_MS
  /** Undefined until {@link LiveHandlers.begin} has said it. */
  let last: number | undefined
  /** Counts attempts, so that a late answer to a former one is known as such. */
  let attempt = 0

  const stop = (): void => {
    attempt += 1
    clearTimeout(timer)
    clearTimeout(silence)
    source?.close()
    source = undefined
  }
  const heard = (): void => {
    clearTimeout(silence)
    silence = setTimeout(start, SILENCE_MS)
  }
  const retry = (): void => {
    stop()
    handlers.connection('reconnecting')
    timer = setTimeout(start, pauseMs)
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
  }
  const listen = (opened: EventSource): void => {
    const on = <T>(event: string, handle: (data: T) => void): void =>
      opened.addEventListener(event, ({ data }: MessageEvent<string>) => {
        heard()
        handle(JSON.parse(data) as T)
      })
    on<Message>('message', (message) => {
      last = Math.max(last ?? 0, message.id)
      handlers.message(message)
    })
    on<{ id: number }>('delete', ({ id }) => handlers.removed(id))
    on<ChatStats>('stats', handlers.stats)
    on<StreamState>('state', (state) => {
      handlers.posting(state)
      if (!state.replay?.truncated) return
      // More was missed than a replay holds.
      last = undefined
      start()
    })
    opened.addEventListener('open', () => {
      pauseMs = FIRST_PAUSE_MS
      heard()
      handlers.connection('live')
    })
    opened.addEventListener('error', () => {
      if (opened.readyState === EventSource.CLOSED) retry()
      else handlers.connection('reconnecting')
    })
  }
  const connect = async (): Promise<void> => {
    const own = attempt
    try {
      last ??= await handlers.begin()
    } catch {
      // Told where it was asked for.
      if (own === attempt) retry()
      return
    }
    if (own !== attempt) return
    source = new EventSource(`/api/stream?since=${last}`)
    listen(source)
  }
  function start(): void {
    const wasOpen = source?.readyState === EventSource.OPEN
    stop()
    if (!navigator.onLine) {
      handlers.connection('offline')
      return
    }
    // Opened anew after a silence, it is as live as before unless it fails.
    if (!wasOpen) handlers.connection(last === undefined ? 'connecting' : 'reconnecting')
    void connect()
  }
  const rest = (): void => {
    stop()
    handlers.connection('resting')
  }
  let unseen: ReturnType<typeof setTimeout> | undefined
  const restSoon = (): void => {
    unseen = setTimeout(rest, UNSEEN_MS)
  }

  addEventListener('online', () => {
    if (document.hidden) rest()
    else start()
  })
  addEventListener('offline', start)
  addEventListener('pagehide', stop)
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) start()
  })
  document.addEventListener('visibilitychange', () => {
    clearTimeout(unseen)
    if (document.hidden) restSoon()
    else if (source === undefined) start()
  })
  start()
  if (document.hidden) restSoon()
}
