/** The connection to Redis, where one is configured. Losing it costs speed and precision, never correctness. @module */
import type { Redis } from 'ioredis'
import type { StoreLogger } from './database.ts'

const CONNECT_TIMEOUT_MS = 2_000
const RECONNECT_STEP_MS = 100
const RECONNECT_MAX_MS = 2_000
/** Failures are logged at most this often. */
const LOG_PAUSE_MS = 10_000

export interface RedisConnection {
  readonly client: Redis
  /** Resolves when Redis answers. @throws the driver's error when it doesn't */
  ping(): Promise<void>
  close(): Promise<void>
}

/**
 * Connects in the background and goes on trying; commands fail at once while there is no connection.
 * @param url `redis://host:port/database` or `rediss://…`
 */
export const openRedis = async (url: string, logger?: StoreLogger): Promise<RedisConnection> => {
  // Loaded only where it is asked for.
  const ioredis = await import('ioredis')
  const client = new ioredis.Redis(url, {
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: (attempt) => Math.min(attempt * RECONNECT_STEP_MS, RECONNECT_MAX_MS),
  })
  let quietUntil = 0
  client.on('error', (error: Error) => {
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + LOG_PAUSE_MS
    logger?.warn({ err: error }, 'Redis is not reachable')
  })
  return {
    client,
    async ping() {
      await client.ping()
    },
    async close() {
      client.disconnect()
    },
  }
}
