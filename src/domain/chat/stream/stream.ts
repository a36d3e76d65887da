/**
 * The live stream of the chat: who reads, what each is told first, and how everybody is told what happens. A reader is
 * registered first, then the database is read, then what happened meanwhile follows: nothing is lost and nothing told
 * twice. Events become bytes once and are shared by all readers.
 * @module
 */
import { type ErrorCode, fail } from '../../../errors.ts'
import type {
  EventConnection,
  eventFrame as EventFrame,
  EventStreamReply,
  EventStreams,
} from '../../../http/event-stream.ts'
import type { Logger } from '../../../http/log.ts'
import type { Metrics } from '../../../metrics.ts'
import type { Bus } from '../../../store/bus.ts'
import type { ChatStats, PostingState } from '../schemas.ts'
import { type ChatCommit, createFeed, type StreamEvent } from './feed.ts'
import { type Replays, readReplays } from './replay.ts'
import type { StreamReads } from './store-stream.ts'

/** Counts are sent again at most this often, when they have changed. */
export const STATS_INTERVAL_MS = 15_000
/** When a client that was refused may try again. */
const REFUSED_RETRY_SECONDS = 10
/** What may wait for a reader whose first read takes long; beyond it the reader has to come again. */
const MAX_WAITING_BYTES = 1024 * 1024

export interface StreamRequest {
  readonly ip: string
  /** Value of the header; wins over `since`. */
  readonly lastEventId?: string | string[]
  readonly since?: string | number
}

export interface ChatStream {
  /** Tells what this server has committed. */
  committed(commit: ChatCommit): void
  /** Posting is open, paused or restricted now, as this server learnt. */
  modeChanged(): void
  /** Open streams on this server. */
  readonly open: number
  /**
   * The answer to a reader. The stream begins with the state of posting and the counts, then what the reader missed.
   * @throws AppError from the answer: rate_limited or unavailable where too many streams are open
   */
  connect(request: StreamRequest): EventStreamReply
  /** Ends all streams; clients are told to come back. */
  close(): void
}

export interface ChatStreamOptions {
  readonly streams: EventStreams
  readonly eventFrame: typeof EventFrame
  readonly reads: StreamReads
  readonly bus: Bus
  readonly readStats: () => Promise<ChatStats>
  readonly readState: () => PostingState
  readonly addressBlock: (ip: string) => string
  /** Absent: none. */
  readonly limits?: { readonly perAddress: number; readonly total: number }
  readonly metrics: Pick<Metrics, 'sseConnections'>
  readonly logger: Logger
  readonly statsIntervalMs?: number
  readonly pollMs?: number
}

interface Reader {
  readonly connection: EventConnection
  readonly block: string
  /** Id of the last message that it saw earlier. */
  readonly cursor: number | undefined
  /** Messages up to this id are not sent: it had them when it began. */
  begunAt: number
  /** What happens until the reader has begun; undefined from then on. */
  waiting: StreamEvent[] | undefined
  waitingBytes: number
  /** Which counts it was sent last. A number, since bytes would keep the whole block of memory that they were cut from. */
  stats: number
  /** It was sent counts less than an interval ago. */
  isNew: boolean
}

/** Whatever is no id of a message is as good as nothing. */
const readCursor = (value: unknown): number | undefined => {
  const id = /^\d{1,16}$/.test(String(value)) ? Number(value) : undefined
  return Number.isSafeInteger(id) ? id : undefined
}

/** Counts as an event. */
interface StatsFrame {
  /** Grows when the counts change. */
  readonly version: number
  readonly frame: Buffer
}

/** The same counts are the same event, whenever they were taken. */
const createStatsFrames = (eventFrame: typeof EventFrame) => {
  let content = ''
  let latest: StatsFrame = { version: 0, frame: Buffer.alloc(0) }
  return (stats: ChatStats): StatsFrame => {
    const text = JSON.stringify({ ...stats, as_of: undefined })
    if (text !== content)
      latest = { version: latest.version + 1, frame: eventFrame('stats', JSON.stringify(stats)) }
    content = text
    return latest
  }
}

const joined = (frames: readonly Buffer[]): Buffer =>
  frames.length === 1 && frames[0] ? frames[0] : Buffer.concat(frames)

const deliver = (reader: Reader, events: readonly StreamEvent[], all: Buffer): void => {
  if (reader.waiting) {
    reader.waiting.push(...events)
    reader.waitingBytes += all.length
    if (reader.waitingBytes > MAX_WAITING_BYTES) reader.connection.destroy()
    return
  }
  const first = events.find(({ id }) => id !== undefined)?.id
  if (first === undefined || first > reader.begunAt) {
    reader.connection.send(all)
    return
  }
  const news = events.filter(({ id }) => id === undefined || id > reader.begunAt)
  if (news.length > 0) reader.connection.send(joined(news.map(({ frame }) => frame)))
}

