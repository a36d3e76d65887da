/**
 * Which request is worked on next. A server works on a bounded number of requests at a time. Those that find no place wait in a queue of
 * their own for each organisation, and the queues take turns (fair queueing: Demers, Keshav, Shenker, SIGCOMM 1989; Kubernetes has it as API
 * Priority and Fairness). While several organisations ask, each has a share of the places that leaves room for the others' next request.
 * @module
 */
import type { ServerResponse } from 'node:http'
import { createFairQueue } from '../circuits/threads/fair-queue.ts'
import { type GiveWay, NOBODY_GIVES_WAY } from '../circuits/threads/give-way.ts'
import { AppError } from '../errors.ts'

export interface AdmissionLimits {
  /** That are worked on at a time, of all owners. */
  readonly inWork: number
  /** Of one owner, while others ask as well. */
  readonly inWorkShared: number
  /** Of one that takes much beside others who make proofs. */
  readonly inWorkSlowed: number
  /** That wait, of one owner. */
  readonly waitingEach: number
  /** Bytes of bodies of requests that wait, of one owner, and of all. */
  readonly waitingBytesEach: number
  readonly waitingBytes: number
  readonly waitMs: number
}

const MIB = 1024 ** 2
const ADMISSION_LIMITS: AdmissionLimits = {
  inWork: 64,
  inWorkShared: 16,
  inWorkSlowed: 4,
  waitingEach: 1024,
  waitingBytesEach: 16 * MIB,
  waitingBytes: 64 * MIB,
  waitMs: 5000,
}
/** How long an owner is taken to be there after it has asked. */
const PRESENCE_MS = 1000
/** How often those are looked at, at most, for whom there were no places. */
const SOON_MS = 10
const RETRY_AFTER_SECONDS = 1
const MS_PER_SECOND = 1000

export interface Admission {
  /** Takes a place where one is free for a request of this owner. @returns whether there was one */
  take(owner: string): boolean
  /**
   * Waits for a place, for a request to which `take` gave none. It is taken when the promise is kept.
   * @param bytes of its body
   * @throws AppError rate_limited where as much of the owner waits as may, unavailable where as much of all does, and after the longest
   *   time that one may wait, invalid_request when its client has gone
   */
  wait(owner: string, response: ServerResponse, bytes: number): Promise<void>
  /** Gives a place back. */
  give(owner: string): void
  /** How many requests wait. */
  waiting(): number
}

interface AdmissionOptions {
  readonly limits?: AdmissionLimits
  /** Milliseconds of a clock that is never set. */
  readonly now?: () => number
  /** Hears of each request that waited and was begun, and for how many seconds it had waited. */
  readonly onBegun?: (seconds: number) => void
  /** Hears of each that was refused: since as many waited as may, or since it waited as long as it may. */
  readonly onRefused?: (reason: 'full' | 'late') => void
  /** Who is to wait, although there are places. */
  readonly giveWay?: Pick<GiveWay, 'slows' | 'holds' | 'lookAgain'>
  /** Called whenever a request comes or has been worked on, of which a turn of the event loop has many; must not throw. */
  readonly onPassing?: () => void
}

interface Waiting {
  readonly owner: string
  begin(): void
}

const GONE = 'The client has gone while its request waited.'

const tooMany = ({ waitingEach }: AdmissionLimits): AppError =>
  new AppError('rate_limited', {
    message: `${waitingEach} of your requests wait on this server, which is the most that may. Send fewer at a time.`,
    reason: 'TOO_MANY_WAITING',
    retryAfter: RETRY_AFTER_SECONDS,
  })

const tooMuch = ({ waitingBytesEach }: AdmissionLimits): AppError =>
  new AppError('rate_limited', {
    message: `Your requests that wait on this server may have ${waitingBytesEach / MIB} MiB together. Send fewer at a time.`,
    reason: 'TOO_MANY_WAITING',
    retryAfter: RETRY_AFTER_SECONDS,
  })

const isFull = ({ waitingBytes }: AdmissionLimits): AppError =>
  new AppError('unavailable', {
    message: `The requests of all that wait on this server have ${waitingBytes / MIB} MiB together, which is the most that it holds.`,
    reason: 'TOO_MANY_WAITING',
    retryAfter: RETRY_AFTER_SECONDS,
  })

const tooLate = ({ waitMs }: AdmissionLimits): AppError =>
  new AppError('unavailable', {
    message: `The request waited for ${waitMs / MS_PER_SECOND} seconds, which is the longest that one may, and was not begun.`,
    reason: 'WAITED_TOO_LONG',
    retryAfter: RETRY_AFTER_SECONDS,
  })

