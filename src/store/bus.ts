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
/**
 * Each message begins with its sender, who has delivered it already and does not hear it again, and with a number: 0, or
 * whoever heard it says so to its sender.
 */
const SENDER_BYTES = 5
const SENDER_LENGTH = 2 * SENDER_BYTES
const NUMBER_LENGTH = 6
const NUMBERS = 16 ** NUMBER_LENGTH
const UNNUMBERED = '0'.repeat(NUMBER_LENGTH)
/** Where a sender hears of who heard it. */
const heardBy = (sender: string): string => `heard:${sender}`
/** Longest wait of a publisher for Redis; the message may still arrive afterwards. */
const PUBLISH_TIMEOUT_MS = 100
/** Longest wait for the others to have heard a message. */
const HEARD_TIMEOUT_MS = 250
/** How often the listening connection is tried, since one that vanished without a word looks like a quiet one. */
const HEARTBEAT_MS = 10_000

export interface Bus {
  /**
   * Tells all listeners of a channel; those of this process first, and asynchronously. Never throws.
   * @returns resolves once Redis has passed the message on, or it was dropped because Redis is away
   */
  publish(channel: string, message: string): Promise<void>
  /**
   * The same, for what must hold everywhere before it is said to hold.
   * @returns resolves once the listeners of every server that is connected were told; where one does not answer, or Redis is away,
   *   after 250 ms. A server whose connection is down is told of the gap when it is back
   */
  announce(channel: string, message: string): Promise<void>
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

interface Wire extends Pick<Bus, 'publish' | 'announce' | 'close'> {
  listen(channel: string): void
  ignore(channel: string): void
}

interface Received {
  message(channel: string, message: string): void
  gap(channel: string): void
}

/** How many have heard each message that waits for it. */
const createHeard = () => {
  const waiting = new Map<string, { count: number; wanted: number; resolve(): void; told: Promise<void> }>()
  let last = 0
  const check = (number: string): void => {
    const one = waiting.get(number)
    if (one && one.count >= one.wanted) one.resolve()
  }
  return {
    /** @returns hex digits, the same for two messages only when millions lie between them */
    open(): string {
      last = (last % (NUMBERS - 1)) + 1
      const number = last.toString(16).padStart(NUMBER_LENGTH, '0')
      let resolve = () => {}
      const told = new Promise<void>((done) => {
        resolve = done
      })
      waiting.set(number, { count: 0, wanted: Number.POSITIVE_INFINITY, resolve, told })
      return number
    },
    by(number: string): void {
      const one = waiting.get(number)
      if (one) one.count += 1
      check(number)
    },
    /** They may have heard it before it is known how many there are. */
    everywhere(number: string, wanted: number): Promise<void> | undefined {
      const one = waiting.get(number)
      if (one) one.wanted = wanted
      check(number)
      return one?.told
    },
    close: (number: string) => waiting.delete(number),
  }
}

/** The part of the bus between servers. */
const createWire = (redis: Redis, options: BusOptions, received: Received): Wire => {
  const { logger, heartbeatMs = HEARTBEAT_MS } = options
  // Redis knows neither key prefixes nor databases for its channels, so both are part of the name.
  const prefix = `${redis.options.keyPrefix ?? ''}${CHANNEL_PREFIX}:${redis.options.db ?? 0}:`
  const sender = randomBytes(SENDER_BYTES).toString('hex')
  const wanted = new Set<string>()
  /** Those that Redis has confirmed: of their messages this server is one of the receivers. */
  const confirmed = new Set<string>()
  const heard = createHeard()
  let subscriber: Redis | undefined
  let heartbeat: NodeJS.Timeout | undefined

  const subscribe = async (client: Redis, channels: readonly string[]): Promise<void> => {
    if (client.status !== 'ready' || channels.length === 0) return
    try {
      await client.subscribe(...channels.map((channel) => prefix + channel))
      for (const channel of channels) {
        confirmed.add(channel)
        received.gap(channel)
      }
    } catch (error) {
      // A connection that was lost meanwhile subscribes again when it is back.
      if (client.status === 'ready') logger?.warn({ err: error }, 'Redis refuses to be listened to')
    }
  }

  const open = (): Redis => {
    wanted.add(heardBy(sender))
    // Resubscribing is ours, so that the gap is told when it has ended and not before.
    const client = redis.duplicate({ autoResubscribe: false, keyPrefix: '' })
    // The publishing client's log says that Redis is away.
    client.on('error', () => undefined)
    client.on('close', () => confirmed.clear())
    client.on('ready', () => void subscribe(client, [...wanted]))
    client.on('message', (name: string, text: string) => {
      const channel = name.slice(prefix.length)
      if (channel === heardBy(sender)) return heard.by(text)
      if (text.startsWith(sender)) return
      const number = text.slice(SENDER_LENGTH, SENDER_LENGTH + NUMBER_LENGTH)
      received.message(channel, text.slice(SENDER_LENGTH + NUMBER_LENGTH))
      if (number !== UNNUMBERED) queueMicrotask(() => answer(text.slice(0, SENDER_LENGTH), number))
    })
    heartbeat = setInterval(() => {
      if (client.status !== 'ready') return
      within(client.ping(), heartbeatMs).catch(() => client.disconnect(true))
    }, heartbeatMs)
    heartbeat.unref()
    return client
  }

  /** Listeners are told in microtasks: this is called in a later one. */
  const answer = (to: string, number: string): void => {
    redis.publish(prefix + heardBy(to), number).catch(() => undefined)
  }

  const send = (channel: string, number: string, message: string): Promise<number> =>
    redis.publish(prefix + channel, sender + number + message)

  return {
    async publish(channel, message) {
      await within(send(channel, UNNUMBERED, message), PUBLISH_TIMEOUT_MS).catch(() => undefined)
    },
    async announce(channel, message) {
      // Who doesn't listen hears no answers.
      if (subscriber?.status !== 'ready') return this.publish(channel, message)
      const number = heard.open()
      const told = async () => {
        const receivers = await send(channel, number, message)
        const isOne = confirmed.has(channel)
        await heard.everywhere(number, isOne ? receivers - 1 : receivers)
      }
      await within(told(), HEARD_TIMEOUT_MS).catch(() => undefined)
      heard.close(number)
    },
    listen(channel) {
      wanted.add(channel)
      if (subscriber === undefined) subscriber = open()
      else void subscribe(subscriber, [channel])
    },
    ignore(channel) {
      wanted.delete(channel)
      confirmed.delete(channel)
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
    async announce(channel, message) {
      deliver(channel, message)
      await wire?.announce(channel, message)
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
