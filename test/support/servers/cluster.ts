/** Several server processes on one PostgreSQL, and on one Redis where REDIS_URL names one. */
import { randomBytes } from 'node:crypto'
import { withOwnNames } from '../app.ts'
import { type Client, clientOf } from '../client.ts'
import { createMigratedDatabase } from './scratch-database.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

export interface Cluster {
  readonly adminKey: string
  readonly databaseUrl: string
  /** With the `keyPrefix` of these servers; absent where REDIS_URL is. */
  readonly redisUrl: string | undefined
  readonly servers: readonly ServerProcess[]
  /** One of each server. */
  readonly clients: readonly Client[]
  /** Ends all servers and drops the database. @returns the exit codes */
  end(): Promise<(number | null)[]>
}

/**
 * @param count servers, started all at once, so that they also race for the migrations
 * @param more variables of their environment
 */
export const startCluster = async (
  databaseUrl: string,
  count: number,
  more: Readonly<Record<string, string>> = {},
): Promise<Cluster> => {
  const scratch = await createMigratedDatabase(databaseUrl)
  const adminKey = `admin-${randomBytes(16).toString('hex')}`
  const redisUrl = process.env.REDIS_URL && withOwnNames(process.env.REDIS_URL)
  const env = {
    DATABASE_URL: scratch.url,
    MASTER_KEY: randomBytes(32).toString('hex'),
    ADMIN_API_KEY: adminKey,
    RATE_LIMITS: 'off',
    DATA_DIR: 'memory',
    ...(redisUrl && { REDIS_URL: redisUrl }),
    ...more,
  }
  const servers = await Promise.all(Array.from({ length: count }, () => startServerProcess(env)))
  return {
    adminKey,
    databaseUrl: scratch.url,
    redisUrl,
    servers,
    clients: servers.map(({ url }) => clientOf(url)),
    async end() {
      const codes = await Promise.all(servers.map((server) => server.end()))
      await scratch.drop()
      return codes
    },
  }
}

/**
 * For the `describe` that calls it: two servers, which must end in order; skipped, saying so, without DATABASE_URL.
 * @returns the cluster, once it has started
 */
export const usingTwoServers = (more: Readonly<Record<string, string>> = {}): (() => Cluster) => {
  let cluster: Cluster | undefined
  before(async function () {
    const { DATABASE_URL } = process.env
    if (!DATABASE_URL) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    cluster = await startCluster(DATABASE_URL, 2, more)
  })
  after(async () => {
    const codes = await cluster?.end()
    if (codes?.some((code) => code !== 0)) throw new Error(`the servers ended with ${codes.join()}`)
  })
  return () => {
    if (cluster === undefined) throw new Error('the servers have not started')
    return cluster
  }
}
