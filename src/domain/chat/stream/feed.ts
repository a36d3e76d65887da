/**
 * What happens in the chat, on whichever server, told in order and once: messages by their ids and removals by their
 * numbers, both dense, and no message before the removals that came before it: who has a message asks for no earlier
 * removal again. What is committed here or comes over the bus is told at once when it is the next; whatever is missing is
 * read from the database, which is also asked every second, since the bus may lose messages and without Redis reaches no
 * other server.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { eventFrame as EventFrame } from '../../../http/event-stream.ts'
import type { Logger } from '../../../http/log.ts'
import type { Bus } from '../../../store/bus.ts'
import type { Message } from '../schemas.ts'
import type { ChatHead, StreamReads } from './store-stream.ts'

const CHANNEL = 'chat.commits'
/** Each message on the bus begins with its sender, who has told it already. */
const ORIGIN_BYTES = 8
export const POLL_MS = 1000
/** Messages that one read brings. */
const PAGE_MESSAGES = 500
const PAGE_REMOVALS = 500
/** Messages kept that came too early; with more the database is quicker. */
const MAX_EARLY = 2000
/** Larger batches are only announced; the other servers read them. */
const MAX_BUS_CHARACTERS = 256 * 1024
/** Removals remembered: each is told once, and a message that comes late is not told after it. */
const MAX_KNOWN_REMOVALS = 10_000

/** One event as bytes. @property id of a message; absent for what is no message */
export interface StreamEvent {
  readonly id?: number
  readonly frame: Buffer
}

/** What one commit changed. */
export interface ChatCommit {
  /** As the commit left it. */
  readonly head: ChatHead
  /** Ascending. */
  readonly messages: readonly Message[]
  /** Ids of the messages that it removed, in the order of the removals' numbers, of which the head has the last. */
  readonly removed: readonly number[]
}

export interface Feed {
  /** Tells what this server has committed, to the other servers as well. */
  committed(commit: ChatCommit): void
  /** Somebody reads: events are kept from here on, and told once the stream begins. */
  listen(): void
  /** Tells everything above this head. Does nothing when it has begun. */
  begin(head: ChatHead): void
  /** Nobody reads any more. */
  rest(): void
  close(): void
}

export interface FeedOptions {
  readonly reads: StreamReads
  readonly bus: Bus
  readonly eventFrame: typeof EventFrame
  readonly logger: Logger
  readonly pollMs?: number
  /** Hears messages in ascending order without gaps, except for those that were removed meanwhile; must not throw. */
  onEvents(events: readonly StreamEvent[]): void
}

interface MessageText {
  readonly id: number
  readonly json: string
}
type CommitTexts = Omit<ChatCommit, 'messages'> & { readonly messages: readonly MessageText[] }

/** On the bus a commit is a line with its head and what it removed, then one for each message: its id, a space, its JSON. */
const packed = ({ head, messages, removed }: CommitTexts): string => {
  const first = [head.lastId, head.lastRemoval, ...removed].join(' ')
  const text = [first, ...messages.map(({ id, json }) => `${id} ${json}`)].join('\n')
  return text.length > MAX_BUS_CHARACTERS ? first : text
}
const unpacked = (text: string): CommitTexts => {
  const [first = '', ...lines] = text.split('\n')
  const [lastId = 0, lastRemoval = 0, ...removed] = first.split(' ').map(Number)
  const messages = lines.map((line) => {
    const space = line.indexOf(' ')
    return { id: Number(line.slice(0, space)), json: line.slice(space + 1) }
  })
  return { head: { lastId, lastRemoval }, messages, removed }
}

