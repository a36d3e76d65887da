/**
 * The real server over a real database, for tests: PGlite in memory, or a database of its own on DATABASE_URL.
 * Every answer is checked against its route's schema.
 */
import { randomBytes, randomInt } from 'node:crypto'
import type { Clock } from '../../src/clock.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import type { Logger } from '../../src/http/log.ts'
import type { Cost } from '../../src/keys/passwords.ts'
import { startServer } from '../../src/server/server.ts'
import type { BuiltServices } from '../../src/services/services.ts'
import { type Client, clientOf, ok } from './client.ts'
import { atEndOfRun } from './run.ts'
import { startDnsServer } from './servers/dns-server.ts'
import { createMigratedDatabase, type ScratchDatabase } from './servers/scratch-database.ts'

export interface TestAppOverrides {
  /** Variables of the environment, over those that suit most tests. */
  readonly env?: Readonly<Record<string, string>>
  readonly clock?: Clock
  /** Default: silent. */
  readonly logger?: Logger
  /** Whether hashes of passwords cost what they cost elsewhere; default false: here they are nobody's, and thousands are made. */
  readonly isPasswordCostUsual?: boolean
  /** Whether the server itself holds its answers against the schemas; default true. */
  readonly checkResponses?: boolean
  /** A database that is there already, on the server of DATABASE_URL; it is dropped when the app closes. Default: a new one. */
  readonly database?: ScratchDatabase
}

export interface TestOrganisation {
  readonly organisationId: string
  readonly merchantId: string
  readonly apiKey: string
}

/** Its requests are checked by the server against the schemas of their routes, and so are its answers. */
export interface TestApp extends Client {
  readonly url: string
  readonly adminKey: string
  readonly config: Config
  readonly services: BuiltServices
  /** A fresh organisation with an active subscription. */
  organisation(): Promise<TestOrganisation>
  close(): Promise<void>
}

/** Each request comes from an address of its own, unless the test says which, so that limits don't add up. */
const someAddress = (): string => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`

/** The same Redis, under names that nobody else uses. */
export const withOwnNames = (redisUrl: string): string => {
  const url = new URL(redisUrl)
  url.searchParams.set('keyPrefix', `assay-test-${randomBytes(6).toString('hex')}:`)
  return url.href
}

const CHEAP: Cost = { N: 1024, r: 8, p: 1 }

/** Starts a server of its own; close it. */
export const startTestApp = async ({
  env = {},
  clock,
  logger,
  isPasswordCostUsual = false,
  checkResponses = true,
  database,
}: TestAppOverrides = {}): Promise<TestApp> => {
  const { DATABASE_URL, REDIS_URL } = { ...process.env, ...env }
  const scratch = database ?? (DATABASE_URL ? await createMigratedDatabase(DATABASE_URL) : undefined)
  const adminKey = env.ADMIN_API_KEY ?? `admin-${randomBytes(16).toString('hex')}`
  const config: Config = Object.freeze({
    ...loadConfig({
      PORT: '0',
      DATA_DIR: 'memory',
      MASTER_KEY: randomBytes(32).toString('hex'),
      ADMIN_API_KEY: adminKey,
      RATE_LIMIT_PER_MINUTE: '1000000',
      SECURITY_CONTACT: 'mailto:security@assay.example',
      TRUST_PROXY: '127.0.0.1/32',
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      LOG_LEVEL: 'silent',
      // Few proofs are made by one app: tables would cost more than they save.
      PROVER_TABLE_MB: '0',
      ...env,
      ...(REDIS_URL && { REDIS_URL: withOwnNames(REDIS_URL) }),
      ...(scratch && { DATABASE_URL: scratch.url }),
    }),
    checkResponses,
  })
  const server = await startServer(config, {
    clock,
    logger,
    passwordCost: isPasswordCostUsual ? undefined : CHEAP,
  }).catch(async (error: unknown) => {
    await scratch?.drop()
    throw error
  })
  const client = clientOf(server.url, () => ({ 'x-forwarded-for': someAddress() }))
  return {
    url: server.url,
    adminKey,
    config,
    services: server.services,
    request: client.request,
    organisation() {
      const name = `Shop ${randomBytes(4).toString('hex')}`
      return ok(client, 'POST', '/console/api/organisations', { key: adminKey, body: { name } })
    },
    async close() {
      await server.close()
      await scratch?.drop()
    },
  }
}

/** Examples of routes that ask DNS need one that answers; close it with the app. */
const startSharedApp = async (): Promise<TestApp> => {
  const dns = await startDnsServer()
  const app = await startTestApp({ env: { DNS_SERVERS: dns.address } }).catch(async (error: unknown) => {
    await dns.close()
    throw error
  })
  return {
    ...app,
    async close() {
      await app.close()
      await dns.close()
    },
  }
}

let shared: Promise<TestApp> | undefined

/** One app for all tests of this process that only need a fresh organisation. Closed for them. */
export const sharedApp = (): Promise<TestApp> => {
  shared ??= startSharedApp()
  return shared
}

atEndOfRun(async () => (await shared)?.close())
