/** A short memory of look-ups, so that hot paths ask the database once a second instead of once a request. @module */
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import { createBreaker } from './breaker.ts'
import type { Bus } from './bus.ts'
import { type Codec, createSharedValues, type SharedValues } from './shared-values.ts'

/** Longest wait for Redis before the database is asked. */
const REDIS_TIMEOUT_MS = 100
/** How long Redis is left alone after it failed, so that a hanging one does not slow every look-up. */
const REDIS_PAUSE_MS = 1000
/** The message that means all keys; no key is empty. */
const ALL_KEYS = ''

export interface Recent<V> {
  /** The value of a key: remembered, being loaded, or loaded now. Failures are not remembered. */
  get(key: string): Promise<V>
  /**
   * Forgets a key here at once, and everywhere else before it resolves; or, where a server can't be told, after its time to live.
   */
  forget(key: string): Promise<void>
  /** Forgets all keys, here and everywhere. */
  clear(): Promise<void>
}

interface Remembered<V> {
  readonly value: Promise<V>
  /** Unix ms at which the look-up of the value began, on whichever server. */
  at: number
}

export interface RecentOptions<V> {
  /**
   * How long a value is remembered, counted from the start of its look-up, so that a change holds everywhere no
   * later than that, also where nobody was told to forget
   */
  readonly ttlMs: number
  /** Beyond it the oldest are forgotten. */
  readonly maxEntries: number
  readonly clock: Clock
  load(key: string): Promise<V>
  /** Who else must forget what is forgotten here: memories of the same channel. */
  readonly others?: { readonly bus: Bus; readonly channel: string }
  /** What other servers have looked up. */
  readonly shared?: SharedValues<V>
}

/** Keys whose shared value is not to be trusted, each for one time to live. */
const createDistrust = (ttlMs: number, maxKeys: number, clock: Clock) => {
  const until = new LRUCache<string, number>({ max: maxKeys })
  let allUntil = 0
  return {
    add(key: string) {
      until.set(key, clock.now() + ttlMs)
    },
    addAll() {
      allUntil = clock.now() + ttlMs
    },
    has: (key: string, now: number): boolean => now < Math.max(allUntil, until.peek(key) ?? 0),
  }
}

export const createRecent = <V>(options: RecentOptions<V>): Recent<V> => {
  const { ttlMs, maxEntries, clock, load, others, shared } = options
  const entries = new LRUCache<string, Remembered<V>>({ max: maxEntries })
  // The tombstone of a forgotten key may not have reached Redis; this server at least knows better.
  const distrusted = shared && createDistrust(ttlMs, maxEntries, clock)

  const lookUp = (key: string, now: number): Remembered<V> => {
    // A real promise: knex's query builders pass for one, but run their query again at every await.
    if (shared === undefined || distrusted?.has(key, now))
      return { value: Promise.resolve(load(key)), at: now }
    const answer = shared.get(key, load)
    const entry = { value: answer.then(({ value }) => value), at: now }
    answer.then(
      // What another server has looked up is as old here as it is there.
      ({ at }) => {
        entry.at = Math.min(now, at)
      },
      () => undefined,
    )
    return entry
  }

  const forgetHere = (key: string): void => {
    entries.delete(key)
    distrusted?.add(key)
  }
  const clearHere = (): void => {
    entries.clear()
    distrusted?.addAll()
  }
  // After a gap nobody knows what was missed, but the tombstones in Redis do: only what is kept here goes.
  others?.bus.subscribe(
    others.channel,
    (key) => (key === ALL_KEYS ? clearHere() : forgetHere(key)),
    () => entries.clear(),
  )
  const tell = async (key: string): Promise<void> => others?.bus.announce(others.channel, key)

  return {
    get(key) {
      const now = clock.now()
      // Only looked at: the oldest is the one that was looked up longest ago, however often it is asked for.
      const known = entries.peek(key)
      if (known !== undefined && now - known.at < ttlMs && now >= known.at) return known.value
      const entry = lookUp(key, now)
      entries.set(key, entry)
      entry.value.catch(() => {
        if (entries.peek(key) === entry) entries.delete(key)
      })
      return entry.value
    },
    async forget(key) {
      forgetHere(key)
      // Both leave on one connection and in this order, so whoever is told finds no shared value any more.
      await Promise.all([shared?.forget(key), tell(key)])
    },
    async clear() {
      clearHere()
      await tell(ALL_KEYS)
    },
  }
}

/** What a service says of a memory; where it is kept is not its concern. */
export interface MemoryOptions<V> extends Pick<RecentOptions<V>, 'ttlMs' | 'maxEntries' | 'load'> {
  /** The same on all servers, and different for each kind of value. */
  readonly name: string
  /** Whether servers share the values, sealed, through Redis where there is one. */
  readonly shared?: boolean
}

/** Opens memories that forget together on all servers. */
export type OpenRecent = <V>(options: MemoryOptions<V>) => Recent<V>

/** @param deps.redis the client that the bus publishes with, so that tombstones and messages keep their order */
export const createOpenRecent = (deps: {
  readonly clock: Clock
  readonly bus: Bus
  readonly codec: Codec
  readonly redis?: Redis
}): OpenRecent => {
  const { clock, bus, codec, redis } = deps
  const breaker = createBreaker({ timeoutMs: REDIS_TIMEOUT_MS, pauseMs: REDIS_PAUSE_MS })
  return <V>({ name, shared = false, ...memory }: MemoryOptions<V>): Recent<V> =>
    createRecent<V>({
      ...memory,
      clock,
      others: { bus, channel: `recent:${name}` },
      shared:
        redis && shared
          ? createSharedValues<V>({ memory: name, ttlMs: memory.ttlMs, clock, redis, breaker, codec })
          : undefined,
    })
}
