/**
 * Bounds what waits for an endpoint. One that never answers takes a delivery in six seconds off its queue from each
 * server (three attempts of eight seconds, four at a time), so its queue would grow as long as events keep coming. Beyond a limit the oldest are dropped, as if
 * their attempts had failed.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../store/database.ts'
import * as store from './store-deliveries.ts'

const CHECK_PAUSE_MS = 5_000
/** A check that takes long is followed by so many times that: where much waits for many, it is counted less often. */
const PAUSE_TO_CHECK = 20
/** Endpoints looked at in one go. */
const LOOK_QUEUES = 512
/** Removed in one query. */
const DROP_ROWS = 1_000

interface Deps {
  readonly database: Database
  readonly logger: { warn(details: object, message: string): void }
  /** Deliveries that may wait for one endpoint. */
  readonly limit: number
  /** Called with deliveries that were dropped and counted. */
  dropped(endpoint: string, deliveries: readonly store.DroppedDelivery[]): Promise<void>
}

/** Drops what is too much, every five seconds or, where that takes long, less often; servers may do so side by side. */
export const createBacklogBound = ({ database, logger, limit, dropped }: Deps) => {
  const ending = new AbortController()

  const cut = async (endpoint: string): Promise<void> => {
    let count = 0
    for (let full = true; full && !ending.signal.aborted; ) {
      const deliveries = await store.dropBeyond(database, endpoint, limit, DROP_ROWS)
      full = deliveries.length === DROP_ROWS
      count += deliveries.length
      if (deliveries.length > 0) await dropped(endpoint, deliveries)
    }
    if (count > 0)
      logger.warn({ endpoint, count, limit }, 'webhook deliveries beyond the backlog were dropped')
  }

  const check = async (): Promise<void> => {
    let after: string | undefined = ''
    while (after !== undefined && !ending.signal.aborted) {
      const queues = await store.findQueues(database, after, LOOK_QUEUES)
      const endpoints = queues.map(({ endpoint }) => endpoint)
      for (const endpoint of await store.findOverfull(database, endpoints, limit)) await cut(endpoint)
      after = queues.length === LOOK_QUEUES ? endpoints.at(-1) : undefined
    }
  }

  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const begunAt = performance.now()
      await check().catch((error: unknown) =>
        logger.warn({ err: error }, 'the backlog of webhooks was not checked'),
      )
      const pauseMs = Math.max(CHECK_PAUSE_MS, (performance.now() - begunAt) * PAUSE_TO_CHECK)
      await pause(pauseMs, undefined, { signal: ending.signal, ref: false }).catch(() => undefined)
    }
  }
  const ended = run()
  return {
    async close(): Promise<void> {
      ending.abort()
      await ended
    },
  }
}
