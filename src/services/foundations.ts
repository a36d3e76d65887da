/**
 * What every service stands on: database, ledger, keys, accounts, the way out. Built once, in order.
 * @module
 */
import { type Clock, systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { keepSecret, MEMORY_DATA_DIR, makeDataDirectory, readSecret } from '../config/secrets.ts'
import { type Core, createCore } from '../core/index.ts'
import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import { type AccountsService, createAccounts } from '../domain/accounts/service.ts'
import { takeLogDirectory } from '../domain/event-log/directories.ts'
import { createEventLog, type EventLog } from '../domain/event-log/event-log.ts'
import { createHolders, type HoldersService } from '../domain/holders/service.ts'
import { createSecurity, type SecurityService } from '../domain/security/service.ts'
import { createStatuses, type StatusesService } from '../domain/status/service.ts'
import { SESSION_COOKIE } from '../http/auth.ts'
import { addressBlock } from '../http/connections/client-address.ts'
import type { Logger } from '../http/log.ts'
import { createIssuer, type Issuer } from '../keys/issuer.ts'
import { createPseudonyms, type Pseudonyms } from '../keys/pseudonyms.ts'
import { createSealedValues } from '../keys/sealed-values.ts'
import { createSealing, type Sealing } from '../keys/sealing.ts'
import { createSigners, type Signers } from '../keys/signers.ts'
import { createSubjectPseudonyms, type SubjectPseudonyms } from '../keys/subject-pseudonyms.ts'
import { type Checkpoints, createCheckpoints } from '../ledger/checkpoints/checkpoint.ts'
import { createLedger, type Ledger } from '../ledger/ledger.ts'
import { createLog, type Log } from '../ledger/tree/log.ts'
import { createMetrics, type Metrics } from '../metrics.ts'
import { createSafeFetch, type SafeFetch } from '../net/safe-fetch.ts'
import { type Bus, createBus } from '../store/bus.ts'
import { type Database, openDatabase } from '../store/database.ts'
import { type Disk, watchDatabaseDisk, watchDisk } from '../store/disk.ts'
import { createLimits, type Limits } from '../store/limits.ts'
import { createOpenRecent, type OpenRecent } from '../store/recent.ts'
import { openRedis, type RedisConnection } from '../store/redis.ts'

/** Where a generated admin key is kept in DATA_DIR. */
export const ADMIN_KEY_FILE = 'admin.key'

/** What ends the services, in the order in which they were built. */
export type Closers = (() => Promise<void> | void)[]

export interface Foundations {
  readonly config: Config
  readonly clock: Clock
  readonly logger: Logger
  readonly database: Database
  /** Undefined where one process serves alone. */
  readonly redis: RedisConnection | undefined
  readonly bus: Bus
  readonly limits: Limits
  readonly core: Core
  readonly metrics: Metrics
  readonly sealing: Sealing
  readonly openRecent: OpenRecent
  readonly signers: Signers
  readonly issuer: Issuer
  readonly pseudonyms: Pseudonyms
  readonly ledger: Ledger
  readonly security: SecurityService
  readonly statuses: StatusesService
  readonly subjects: SubjectPseudonyms
  readonly holders: HoldersService
  readonly eventLog: EventLog
  readonly log: Log
  readonly checkpoints: Checkpoints
  readonly accounts: AccountsService
  readonly safeFetch: SafeFetch
  readonly disk: Disk
  /** Of PostgreSQL; never full with the embedded database, whose disk is the other. */
  readonly databaseDisk: Disk
  /** The admin key, if this start generated it. */
  readonly generatedAdminKey: string | undefined
}

interface Options {
  readonly clock?: Clock
  readonly logger: Logger
}

const openStores = async (
  { dataDir, databaseUrl, redisUrl }: Config,
  logger: Logger,
  closers: Closers,
): Promise<Pick<Foundations, 'database' | 'redis' | 'bus' | 'limits'>> => {
  const database = await openDatabase({ databaseUrl, dataDir }, logger)
  closers.push(() => database.close())
  const redis = redisUrl === undefined ? undefined : openRedis(redisUrl, logger)
  if (redis) closers.push(() => redis.close())
  const bus = createBus({ redis: redis?.client, logger })
  closers.push(() => bus.close())
  const limits = createLimits({
    redis: redis?.client,
    onFailure: (error) => logger.warn({ err: error }, 'rate limits are counted locally'),
  })
  return { database, redis, bus, limits }
}

/** What seals, signs and recognises, and memories that may hold what is sealed. */
const openKeys = async ({
  config,
  database,
  redis,
  bus,
  clock,
}: Pick<Foundations, 'config' | 'database' | 'redis' | 'bus' | 'clock'>): Promise<
  Pick<Foundations, 'sealing' | 'openRecent' | 'signers' | 'issuer' | 'pseudonyms'>
> => {
  const sealing = createSealing(config.masterKey)
  const codec = createSealedValues(sealing)
  const openRecent = createOpenRecent({ clock, bus, codec, redis: redis?.client })
  // First, since it notices a MASTER_KEY that is not this database's.
  const signers = await createSigners({ database, sealing, clock })
  const issuer = await createIssuer({ database, sealing, clock })
  const pseudonyms = createPseudonyms({ database, sealing, clock })
  return { sealing, openRecent, signers, issuer, pseudonyms }
}

type Watched = Pick<Foundations, 'config' | 'database' | 'security' | 'logger'>

/** Full disks are logged, and raise an alert once that can be written. */
const watchDisks = (
  { config: { dataDir }, database, security, logger }: Watched,
  closers: Closers,
): Pick<Foundations, 'disk' | 'databaseDisk'> => {
  const disk = watchDisk(dataDir === MEMORY_DATA_DIR ? undefined : dataDir, {
    onChange(isFull, freeBytes) {
      if (!isFull) return logger.info({ freeBytes }, 'there is room on the disk of DATA_DIR again')
      logger.error({ freeBytes }, 'the disk of DATA_DIR is full')
      security.raise({ organisation: DEFAULT_ORGANISATION, type: 'disk_full', subject: 'DATA_DIR' })
    },
  })
  closers.push(() => disk.close())
  const databaseDisk = watchDatabaseDisk(database, (isFull) => {
    if (isFull) return logger.error({}, 'the disk of the database is full')
    logger.info({}, 'there is room on the disk of the database again')
    // It could not be written before.
    security.raise({ organisation: DEFAULT_ORGANISATION, type: 'disk_full', subject: 'DATABASE_URL' })
  })
  closers.push(() => databaseDisk.close())
  return { disk, databaseDisk }
}

type Recorded = Pick<
  Foundations,
  'config' | 'clock' | 'logger' | 'database' | 'ledger' | 'signers' | 'metrics' | 'security'
>

/** What is read of the committed log: events in files, proofs, signed checkpoints. */
const openRecord = async (
  { config, clock, logger, database, ledger, signers, metrics, security }: Recorded,
  closers: Closers,
): Promise<Pick<Foundations, 'eventLog' | 'log' | 'checkpoints'>> => {
  const { dataDir, baseUrl } = config
  const logDirectory = takeLogDirectory(dataDir === MEMORY_DATA_DIR ? undefined : dataDir)
  closers.push(() => logDirectory.release())
  const eventLog = await createEventLog({
    database,
    ledger,
    directory: logDirectory.path,
    maxBytes: config.eventLogBytes,
    logger,
    onLost: (rows) => metrics.eventLogRowsLost.inc(rows),
  })
  closers.push(() => eventLog.close())
  const log = createLog(database)
  const checkpoints = createCheckpoints({
    database,
    log,
    signers,
    clock,
    origin: new URL(baseUrl).host,
    directory: dataDir === MEMORY_DATA_DIR ? undefined : dataDir,
    onInconsistency(reason) {
      logger.error({ reason }, 'the log is inconsistent: nothing is signed')
      security.raise({ organisation: DEFAULT_ORGANISATION, type: 'tree_inconsistency', subject: 'log' })
    },
  })
  return { eventLog, log, checkpoints }
}

type AccountsStand = Pick<
  Foundations,
  'database' | 'ledger' | 'sealing' | 'security' | 'clock' | 'openRecent' | 'core'
>

/** Accounts, with the operator's own organisation and its key. */
const openAccounts = async (
  config: Config,
  stands: AccountsStand,
): Promise<Pick<Foundations, 'accounts' | 'generatedAdminKey'>> => {
  const { baseUrl, dataDir } = config
  const accounts = createAccounts({
    ...stands,
    hmacMidstate: stands.core.hmacMidstate,
    rateLimitPerMinute: config.rateLimitPerMinute,
    adminApiKey: config.adminApiKey,
    addressBlock,
    cookie: { name: SESSION_COOKIE, secure: baseUrl.startsWith('https:') },
    baseUrl,
    oidc: config.oidc,
  })
  const generatedAdminKey = await accounts.ensureDefaults({
    known: config.adminApiKey ?? readSecret(dataDir, ADMIN_KEY_FILE),
    keep: (apiKey) => keepSecret(dataDir, ADMIN_KEY_FILE, apiKey),
  })
  return { accounts, generatedAdminKey }
}

/**
 * @param closers receives what ends them
 * @throws SealingError when the database was sealed under another MASTER_KEY, ConfigError, and whatever the database answers
 */
export const createFoundations = async (
  config: Config,
  { clock = systemClock, logger }: Options,
  closers: Closers,
): Promise<Foundations> => {
  const { dataDir, rateLimits } = config
  makeDataDirectory(dataDir)
  const { database, redis, bus, limits } = await openStores(config, logger, closers)
  const core = createCore()
  const metrics = createMetrics()
  const keys = await openKeys({ config, database, redis, bus, clock })
  const { sealing, openRecent, signers, pseudonyms } = keys
  const ledger = await createLedger({
    database,
    sealing,
    pseudonyms,
    clock,
    checkDecisions: config.checkResponses,
    onBatch: ({ items, size }) => {
      metrics.ledgerBatchSize.observe(items)
      metrics.ledgerTreeSize.set(size)
    },
    onClockSkew: (skew) =>
      logger.warn(
        skew,
        "the last entry of the log is ahead of this server's clock: check the servers' clocks",
      ),
  })
  closers.push(() => ledger.close())
  const security = createSecurity({ ledger, database, limits, clock, sealing, rateLimits, logger })
  closers.push(() => security.close())
  const statuses = createStatuses({ ...keys, database, clock, baseUrl: config.baseUrl })
  const subjects = createSubjectPseudonyms(keys)
  const holders = createHolders({ subjects, statuses })
  const { disk, databaseDisk } = watchDisks({ config, database, security, logger }, closers)
  const record = await openRecord(
    { config, clock, logger, database, ledger, signers, metrics, security },
    closers,
  )
  const { accounts, generatedAdminKey } = await openAccounts(config, {
    database,
    ledger,
    sealing,
    security,
    clock,
    openRecent,
    core,
  })
  const { egressAllowCidrs: allowCidrs, egressCa: ca, dnsServers } = config
  const safeFetch = createSafeFetch({ allowCidrs, ca, dnsServers })
  closers.push(() => safeFetch.close())
  return {
    config,
    clock,
    logger,
    database,
    redis,
    bus,
    limits,
    core,
    metrics,
    ...keys,
    ledger,
    security,
    statuses,
    subjects,
    holders,
    ...record,
    accounts,
    safeFetch,
    disk,
    databaseDisk,
    generatedAdminKey,
  }
}