/** Makes one for a server whose places are all free. */
export const createAdmission = ({
  limits = ADMISSION_LIMITS,
  now = () => performance.now(),
  onBegun,
  onRefused,
  onPassing,
  giveWay = NOBODY_GIVES_WAY,
}: AdmissionOptions = {}): Admission => {
  const queue = createFairQueue<Waiting>()
  /** An owner that has none is not in it. */
  const inWorkOf = new Map<string, number>()
  /** Bytes of what waits. */
  const bytesOf = new Map<string, number>()
  let bytesWaiting = 0
  let inWork = 0
  let lastOwner: string | undefined
  let lastAt = Number.NEGATIVE_INFINITY
  let sharedUntil = Number.NEGATIVE_INFINITY

  const noteOwner = (owner: string): void => {
    const at = now()
    if (owner !== lastOwner) {
      if (at - lastAt < PRESENCE_MS) sharedUntil = at + PRESENCE_MS
      lastOwner = owner
    }
    lastAt = at
  }
  const placesOf = (owner: string): number => {
    if (giveWay.slows(owner)) return limits.inWorkSlowed
    return now() < sharedUntil ? limits.inWorkShared : limits.inWork
  }
  const mayBegin = (owner: string): boolean =>
    (inWorkOf.get(owner) ?? 0) < placesOf(owner) && !giveWay.holds(owner)
  const count = (owner: string, more: 1 | -1): void => {
    inWork += more
    const own = (inWorkOf.get(owner) ?? 0) + more
    if (own === 0) inWorkOf.delete(owner)
    else inWorkOf.set(owner, own)
  }
  const hold = (owner: string, bytes: number): void => {
    bytesWaiting += bytes
    const own = (bytesOf.get(owner) ?? 0) + bytes
    if (own === 0) bytesOf.delete(owner)
    else bytesOf.set(owner, own)
  }
  /** Why a request may not wait; undefined where it may. */
  const refusalOf = (owner: string, bytes: number): AppError | undefined => {
    if (queue.sizeOf(owner) >= limits.waitingEach) return tooMany(limits)
    if ((bytesOf.get(owner) ?? 0) + bytes > limits.waitingBytesEach) return tooMuch(limits)
    return bytesWaiting + bytes > limits.waitingBytes ? isFull(limits) : undefined
  }
  let later: NodeJS.Timeout | undefined
  const beginWaiting = (): void => {
    while (inWork < limits.inWork) {
      const next = queue.take(mayBegin)
      if (next === undefined) {
        beginLater()
        return
      }
      count(next.owner, 1)
      next.begin()
    }
  }
  /** Those that wait for a part of their own have all places once the others have gone; those that give way go on a little later. */
  const beginLater = (): void => {
    if (queue.size() === 0) return
    if (giveWay.lookAgain(beginWaiting) || later !== undefined) return
    later = setTimeout(
      () => {
        later = undefined
        beginWaiting()
      },
      Math.max(SOON_MS, sharedUntil - now()),
    ).unref()
  }

  return {
    take(owner) {
      onPassing?.()
      noteOwner(owner)
      if (inWork >= limits.inWork || queue.sizeOf(owner) > 0 || !mayBegin(owner)) return false
      count(owner, 1)
      return true
    },
    async wait(owner, response, bytes) {
      const refusal = refusalOf(owner, bytes)
      if (refusal !== undefined) {
        onRefused?.('full')
        throw refusal
      }
      const since = now()
      await new Promise<void>((resolve, reject) => {
        const end = () => {
          hold(owner, -bytes)
          clearTimeout(timer)
          response.off('close', onClose)
        }
        const waiting: Waiting = {
          owner,
          begin() {
            end()
            resolve()
          },
        }
        const refuse = (error: AppError) => {
          end()
          queue.remove(owner, waiting)
          reject(error)
        }
        // Its client may have gone before it got here, of which nothing tells any more.
        const onClose = () => refuse(new AppError('invalid_request', { message: GONE }))
        const timer = setTimeout(() => {
          onRefused?.('late')
          refuse(tooLate(limits))
        }, limits.waitMs)
        hold(owner, bytes)
        if (response.destroyed) return onClose()
        response.on('close', onClose)
        queue.add(owner, waiting)
        beginWaiting()
      })
      onBegun?.((now() - since) / MS_PER_SECOND)
    },
    give(owner) {
      count(owner, -1)
      beginWaiting()
      onPassing?.()
    },
    waiting: queue.size,
  }
}
