/**
 * Rate limits as HTTP tells them: who is counted, and the RateLimit headers. The counting itself is handed in.
 * Headers follow draft-ietf-httpapi-ratelimit-headers-10 and, for older clients, the X-RateLimit family.
 * @module
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { AppError, type RefusedLimit } from '../errors.ts'

export const RATE_LIMIT_WINDOW_SECONDS = 60
/** Public routes and refused credentials, per client address: far above what a shop behind one address needs. */
export const UNAUTHENTICATED_LIMIT_PER_MINUTE = 600
/** Tokens of terminals that are new to a server and are looked up all the same, per client address that has guessed too often. */
export const STOPPED_LIMIT_PER_MINUTE = 60

/** State of a bucket after a call was counted. */
export interface LimitState {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Seconds until the window ends, rounded up. */
  readonly resetSeconds: number
}

/** Counts `cost` against a bucket. Never fails for want of a shared counter: it then counts locally. */
export type ConsumeLimit = (
  bucket: string,
  points: { readonly limit: number; readonly windowSeconds: number; readonly cost: number },
) => Promise<LimitState>

/** A refused call, for those who want to raise an alert. */
export interface RateLimitRefusal {
  readonly bucket: string
  /** Absent for callers counted by address. */
  readonly organisation?: string
  readonly limit: number
  readonly requestId: string
}

export interface Charge {
  readonly bucket: string
  readonly limit: number
  /** Default: a minute. */
  readonly windowSeconds?: number
  readonly cost: number
  readonly organisation?: string
  readonly requestId: string
}

export interface RateLimiter {
  /**
   * Counts a call and writes the rate-limit headers. @throws AppError rate_limited with the seconds to wait
   */
  charge(response: ServerResponse, charge: Charge): Promise<void>
}

/** Tells how much is left of a limit. */
export const writeLimit = (response: ServerResponse, state: RefusedLimit): void => {
  const { limit, windowSeconds, remaining, resetSeconds, resetAt } = state
  response.setHeader('RateLimit-Policy', `"default";q=${limit};w=${windowSeconds}`)
  response.setHeader('RateLimit', `"default";r=${remaining};t=${resetSeconds}`)
  response.setHeader('X-RateLimit-Limit', limit)
  response.setHeader('X-RateLimit-Remaining', remaining)
  response.setHeader('X-RateLimit-Reset', resetAt)
}

/** @param onRefused called for every refusal; must not throw */
export const createRateLimiter = (
  consume: ConsumeLimit,
  clock: Clock,
  onRefused?: (refusal: RateLimitRefusal) => void,
): RateLimiter => ({
  async charge(response, charge) {
    const { bucket, limit, windowSeconds = RATE_LIMIT_WINDOW_SECONDS, cost, organisation, requestId } = charge
    const state = await consume(bucket, { limit, windowSeconds, cost })
    const { remaining, resetSeconds } = state
    const resetAt = Math.ceil(clock.now() / 1000) + resetSeconds
    writeLimit(response, { limit, windowSeconds, remaining, resetSeconds, resetAt })
    if (state.allowed) return
    onRefused?.({ bucket, organisation, limit, requestId })
    throw new AppError('rate_limited', { retryAfter: Math.max(1, resetSeconds) })
  },
})
