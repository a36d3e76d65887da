/** Clients of the Redis that REDIS_URL names, under a name of the test's own. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Redis, type RedisOptions } from 'ioredis'
import type { Context } from 'mocha'

export interface OwnRedis {
  /** Begins every key and channel of these clients. */
  readonly keyPrefix: string
  /** A client that is connected. @param options over those of the server's own connections */
  open(options?: RedisOptions, url?: string): Promise<Redis>
  /** Ends all clients. */
  close(): void
}

/** Skips the test aloud where there is no Redis. */
export const requireRedis = (test: Context): string => {
  const { REDIS_URL } = process.env
  if (!REDIS_URL) {
    console.log('      SKIPPED: needs REDIS_URL')
    test.skip()
  }
  return REDIS_URL ?? ''
}

export const ownRedis = (redisUrl: string): OwnRedis => {
  const clients: Redis[] = []
  const keyPrefix = `assay-test-${randomBytes(6).toString('hex')}:`
  return {
    keyPrefix,
    async open(options = {}, url = redisUrl) {
      const client = new Redis(url, {
        keyPrefix,
        maxRetriesPerRequest: 0,
        enableOfflineQueue: false,
        retryStrategy: () => 10,
        ...options,
      })
      client.on('error', () => undefined)
      clients.push(client)
      await once(client, 'ready')
      return client
    },
    close() {
      for (const client of clients) client.disconnect()
    },
  }
}
