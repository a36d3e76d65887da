/**
 * Looked-up values that servers share through Redis for a moment, so that all of them together ask the database
 * once. A value is never used longer than its time to live after its look-up began:
 *
 * - It expires at a time of Redis's own clock, which was read before the look-up began; nothing that is slow
 *   afterwards makes it live longer.
 * - Forgetting leaves a tombstone for one time to live, and values are only stored where nothing is. A look-up
 *   that began before is therefore over, or refused, when its value comes.
 *
 * Redis being slow, away or full of nonsense costs a look-up in the database.
 * @module
 */
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Clock } from '../clock.ts'
import { type Breaker, within } from './breaker.ts'

/** Longest wait for a tombstone to be set; it may still be afterwards. */
const FORGET_TIMEOUT_MS = 100
const NAME_PREFIX = 'assay:recent'
/** No codec makes this of a value, or a value of it. */
const TOMBSTONE = Buffer.alloc(0)

/** A value between its look-up and its use by another server. */
export interface Timed<V> {
  readonly value: V
  /** Unix ms at which the look-up began. */
  readonly at: number
}

/** Turns values into bytes, at least one, that nobody who reads or writes Redis may understand or forge. */
export interface Codec {
  encode(memory: string, key: string, value: Timed<unknown>): Uint8Array
  /** @throws when the bytes were made for another key, or not by `encode` */
  decode<V>(memory: string, key: string, bytes: Uint8Array): Timed<V>
}

export interface SharedValues<V> {
  /** The value another server has looked up, or that of `load`, which is then shared. @throws what `load` throws */
  get(key: string, load: (key: string) => Promise<V>): Promise<Timed<V>>
  /** Removes a value and refuses those of look-ups that have begun. Never throws. */
  forget(key: string): Promise<void>
}

interface Seen {
  /** Milliseconds until the value expires; 0 or less: there is none. */
  readonly leftMs: number
  readonly bytes: Uint8Array | null
  /** Unix ms of Redis's clock. */
  readonly redisTime: number
}

/** @throws when Redis does not answer with all three */
const read = async (redis: Redis, name: string): Promise<Seen> => {
  if (redis.status !== 'ready') throw new Error('Redis is not connected')
  // In this order, a value that is replaced in between gets the shorter life of the one before.
  const answers = (await redis.pipeline().pttl(name).getBuffer(name).time().exec()) ?? []
  const [left, bytes, time] = answers.map(([error, answer]) => {
    if (error !== null) throw error
    return answer
  })
  const [seconds, microseconds] = (time as [string, string]).map(Number) as [number, number]
  return {
    leftMs: Number(left),
    bytes: bytes as Buffer | null,
    redisTime: seconds * 1000 + Math.floor(microseconds / 1000),
  }
}

/**
 * @param options.memory what kind of values these are; part of their names
 * @param options.breaker around what a look-up waits for; a shared one lets all memories pause together
 */
export const createSharedValues = <V>(options: {
  readonly memory: string
  readonly ttlMs: number
  readonly clock: Clock
  readonly redis: Redis
  readonly breaker: Breaker
  readonly codec: Codec
}): SharedValues<V> => {
  const { memory, ttlMs, clock, redis, breaker, codec } = options

  /** Hashed, since the digest of a session's cookie, for one, also makes its CSRF token. */
  const nameOf = (key: string): string =>
    `${NAME_PREFIX}:${memory}:${createHash('sha256').update(key).digest('base64url')}`

  const decode = (key: string, bytes: Uint8Array): Timed<V> | undefined => {
    try {
      return codec.decode<V>(memory, key, bytes)
    } catch {
      // A tombstone, another release's or another installation's, or forged: the database knows.
      return undefined
    }
  }

  /** @param asked when Redis was asked, so that its answer's way counts as age */
  const usable = (key: string, { leftMs, bytes }: Seen, asked: number): Timed<V> | undefined => {
    if (leftMs <= 0 || bytes === null) return undefined
    const found = decode(key, bytes)
    // Also by our own clock, so that an old value that somebody puts back is not taken for a new one.
    if (found === undefined || Math.abs(asked - found.at) >= ttlMs) return undefined
    return { value: found.value, at: Math.min(asked, found.at, asked + leftMs - ttlMs) }
  }

  return {
    async get(key, load) {
      const name = nameOf(key)
      const asked = clock.now()
      const seen = await breaker(() => read(redis, name))
      const found = seen && usable(key, seen, asked)
      if (found !== undefined) return found
      const at = clock.now()
      const value = await load(key)
      if (seen !== undefined) {
        const expiresAt = seen.redisTime + ttlMs
        void breaker(async () =>
          redis.set(name, Buffer.from(codec.encode(memory, key, { value, at })), 'PXAT', expiresAt, 'NX'),
        )
      }
      return { value, at }
    },

    async forget(key) {
      // Not through the breaker, whose pause may outlast what paused it.
      await within(redis.set(nameOf(key), TOMBSTONE, 'PX', ttlMs), FORGET_TIMEOUT_MS).catch(() => undefined)
    },
  }
}
