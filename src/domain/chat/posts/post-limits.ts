/** How much an address, and a key, may post and read, and what alerts call it. @module */
import type { Clock } from '../../../clock.ts'
import { AppError, failBeyond } from '../../../errors.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import type { LimitPoints, Limits } from '../../../store/limits.ts'
import { CHAT_READS } from '../schemas.ts'
import { shortMac } from './duplicates.ts'

/** Thresholds; see CHAT_LIMITS. */
export interface PostLimits {
  readonly postsPerMinute: number
  readonly postsPerHour: number
  readonly keyPostsPerMinute: number
  readonly readsPerMinute: number
}

export interface LimitDeps {
  readonly limits: Limits
  readonly clock: Clock
  /** Absent: nothing is limited. */
  readonly postLimits?: PostLimits
  /** What stands for a client in limits: its address, or its site. */
  readonly addressBlock: (ip: string) => string
}

const MINUTE_SECONDS = 60
const HOUR_SECONDS = 3600
/** Proofs that do not hold, of an address: each kept the thread busy for some 20 ms. */
const REFUSED_PROOFS_PER_MINUTE = 10

/** @throws AppError rate_limited when the bucket is used up */
const spend = async (
  { limits, clock }: Pick<LimitDeps, 'limits' | 'clock'>,
  bucket: string,
  points: LimitPoints,
): Promise<void> => {
  const state = await limits.consume(bucket, points)
  if (!state.allowed) failBeyond(state, points.windowSeconds, clock.now())
}

/** Counts a post of an address, and of the key that signed it. @returns a function that throws AppError rate_limited */
export const createPostCounter = ({ postLimits, addressBlock, ...counters }: LimitDeps) => {
  const count = (bucket: string, limit: number, windowSeconds: number): Promise<void> =>
    spend(counters, `chat:${bucket}`, { limit, windowSeconds, cost: 1 })
  return async (ip: string, fingerprint?: string): Promise<void> => {
    if (postLimits === undefined) return
    const address = `ip:${addressBlock(ip)}`
    await count(address, postLimits.postsPerMinute, MINUTE_SECONDS)
    // Asked only by those whom the minute lets through, so that hammering does not use up the hour.
    await count(address, postLimits.postsPerHour, HOUR_SECONDS)
    if (fingerprint !== undefined)
      await count(`key:${fingerprint}`, postLimits.keyPostsPerMinute, MINUTE_SECONDS)
  }
}

/** Counts reads of an address beyond the one that the route has counted. @returns a function that throws AppError rate_limited */
export const createReadCounter =
  ({ postLimits, addressBlock, ...counters }: LimitDeps) =>
  async (ip: string, reads: number): Promise<void> => {
    if (postLimits === undefined || reads === 0) return
    await spend(counters, `${CHAT_READS.bucket}:${addressBlock(ip)}`, {
      limit: postLimits.readsPerMinute,
      windowSeconds: CHAT_READS.windowSeconds,
      cost: reads,
    })
  }

/**
 * Keeps an address from sending one bad proof after the other: others wait while they are checked.
 * @returns a function that runs `check`, and throws what it throws; AppError rate_limited when too many were refused lately
 */
export const createProofCounter = ({ limits, clock, postLimits, addressBlock }: LimitDeps) => {
  const points = { limit: REFUSED_PROOFS_PER_MINUTE, windowSeconds: MINUTE_SECONDS }
  return async <R>(ip: string, check: () => Promise<R>): Promise<R> => {
    if (postLimits === undefined) return check()
    const bucket = `chat:refused-proof:${addressBlock(ip)}`
    const state = await limits.consume(bucket, { ...points, cost: 0 })
    if (state.remaining === 0) failBeyond(state, points.windowSeconds, clock.now())
    try {
      return await check()
    } catch (error) {
      const isRefused = error instanceof AppError && error.code === 'envelope_proof_invalid'
      if (isRefused) await limits.consume(bucket, { ...points, cost: 1 })
      throw error
    }
  }
}

const READER = `${CHAT_READS.bucket}:`

/**
 * An alert lasts, and the chat keeps no address for long: it has a keyed hash instead, the same each time.
 * @returns gives the subject for what a limit counted: `chat.reads:` and 32 hexadecimal digits in place of the address; what is
 *   not the chat's stays as it is
 */
export const createAlertSubject =
  (sealing: Pick<Sealing, 'mac'>) =>
  (counted: string): string =>
    counted.startsWith(READER)
      ? `${READER}${shortMac(sealing, 'chat-reader', counted.slice(READER.length)).toString('hex')}`
      : counted