export const createFeed = (options: FeedOptions): Feed => {
  const { reads, bus, eventFrame, logger, onEvents, pollMs = POLL_MS } = options
  const origin = randomBytes(ORIGIN_BYTES).toString('hex')
  /** Messages beyond the position, and the removal that is told before each. */
  const early = new Map<number, { readonly json: string; readonly removal: number }>()
  const removals = new LRUCache<number, true>({ max: MAX_KNOWN_REMOVALS })
  let isListening = false
  /** What was told last; a new object each time somebody begins to read. */
  let position: { id: number; removal: number } | undefined
  let reading = false
  let readAgain = false
  let poll: NodeJS.Timeout | undefined

  const tell = (messages: readonly MessageText[]): void => {
    const events = messages
      .filter(({ id }) => !removals.has(id))
      .map(({ id, json }) => ({ id, frame: eventFrame('message', json, id) }))
    if (events.length > 0) onEvents(events)
  }

  /** Tells what came early and is next now. */
  const drain = (): void => {
    if (position === undefined) return
    const next: MessageText[] = []
    for (;;) {
      const id = position.id + 1
      const message = early.get(id)
      if (message === undefined || message.removal > position.removal) break
      position.id = id
      early.delete(id)
      next.push({ id, json: message.json })
    }
    tell(next)
  }

  const moveTo = (at: { id: number }, id: number): void => {
    at.id = Math.max(at.id, id)
    for (const each of early.keys()) if (each <= at.id) early.delete(each)
  }

  const announceRemoval = (id: number): void => {
    if (removals.has(id)) return
    removals.set(id, true)
    if (isListening) onEvents([{ frame: eventFrame('delete', JSON.stringify({ id })) }])
  }

  /** Reads the messages between the position and the head. */
  const readMessages = async (at: NonNullable<typeof position>, { lastId }: ChatHead): Promise<void> => {
    while (position === at && at.id < lastId) {
      const page = await reads.messages({ after: at.id, upTo: lastId, limit: PAGE_MESSAGES })
      if (position !== at) return
      const news = page.filter(({ id }) => id > at.id)
      // Ids that are missing from a page that ends at the head were removed.
      moveTo(at, page.length < PAGE_MESSAGES ? lastId : (page.at(-1)?.id ?? lastId))
      tell(news.map((message) => ({ id: message.id, json: JSON.stringify(message) })))
    }
  }

  const readRemovals = async (at: NonNullable<typeof position>, { lastRemoval }: ChatHead): Promise<void> => {
    while (position === at && at.removal < lastRemoval) {
      const page = await reads.removals({ after: at.removal, limit: PAGE_REMOVALS })
      if (position !== at) return
      for (const { message_id } of page) announceRemoval(message_id)
      at.removal = Math.max(at.removal, page.at(-1)?.number ?? lastRemoval)
    }
  }

  const catchUp = async (): Promise<void> => {
    const at = position
    if (at === undefined) return
    const head = await reads.head()
    await readRemovals(at, head)
    await readMessages(at, head)
    drain()
  }

  /** One read at a time; what is asked for meanwhile is read afterwards. */
  const read = async (): Promise<void> => {
    if (reading) {
      readAgain = true
      return
    }
    reading = true
    try {
      do {
        readAgain = false
        await catchUp()
      } while (readAgain)
    } catch (error) {
      // The next poll tries again.
      logger.warn({ err: error }, 'the stream of the chat waits for the database')
    } finally {
      reading = false
    }
  }

  const receive = ({ head: { lastId, lastRemoval }, messages, removed }: CommitTexts): void => {
    for (const id of removed) announceRemoval(id)
    if (!isListening) return
    if (position?.removal === lastRemoval - removed.length) position.removal = lastRemoval
    for (const { id, json } of messages)
      if (id > (position?.id ?? 0)) early.set(id, { json, removal: lastRemoval })
    if (early.size > MAX_EARLY) early.clear()
    drain()
    if (position && (position.id < lastId || position.removal < lastRemoval)) void read()
  }

  const rest = (): void => {
    isListening = false
    position = undefined
    early.clear()
    clearInterval(poll)
    poll = undefined
  }

  const unsubscribe = bus.subscribe(
    CHANNEL,
    (text) => {
      if (!text.startsWith(origin)) receive(unpacked(text.slice(origin.length)))
    },
    () => void read(),
  )

  return {
    committed({ head, messages, removed }) {
      const texts = messages.map((message) => ({ id: message.id, json: JSON.stringify(message) }))
      const commit = { head, messages: texts, removed }
      receive(commit)
      void bus.publish(CHANNEL, origin + packed(commit))
    },
    listen() {
      isListening = true
      poll ??= setInterval(() => void read(), pollMs).unref()
    },
    begin(head) {
      if (position !== undefined || !isListening) return
      position = { id: head.lastId, removal: head.lastRemoval }
      moveTo(position, head.lastId)
      drain()
      if (early.size > 0) void read()
    },
    rest,
    close() {
      rest()
      unsubscribe()
    },
  }
}
