/** Somebody who reads the chat's stream and comes back with the last id whenever it ends. */
import { setTimeout as pause } from 'node:timers/promises'
import { openStream, type ReadEvent, type StreamReader } from '../../support/chat/event-stream.ts'
import { clientOf } from '../../support/client.ts'
import { eventually } from '../../support/eventually.ts'
import type { Model } from '../model.ts'

interface Message {
  readonly id: number
  readonly text: string
}

interface State {
  readonly replay?: { readonly from: number | null; readonly truncated: boolean }
}

export interface ChatReader {
  readonly number: number
  /** Texts by id, as they were told. */
  readonly told: ReadonlyMap<number, string>
  /** Resolves when it was told of this message; notes that it wasn't, in time. */
  reach(id: number, withinMs: number): Promise<void>
  close(): void
}

const LOOK_MS = 20
const RETURN_MS = 100
/** A stream of which nothing comes for so long is left; a comment comes every 15 s. */
const SILENCE_MS = 20_000
const PAGE = 100

export const followChat = (url: () => string, model: Model, number: number): ChatReader => {
  const told = new Map<number, string>()
  let last = 0
  let isClosed = false
  let stream: StreamReader | undefined

  const hear = ({ id, text }: Message, how: string): void => {
    if (id !== last + 1)
      model.broken('readers see each message once', `reader ${number} was told ${id} after ${last} (${how})`)
    told.set(id, text)
    last = Math.max(last, id)
  }

  /** Reads what is not replayed, up to what is. */
  const readUpTo = async (end: number): Promise<void> => {
    while (last < end - 1 && !isClosed) {
      const path = `/api/messages?after=${last}&before=${end}&limit=${PAGE}`
      const answer = await clientOf(url(), () => ({ connection: 'close' }))
        .request<{ messages: Message[] }>('GET', path)
        .catch(() => undefined)
      if (answer?.status === 200) for (const message of answer.body.messages) hear(message, 'a page')
      else await pause(RETURN_MS)
    }
  }

  const take = async ({ event, data }: ReadEvent): Promise<void> => {
    if (event === 'message') hear(data as Message, 'the stream')
    const replay = event === 'state' ? (data as State).replay : undefined
    if (replay?.truncated && replay.from !== null) await readUpTo(replay.from)
  }

  const read = async (opened: StreamReader): Promise<void> => {
    let taken = 0
    let length = 0
    let heardAt = performance.now()
    let hasEnded = false
    void opened.ended.then(() => {
      hasEnded = true
    })
    while (!isClosed) {
      const isLast = hasEnded
      for (; taken < opened.events.length; taken++) await take(opened.events[taken] as ReadEvent)
      if (isLast) return
      if (opened.text().length > length) heardAt = performance.now()
      length = opened.text().length
      if (performance.now() - heardAt > SILENCE_MS) return
      await pause(LOOK_MS)
    }
  }

  const run = async (): Promise<void> => {
    while (!isClosed) {
      try {
        stream = await openStream(`${url()}/api/stream`, {
          accept: 'text/event-stream',
          'last-event-id': String(last),
        })
        if (stream.status === 200) await read(stream)
        else if (stream.status !== 503)
          model.broken('no answer but the right ones', `a stream was answered ${stream.status}`)
        stream.close()
      } catch {
        // Nobody answers there at the moment.
      }
      await pause(RETURN_MS)
    }
  }
  const running = run()
  running.catch((error: unknown) =>
    model.broken('readers see each message once', `reader ${number} failed: ${error}`),
  )

  return {
    number,
    told,
    reach: (id, withinMs) =>
      eventually(`message ${id}`, () => last >= id, { patienceMs: withinMs, pauseMs: LOOK_MS }).catch(() =>
        model.broken('readers see each message once', `reader ${number} stopped at ${last}, and ${id} stand`),
      ),
    close() {
      isClosed = true
      stream?.close()
    },
  }
}
