/**
 * Counters for rate limits: fixed windows in this process, or shared through Redis in one round trip a call.
 * Losing Redis costs precision only: each instance then counts for itself until Redis is back.
 * @module
 */
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { createBreaker } from './breaker.ts'

/** Longest wait for Redis before a call is counted locally. */
const REDIS_TIMEOUT_MS = 250
/** How long Redis is left alone after it failed, so that a hanging one does not slow every call. */
const REDIS_PAUSE_MS = 1000
const KEY_PREFIX = 'assay:limit'
/** The limit differs by bucket and is compared here, so the counters themselves never refuse. */
const UNBOUNDED_POINTS = Number.MAX_SAFE_INTEGER
/** Buckets that this process counts at a time, of each length of windows: more than the 65,536 networks (/64) of who has a /48. */
export const MAX_LOCAL_BUCKETS = 100_000
const MS_PER_SECOND = 1000

export interface LimitPoints {
  /** Points a bucket may spend in a window. */
  readonly limit: number
  readonly windowSeconds: number
  readonly cost: number
}

export interface LimitState {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Seconds until the window ends, rounded up. */
  readonly resetSeconds: number
}

export interface Limits {
  /** Counts `cost` against `bucket`; the first call opens its window. Refused calls count too. */
  consume(bucket: string, points: LimitPoints): Promise<LimitState>
}

/**
 * Lets each key do so many things at a time, on this server.
 * @returns begins one, and gives back how to end it; undefined while the key is doing as many
 */
export const createSomeAtATime = (most: number) => {
  const running = new Map<string, number>()
  return (key: string): (() => void) | undefined => {
    const others = running.get(key) ?? 0
    if (others >= most) return undefined
    running.set(key, others + 1)
    let hasEnded = false
    return () => {
      if (hasEnded) return
      hasEnded = true
      const left = (running.get(key) ?? 1) - 1
      if (left === 0) running.delete(key)
      else running.set(key, left)
    }
  }
}

/** Lets each key do one thing at a time, on this server. */
export const createOneAtATime = () => createSomeAtATime(1)

interface Counter {
  consume(bucket: string, cost: number): Promise<Pick<RateLimiterRes, 'consumedPoints' | 'msBeforeNext'>>
}

/** Counts in this process. Beyond {@link MAX_LOCAL_BUCKETS} the window that was opened first is forgotten, which may be before it ends. */
const localCounter = (windowSeconds: number): Counter => {
  const windows = new LRUCache<string, { points: number; readonly endsAt: number }>({
    // By `max` it would take memory for all of them at once.
    maxSize: MAX_LOCAL_BUCKETS,
    sizeCalculation: () => 1,
  })
  return {
    async consume(bucket, cost) {
      // Whole, so that a window that has just begun has no more left than its length.
      const now = Math.floor(performance.now())
      // Only looked at: the order stays that in which they were opened.
      let window = windows.peek(bucket)
      if (window === undefined || window.endsAt <= now) {
        window = { points: 0, endsAt: now + windowSeconds * MS_PER_SECOND }
        windows.set(bucket, window)
      }
      window.points += cost
      return { consumedPoints: window.points, msBeforeNext: window.endsAt - now }
    },
  }
}

/** A counter in Redis that falls back to `local`, and tells `onFailure` once a pause. */
const sharedCounter = (
  redis: Redis,
  windowSeconds: number,
  local: Counter,
  onFailure?: (error: unknown) => void,
): Counter => {
  const shared = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: `${KEY_PREFIX}:${windowSeconds}`,
    points: UNBOUNDED_POINTS,
    duration: windowSeconds,
    rejectIfRedisNotReady: true,
  })
  const breaker = createBreaker({ timeoutMs: REDIS_TIMEOUT_MS, pauseMs: REDIS_PAUSE_MS, onFailure })
  return {
    consume: async (bucket, cost) =>
      (await breaker(() => shared.consume(bucket, cost))) ?? local.consume(bucket, cost),
  }
}

/**
 * @param options.redis a client of its owner's; without one, counters live in this process
 * @param options.onFailure called at most once a second while Redis fails
 */
export const createLimits = (
  options: { redis?: Redis; onFailure?: (error: unknown) => void } = {},
): Limits => {
  const counters = new Map<number, Counter>()
  const counterFor = (windowSeconds: number): Counter => {
    const existing = counters.get(windowSeconds)
    if (existing) return existing
    const local = localCounter(windowSeconds)
    const counter = options.redis
      ? sharedCounter(options.redis, windowSeconds, local, options.onFailure)
      : local
    counters.set(windowSeconds, counter)
    return counter
  }
  return {
    async consume(bucket, { limit, windowSeconds, cost }) {
      const { consumedPoints, msBeforeNext } = await counterFor(windowSeconds).consume(bucket, cost)
      return {
        allowed: consumedPoints <= limit,
        limit,
        remaining: Math.max(0, limit - consumedPoints),
        resetSeconds: Math.max(0, Math.ceil(msBeforeNext / MS_PER_SECOND)),
      }
    },
  }
}
