/** The live stream over a real server and a real database, with commits made at the moment that a test chooses. */
import { toMessage } from '../../../src/domain/chat/message.ts'
import type { ChatStats, Message, PostingState } from '../../../src/domain/chat/schemas.ts'
import { findHead, findMessages } from '../../../src/domain/chat/store.ts'
import { streamRoutes } from '../../../src/domain/chat/stream/routes-stream.ts'
import { createStreamReads, type StreamReads } from '../../../src/domain/chat/stream/store-stream.ts'
import { type ChatStream, createChatStream } from '../../../src/domain/chat/stream/stream.ts'
import { addressBlock } from '../../../src/http/connections/client-address.ts'
import { createEventStreams, eventFrame } from '../../../src/http/event-stream.ts'
import { createLogger } from '../../../src/http/log.ts'
import { type Bus, createBus } from '../../../src/store/bus.ts'
import type { Database } from '../../../src/store/database.ts'
import { type HttpKit, startHttpKit } from '../http-kit.ts'
import { openStream, type StreamReader } from './event-stream.ts'

const POST = `WITH head AS (UPDATE chat_head SET last_id = last_id + $1 RETURNING last_id)
  INSERT INTO chat_messages (id, created_at, agent_name, thread_id, text, kind, source, verified, reply_count, poster, text_hash)
  SELECT last_id - $1 + n, 1, 'Ada', last_id - $1 + n, $2 || n, 'agent', 'api', false, 0,
    decode(repeat('00', 16), 'hex'), decode(repeat('00', 16), 'hex')
  FROM head, generate_series(1, $1::bigint) AS n RETURNING id`

const REMOVE = `WITH head AS (UPDATE chat_head SET last_removal = last_removal + 1 RETURNING last_id, last_removal),
  gone AS (UPDATE chat_messages SET removed_at = 1, text = '' WHERE id = $1)
  INSERT INTO chat_removals (number, message_id, head_id, at) SELECT last_removal, $1, last_id, 1 FROM head`

/** Commits messages, as the lane does, without telling anybody. @returns them */
export const commitMessages = async (
  database: Database,
  count: number,
  text = 'text ',
): Promise<Message[]> => {
  const { rows } = await database.query<{ id: number }>(POST, [count, text])
  const first = Math.min(...rows.map(({ id }) => id))
  return (await findMessages(database, { after: first - 1, limit: count })).map(toMessage)
}

/** Commits a removal without telling anybody. */
export const commitRemoval = async (database: Database, id: number): Promise<void> => {
  await database.query(REMOVE, [id])
}

export const COUNTS: ChatStats = {
  messages: 0,
  messages_24h: 0,
  threads: 0,
  agents: 0,
  agents_24h: 0,
  verified_messages: 0,
  prompts: 0,
  categories: 0,
  streams: 0,
  posting: 'open',
  as_of: '2026-01-01T00:00:00.000Z',
}

export interface StreamServer {
  readonly kit: HttpKit
  readonly stream: ChatStream
  /** What is told of posting and counts; tests change it. */
  readonly told: { state: PostingState; stats: ChatStats }
  open(cursor?: { since?: string; lastEventId?: string; ip?: string }): Promise<StreamReader>
  /** Opens a stream and waits until it has begun. */
  begun(cursor?: { since?: string; lastEventId?: string; ip?: string }): Promise<StreamReader>
  /** Tells it of messages that were committed last, as its lane does. */
  posted(messages: readonly Message[]): Promise<void>
  /** Tells it of the removal that was committed last. */
  removed(id: number): Promise<void>
  close(): Promise<void>
}

export interface StreamServerOptions {
  readonly bus?: Bus
  /** Stands between the stream and what it reads, to hold a read up. */
  readonly gate?: (reads: StreamReads) => StreamReads
  readonly limits?: { perAddress: number; total: number }
  readonly pollMs?: number
  readonly statsIntervalMs?: number
}

/** One server of the stream; several may share a database. */
export const startStreamServer = async (
  database: Database,
  { bus = createBus(), gate = (reads) => reads, ...options }: StreamServerOptions = {},
): Promise<StreamServer> => {
  const told: StreamServer['told'] = {
    state: { posting: 'open', since: '2026-01-01T00:00:00.000Z' },
    stats: COUNTS,
  }
  const streams = createEventStreams()
  let kit: HttpKit | undefined
  const metrics = { sseConnections: { set: (open: number) => kit?.metrics.sseConnections.set(open) } }
  const stream = createChatStream({
    ...options,
    streams,
    eventFrame,
    reads: gate(createStreamReads(database)),
    bus,
    readStats: async () => told.stats,
    readState: () => told.state,
    addressBlock,
    metrics: metrics as never,
    logger: createLogger('silent'),
  })
  const routes = streamRoutes.map((route) => ({
    ...route,
    handler: (request: Parameters<typeof route.handler>[0]) => route.handler(request, { chatStream: stream }),
  }))
  kit = await startHttpKit(routes, { config: { trustProxy: ['127.0.0.1/32'] } })
  const { url } = kit
  const open: StreamServer['open'] = ({ since, lastEventId, ip } = {}) =>
    openStream(`${url}/api/stream${since === undefined ? '' : `?since=${encodeURIComponent(since)}`}`, {
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      ...(ip !== undefined && { 'x-forwarded-for': ip }),
    })
  const tell = async (messages: readonly Message[], removed: readonly number[]) => {
    const head = await findHead(database)
    const lastId = messages.at(-1)?.id ?? head.last_id
    stream.committed({ head: { lastId, lastRemoval: head.last_removal }, messages, removed })
  }
  return {
    kit,
    stream,
    told,
    open,
    posted: (messages) => tell(messages, []),
    removed: (id) => tell([], [id]),
    async begun(cursor) {
      const reader = await open(cursor)
      await reader.until(({ of }) => of('stats').length > 0)
      return reader
    },
    async close() {
      stream.close()
      await kit.close()
    },
  }
}
