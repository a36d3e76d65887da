/**
 * A server from the sources, for tests that kill it and benches beside it. Arguments: database URL or data directory, master key, admin key. Prints
 * `listening` and its URL. Its clock is CLOCK_BEHIND_MS behind.
 */
import { loadConfig } from '../../../src/config/config.ts'
import { startServer } from '../../../src/server/server.ts'

const [target = '', masterKey = '', adminKey = ''] = process.argv.slice(2)
const { AML_LISTS = 'none', BASE_URL, CLOCK_BEHIND_MS = '0' } = process.env
const clock = { now: () => Date.now() - Number(CLOCK_BEHIND_MS) }
const server = await startServer(
  loadConfig({
    PORT: '0',
    MASTER_KEY: masterKey,
    ADMIN_API_KEY: adminKey,
    RATE_LIMITS: 'off',
    AML_LISTS,
    BASE_URL,
    LOG_LEVEL: 'error',
    ...(target.startsWith('postgres') ? { DATABASE_URL: target, DATA_DIR: 'memory' } : { DATA_DIR: target }),
  }),
  { clock },
)
process.stdout.write(`listening ${server.url}\n`)
process.once('SIGTERM', () => void server.close())
