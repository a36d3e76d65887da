/**
 * Short messages to whoever listens: in this process, and in every server on the same Redis where there is one.
 * Nothing is kept: who isn't connected when a message is published never gets it, and is told of the gap later.
 * @module
 */
import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import { within } from './breaker.ts'
import type { StoreLogger } from './database.ts'

const CHANNEL_PREFIX = 'assay:bus'
/** Each message begins with its sender, who has delivered it already and does not hear it again. */
const SENDER_BYTES = 8
const SENDER_LENGTH = 2 * SENDER_BYTES
/** Longest wait of a publisher for Redis; the message may still arrive afterwards. */
const PUBLISH_TIMEOUT_MS = 100
/** How often the listening connection is tried, since one that vanished without a word looks like a quiet one. */
const HEARTBEAT_MS = 10_000

export interface Bus {
  /**
   * Tells all listeners of a channel; those of this process first, and asynchronously. Never throws.
   * @returns resolves once Redis has passed the message on, or it was dropped because Redis is away
   */
  publish(channel: string, message: string): Promise<void>
  /**
   * @param onGap called when messages may have been missed: after the connection to Redis came (back) to life
   * @returns ends the subscription
   */
  subscribe(channel: string, onMessage: (message: string) => void, onGap?: () => void): () => void
  /** Ends the listening connection and all subscriptions. The client that was handed in stays open. */
  close(): void
}

interface Listener {
  readonly onMessage: (message: string) => void
  readonly onGap?: () => void
}

export interface BusOptions {
  /** Its publishing client; a second connection is opened for listening at the first subscription. */
  readonly redis?: Redis
  readonly logger?: StoreLogger
  /** How often the listening connection is tried, and how long its answer may take. */
  readonly heartbeatMs?: number
}

interface Wire extends Pick<Bus, 'publish' | 'close'> {
  listen(channel: string): void
  ignore(channel: string): void
}

interface Received {
  message(channel: string, message: string): void
  gap(channel: string): void
}

/** The part of the bus between servers. */
const createWire = (redis: Redis, options: BusOptions, received: Received): Wire => {
  const { logger, heartbeatMs = HEARTBEAT_MS } = options
  // Redis knows neither key prefixes nor databases for its channels, so both are part of the name.
  const prefix = `${redis.options.keyPrefix ?? ''}${CHANNEL_PREFIX}:${redis.options.db ?? 0}:`
  const sender = randomBytes(SENDER_BYTES).toString('hex')
  const wanted = new Set<string>()
  let subscriber: Redis | undefined
  let heartbeat: NodeJS.Timeout | undefined

  const subscribe = async (client: Redis, channels: readonly string[]): Promise<void> => {
    if (client.status !== 'ready' || channels.length === 0) return
    try {
      await client.subscribe(...channels.map((channel) => prefix + channel))
      for (const channel of channels) received.gap(channel)
    } catch (error) {
      // A connection that was lost meanwhile subscribes again when it is back.
      if (client.status === 'ready') logger?.warn({ err: error }, 'Redis refuses to be listened to')
    }
  }

  const open = (): Redis => {
    // Resubscribing is ours, so that the gap is told when it has ended and not before.
    const client = redis.duplicate({ autoResubscribe: false, keyPrefix: '' })
    // The publishing client's log says that Redis is away.
    client.on('error', () => undefined)
    client.on('ready', () => void subscribe(client, [...wanted]))
    client.on('message', (name: string, text: string) => {
      if (!text.startsWith(sender)) received.message(name.slice(prefix.length), text.slice(SENDER_LENGTH))
    })
    heartbeat = setInterval(() => {
      if (client.status !== 'ready') return
      within(client.ping(), heartbeatMs).catch(() => client.disconnect(true))
    }, heartbeatMs)
    heartbeat.unref()
    return client
  }

  return {
    async publish(channel, message) {
      await within(redis.publish(prefix + channel, sender + message), PUBLISH_TIMEOUT_MS).catch(
        () => undefined,
      )
    },
    listen(channel) {
      wanted.add(channel)
      if (subscriber === undefined) subscriber = open()
      else void subscribe(subscriber, [channel])
    },
    ignore(channel) {
      wanted.delete(channel)
      if (subscriber?.status === 'ready') subscriber.unsubscribe(prefix + channel).catch(() => undefined)
    },
    close() {
      clearInterval(heartbeat)
      subscriber?.disconnect()
    },
  }
}

export const createBus = (options: BusOptions = {}): Bus => {
  const { redis, logger } = options
  const channels = new Map<string, Set<Listener>>()

  /** Each listener on its own: one that fails disturbs neither the publisher nor its neighbours. */
  const tell = (channel: string, what: (listener: Listener) => void): void => {
    const listeners = channels.get(channel) ?? new Set()
    for (const listener of listeners) {
      queueMicrotask(() => {
        if (!listeners.has(listener)) return
        try {
          what(listener)
        } catch (error) {
          logger?.warn({ err: error, channel }, 'a listener of the bus failed')
        }
      })
    }
  }
  const deliver = (channel: string, message: string): void =>
    tell(channel, ({ onMessage }) => onMessage(message))
  const wire =
    redis &&
    createWire(redis, options, {
      message: deliver,
      gap: (channel) => tell(channel, ({ onGap }) => onGap?.()),
    })

  return {
    async publish(channel, message) {
      deliver(channel, message)
      await wire?.publish(channel, message)
    },
    subscribe(channel, onMessage, onGap) {
      const listener: Listener = { onMessage, onGap }
      const listeners = channels.get(channel) ?? new Set()
      listeners.add(listener)
      if (!channels.has(channel)) {
        channels.set(channel, listeners)
        wire?.listen(channel)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0 || channels.get(channel) !== listeners) return
        channels.delete(channel)
        wire?.ignore(channel)
      }
    },
    close() {
      for (const listeners of channels.values()) listeners.clear()
      channels.clear()
      wire?.close()
    },
  }
}
