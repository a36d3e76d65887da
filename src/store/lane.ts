/**
 * Group commit: units of work that arrive while a batch runs are committed together in the next one. An idle lane
 * commits at once, with whatever arrives in the same turn of the event loop; there is no timer.
 * @module
 */
import { setImmediate as turn } from 'node:timers/promises'
import { AppError, fail } from '../errors.ts'

/** What a batch may hold together. */
export const MAX_BATCH_ITEMS = 512
/** What may wait; beyond it, callers are told to come back. */
const MAX_WAITING_ITEMS = 10_000
const RETRY_AFTER_SECONDS = 1

/** How one unit of a batch ended. */
export type Outcome<R> = { readonly value: R } | { readonly error: unknown }

export interface LaneUnit {
  /** Size in items, 1 to {@link MAX_BATCH_ITEMS}; a unit is never split. */
  readonly weight: number
  /** Wants a batch to itself. */
  readonly exclusive?: boolean
}

export interface LaneOptions<U extends LaneUnit, R> {
  /**
   * Commits a batch: one outcome per unit, in order. An AppError thrown fails all of them; after anything else
   * nothing has happened, and the units are tried one by one.
   */
  commit(units: readonly U[]): Promise<readonly Outcome<R>[]>
  /** Items a batch may hold; default {@link MAX_BATCH_ITEMS}. */
  readonly maxBatchItems?: number
}

export interface Lane<U extends LaneUnit, R> {
  /** Queues a unit. @throws AppError unavailable when the lane is closed or too much waits */
  submit(unit: U): Promise<R>
  /** Refuses new units and resolves when the last one has ended. */
  close(): Promise<void>
}

interface Waiting<U, R> {
  readonly unit: U
  resolve(value: R): void
  reject(error: unknown): void
}

/** Takes from the front what fits into one batch; at least one unit. */
const takeBatch = <U extends LaneUnit, R>(queue: Waiting<U, R>[], maxItems: number): Waiting<U, R>[] => {
  let items = 0
  let count = 0
  for (const { unit } of queue) {
    if (count > 0 && (unit.exclusive || items + unit.weight > maxItems)) break
    items += unit.weight
    count++
    if (unit.exclusive) break
  }
  return queue.splice(0, count)
}

export const createLane = <U extends LaneUnit, R>(options: LaneOptions<U, R>): Lane<U, R> => {
  const maxItems = options.maxBatchItems ?? MAX_BATCH_ITEMS
  const queue: Waiting<U, R>[] = []
  let waitingItems = 0
  let running: Promise<void> | undefined
  let closed = false

  const settle = ({ resolve, reject }: Waiting<U, R>, outcome: Outcome<R> | undefined): void => {
    if (outcome === undefined) reject(new Error('The batch left a unit without an outcome.'))
    else if ('error' in outcome) reject(outcome.error)
    else resolve(outcome.value)
  }

  const commit = async (batch: readonly Waiting<U, R>[]): Promise<void> => {
    try {
      const outcomes = await options.commit(batch.map(({ unit }) => unit))
      for (const [index, waiting] of batch.entries()) settle(waiting, outcomes[index])
    } catch (error) {
      if (batch.length === 1 || error instanceof AppError) {
        for (const waiting of batch) waiting.reject(error)
        return
      }
      // One unit spoils the batch and can't be told from here: each is tried by itself.
      for (const waiting of batch) await commit([waiting])
    }
  }

  const run = async (): Promise<void> => {
    while (queue.length > 0) {
      // One turn of the event loop: whatever arrived in this one, and whoever the last batch set free, comes along.
      await turn()
      const batch = takeBatch(queue, maxItems)
      for (const { unit } of batch) waitingItems -= unit.weight
      await commit(batch)
    }
    running = undefined
  }

  return {
    submit(unit) {
      if (unit.weight < 1 || unit.weight > MAX_BATCH_ITEMS) {
        throw new RangeError(`A unit has 1 to ${MAX_BATCH_ITEMS} items, not ${unit.weight}.`)
      }
      return new Promise<R>((resolve, reject) => {
        if (closed || waitingItems + unit.weight > MAX_WAITING_ITEMS) {
          fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS })
        }
        queue.push({ unit, resolve, reject })
        waitingItems += unit.weight
        running ??= run()
      })
    },
    async close() {
      closed = true
      await running
    },
  }
}
