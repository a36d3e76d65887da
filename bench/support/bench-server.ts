/** A server within the process that measures it, on a database of its own. @module */
import { randomBytes } from 'node:crypto'
import { loadConfig } from '../../src/config/config.ts'
import { startServer } from '../../src/server/server.ts'

/**
 * @param settings environment variables besides those that every bench needs
 * @returns the server, which is to be closed, and an admin key for it
 */
export const startBenchServer = async (
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
) => {
  const key = `ak_bench_${randomBytes(16).toString('hex')}`
  const server = await startServer(
    loadConfig({
      PORT: '0',
      DATA_DIR: 'memory',
      DATABASE_URL: databaseUrl,
      MASTER_KEY: randomBytes(32).toString('hex'),
      ADMIN_API_KEY: key,
      RATE_LIMITS: 'off',
      LOG_LEVEL: 'error',
      ...settings,
    }),
  )
  return { server, key }
}
