/** Several server processes on one PostgreSQL, and on one Redis where REDIS_URL names one. */
import { randomBytes } from 'node:crypto'
import { createScratchDatabase } from '../app.ts'
import type { Shop } from '../domain/tills.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

export interface Cluster {
  readonly adminKey: string
  readonly databaseUrl: string
  readonly servers: readonly ServerProcess[]
  /** Each server, as tills see it. */
  readonly shops: readonly Shop[]
  /** Ends all servers and drops the database. @returns the exit codes */
  end(): Promise<(number | null)[]>
}

const shopAt = (url: string): Shop => ({
  async request(method, path, { body, key, bearer, headers = {} } = {}) {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...headers,
        ...(key && { 'X-API-Key': key }),
        ...(bearer && { Authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  },
})

/**
 * @param count servers, started all at once, so that they also race for the migrations
 * @param more variables of their environment
 */
export const startCluster = async (
  databaseUrl: string,
  count: number,
  more: Readonly<Record<string, string>> = {},
): Promise<Cluster> => {
  const scratch = await createScratchDatabase(databaseUrl)
  const adminKey = `admin-${randomBytes(16).toString('hex')}`
  const env = {
    DATABASE_URL: scratch.url,
    MASTER_KEY: randomBytes(32).toString('hex'),
    ADMIN_API_KEY: adminKey,
    RATE_LIMITS: 'off',
    DATA_DIR: 'memory',
    ...(process.env.REDIS_URL && { REDIS_URL: process.env.REDIS_URL }),
    ...more,
  }
  const servers = await Promise.all(Array.from({ length: count }, () => startServerProcess(env)))
  return {
    adminKey,
    databaseUrl: scratch.url,
    servers,
    shops: servers.map(({ url }) => shopAt(url)),
    async end() {
      const codes = await Promise.all(servers.map((server) => server.end()))
      await scratch.drop()
      return codes
    },
  }
}