export const createChatStream = (options: ChatStreamOptions): ChatStream => {
  const { streams, eventFrame, reads, readStats, readState, addressBlock, limits, metrics, logger } = options
  const { statsIntervalMs = STATS_INTERVAL_MS } = options
  const readers = new Set<Reader>()
  const perBlock = new Map<string, number>()
  const statsFrame = createStatsFrames(eventFrame)
  let beginners: Reader[] = []
  let beginning = false
  let statsTimer: NodeJS.Timeout | undefined

  const feed = createFeed({
    ...options,
    onEvents(events) {
      const all = joined(events.map(({ frame }) => frame))
      for (const reader of readers) deliver(reader, events, all)
    },
  })

  const sendStats = async (): Promise<void> => {
    const { version, frame } = statsFrame(await readStats())
    for (const reader of readers) {
      if (!reader.isNew && !reader.waiting && reader.stats !== version) {
        reader.stats = version
        reader.connection.send(frame)
      }
      reader.isNew = false
    }
  }

  /** Sends what a reader is told first, together with what happened since it came. */
  const begin = (reader: Reader, { head, since }: Replays, stats: StatsFrame): void => {
    const missed = reader.cursor === undefined ? undefined : since(reader.cursor)
    const waited = (reader.waiting ?? []).filter(({ id }) => id === undefined || id > head.lastId)
    const posting = { ...readState(), ...(missed && { replay: missed.replay }) }
    // Who has no cursor yet comes back after what there was when it began, also before it has seen a message.
    const state = eventFrame('state', JSON.stringify(posting), missed ? undefined : head.lastId)
    const frames = [
      state,
      stats.frame,
      ...(missed ? [missed.events] : []),
      ...waited.map(({ frame }) => frame),
    ]
    reader.begunAt = head.lastId
    reader.waiting = undefined
    reader.stats = stats.version
    reader.connection.send(...frames)
  }

  const beginAll = async (batch: readonly Reader[]): Promise<void> => {
    try {
      const cursors = new Set(batch.map(({ cursor }) => cursor).filter((cursor) => cursor !== undefined))
      const stats = statsFrame(await readStats())
      const replays = await readReplays(reads, eventFrame, [...cursors])
      const present = batch.filter((reader) => readers.has(reader))
      for (const reader of present) begin(reader, replays, stats)
      if (present.length > 0) feed.begin(replays.head)
    } catch (error) {
      logger.warn({ err: error, readers: batch.length }, 'streams of the chat could not begin')
      for (const { connection } of batch) connection.end()
    }
  }

  /** One read at a time, for all who came since the one before began. */
  const beginWaiting = async (): Promise<void> => {
    if (beginning) return
    beginning = true
    while (beginners.length > 0) {
      const batch = beginners
      beginners = []
      await beginAll(batch)
    }
    beginning = false
  }

  const refuse = (code: ErrorCode, message: string): never =>
    fail(code, { message, retryAfter: REFUSED_RETRY_SECONDS })

  const admit = (block: string): void => {
    const ofBlock = perBlock.get(block) ?? 0
    if (limits && ofBlock >= limits.perAddress)
      refuse('rate_limited', `At most ${limits.perAddress} streams can be open from one address.`)
    if (limits && readers.size >= limits.total) refuse('unavailable', 'Too many streams are open; try again.')
    perBlock.set(block, ofBlock + 1)
  }

  const enter = (reader: Reader): void => {
    readers.add(reader)
    metrics.sseConnections.set(readers.size)
    feed.listen()
    statsTimer ??= setInterval(
      () => sendStats().catch((error) => logger.warn({ err: error }, 'no counts for the stream')),
      statsIntervalMs,
    ).unref()
    beginners.push(reader)
    void beginWaiting()
  }

  const leave = (reader: Reader): void => {
    readers.delete(reader)
    metrics.sseConnections.set(readers.size)
    const left = (perBlock.get(reader.block) ?? 1) - 1
    if (left > 0) perBlock.set(reader.block, left)
    else perBlock.delete(reader.block)
    if (readers.size > 0) return
    feed.rest()
    clearInterval(statsTimer)
    statsTimer = undefined
  }

  return {
    committed: (commit) => feed.committed(commit),
    modeChanged() {
      if (readers.size === 0) return
      const frame = eventFrame('state', JSON.stringify(readState()))
      for (const reader of readers) deliver(reader, [{ frame }], frame)
    },
    get open() {
      return readers.size
    },
    connect: ({ ip, lastEventId, since }) =>
      streams.answer((connection) => {
        const block = addressBlock(ip)
        admit(block)
        const reader: Reader = {
          connection,
          block,
          cursor: readCursor(lastEventId) ?? readCursor(since),
          begunAt: 0,
          waiting: [],
          waitingBytes: 0,
          stats: 0,
          isNew: true,
        }
        enter(reader)
        return () => leave(reader)
      }),
    close() {
      streams.close()
      feed.close()
      clearInterval(statsTimer)
    },
  }
}
