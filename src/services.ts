/**
 * Builds each service once, in order; the only place where one domain is handed another.
 * @module
 */
import { type Clock, systemClock } from './clock.ts'
import { type Config, keepSecret, readSecret } from './config.ts'
import { createCore } from './core/index.ts'
import { type AccountsService, createAccounts } from './domain/accounts/service.ts'
import { createPayments, type PaymentsService } from './domain/payments/service.ts'
import { createSecurity, type SecurityService } from './domain/security/service.ts'
import { createSystem, type SystemService } from './domain/system/service.ts'
import { createTerminals, type TerminalsService } from './domain/terminals/service.ts'
import { SESSION_COOKIE } from './http/auth.ts'
import { addressBlock } from './http/client-address.ts'
import type { Logger } from './http/log.ts'
import { createPseudonyms } from './keys/pseudonyms.ts'
import { createSealing } from './keys/sealing.ts'
import { createSigners, type Signers } from './keys/signers.ts'
import { createLedger, type Ledger } from './ledger/ledger.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { type Database, openDatabase } from './store/database.ts'
import { createLimits, type Limits } from './store/limits.ts'
import { openRedis } from './store/redis.ts'

/** Where a generated admin key is kept in DATA_DIR. */
export const ADMIN_KEY_FILE = 'admin.key'

export interface Services {
  readonly clock: Clock
  readonly database: Database
  readonly ledger: Ledger
  readonly limits: Limits
  readonly metrics: Metrics
  readonly signers: Signers
  readonly security: SecurityService
  readonly accounts: AccountsService
  readonly terminals: TerminalsService
  readonly payments: PaymentsService
  readonly system: SystemService
}

/** Services that were built here, and what only their builder needs. */
export interface BuiltServices extends Services {
  /** The admin key, if this start generated it. */
  readonly generatedAdminKey?: string
  /** Ends everything in reverse order; work that was begun is finished first. */
  close(): Promise<void>
}

export interface ServicesOptions {
  readonly clock?: Clock
  readonly logger: Logger
  /** False while the server starts or drains. */
  readonly isReady: () => boolean
  /** The OpenAPI document. */
  readonly describe: () => object
}

/** Runs the closers in reverse order; all of them, even when one fails. @throws the first failure */
const closeAll = async (closers: readonly (() => Promise<void> | void)[]): Promise<void> => {
  const failures: unknown[] = []
  for (const close of [...closers].reverse()) {
    try {
      await close()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

const build = async (
  config: Config,
  { clock = systemClock, logger, isReady, describe }: ServicesOptions,
  closers: (() => Promise<void> | void)[],
): Promise<Omit<BuiltServices, 'close'>> => {
  const { baseUrl, dataDir, databaseUrl, redisUrl, rateLimits, rateLimitPerMinute, customDomainCname } =
    config
  const database = await openDatabase({ databaseUrl, dataDir }, logger)
  closers.push(() => database.close())
  const redis = redisUrl === undefined ? undefined : openRedis(redisUrl, logger)
  if (redis) closers.push(() => redis.close())
  const limits = createLimits({
    redis: redis?.client,
    onFailure: (error) => logger.warn({ err: error }, 'rate limits are counted locally'),
  })
  const core = createCore()
  const metrics = createMetrics()
  const sealing = createSealing(config.masterKey)
  // First, since it notices a MASTER_KEY that is not this database's.
  const signers = await createSigners({ database, sealing, clock })
  const pseudonyms = createPseudonyms({ database, sealing, clock })
  const ledger = await createLedger({
    database,
    sealing,
    pseudonyms,
    clock,
    onBatch: ({ items, size }) => {
      metrics.ledgerBatchSize.observe(items)
      metrics.ledgerTreeSize.set(size)
    },
  })
  closers.push(() => ledger.close())
  const security = createSecurity({ ledger, database, limits, clock, rateLimits, logger })
  closers.push(() => security.close())
  const accounts = createAccounts({
    database,
    ledger,
    sealing,
    security,
    clock,
    hmacMidstate: core.hmacMidstate,
    rateLimitPerMinute,
    adminApiKey: config.adminApiKey,
    addressBlock,
    cookie: { name: SESSION_COOKIE, secure: baseUrl.startsWith('https:') },
  })
  const generatedAdminKey = await accounts.ensureDefaults({
    known: config.adminApiKey ?? readSecret(dataDir, ADMIN_KEY_FILE),
    keep: (apiKey) => keepSecret(dataDir, ADMIN_KEY_FILE, apiKey),
  })
  const terminals = createTerminals({ database, ledger, accounts, security, clock })
  const payments = createPayments({ ledger, database, core, accounts, terminals, security, metrics, clock })
  const system = createSystem({
    baseUrl,
    customDomainCname,
    clock,
    metrics,
    checks: { database: () => database.ping(), redis: redis && (() => redis.ping()) },
    isReady,
    treeSize: async () => (await ledger.head()).size,
    describe,
  })
  return {
    clock,
    database,
    ledger,
    limits,
    metrics,
    signers,
    security,
    accounts,
    terminals,
    payments,
    system,
    generatedAdminKey,
  }
}

/**
 * Opens the database, brings its schema up to date and builds every service.
 * @throws SealingError when the database was sealed under another MASTER_KEY, ConfigError, and whatever the
 *   database answers. What was opened until then is closed.
 */
export const createServices = async (config: Config, options: ServicesOptions): Promise<BuiltServices> => {
  const closers: (() => Promise<void> | void)[] = []
  try {
    return { ...(await build(config, options, closers)), close: () => closeAll(closers) }
  } catch (error) {
    // The reason counts; that closing failed as well would only hide it.
    await closeAll(closers).catch(() => undefined)
    throw error
  }
}
