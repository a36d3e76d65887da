/**
 * What every service stands on: database, ledger, keys, accounts, the way out. Built once, in order.
 * @module
 */
import { createSigning } from '../circuits/threads/signing.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { keepSecret, MEMORY_DATA_DIR, makeDataDirectory, readSecret } from '../config/secrets.ts'
import { type Core, createCore } from '../core/index.ts'
import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import { type AccountsDeps, type AccountsService, createAccounts } from '../domain/accounts/service.ts'
import { takeLogDirectory } from '../domain/event-log/directories.ts'
import { createEventLog, type EventLog } from '../domain/event-log/event-log.ts'
import { isOwnAddress } from '../domain/hermes/target.ts'
import { createHolders, type HoldersService } from '../domain/holders/service.ts'
import { createSecurity, type SecurityService } from '../domain/security/service.ts'
import { createStatuses, type StatusesService } from '../domain/status/service.ts'
import { SESSION_COOKIE } from '../http/auth.ts'
import { addressBlock } from '../http/connections/client-address.ts'
import type { Logger } from '../http/log.ts'
import { openSealing } from '../keys/data-keys.ts'
import { createIssuer, type Issuer } from '../keys/issuer.ts'
import { type Cost, PASSWORD_COST } from '../keys/passwords.ts'
import { createPseudonyms, type Pseudonyms } from '../keys/pseudonyms.ts'
import { createSealedValues } from '../keys/sealed-values.ts'
import type { Sealing } from '../keys/sealing.ts'
import { createSigners, type Signers } from '../keys/signers.ts'
import { createSubjectPseudonyms, type SubjectPseudonyms } from '../keys/subject-pseudonyms.ts'
import { originOf, settleHome } from '../ledger/checkpoints/home.ts'
import type { SignedLogs } from '../ledger/checkpoints/signed-logs.ts'
import type { Witnessing } from '../ledger/checkpoints/witnessing.ts'
import { followerLags } from '../ledger/follower.ts'
import { createLedger, type Ledger } from '../ledger/ledger.ts'
import { countEntries, type Logs, openLogs } from '../ledger/logs.ts'
import { createMetrics, type Metrics } from '../metrics.ts'
import { createSafeFetch, type SafeFetch } from '../net/safe-fetch.ts'
import { type Bus, createBus } from '../store/bus.ts'
import { type Database, openDatabase } from '../store/database.ts'
import { createLimits, type Limits } from '../store/limits.ts'
import type { MigrationStep } from '../store/migrate.ts'
import { createOpenRecent, type OpenRecent } from '../store/recent.ts'
import { openRedis, type RedisConnection } from '../store/redis.ts'
import {
  type DatabaseAnswers,
  type DatabaseWrites,
  watchDatabaseAnswers,
  watchDatabaseWrites,
} from '../store/watch/database.ts'
import { type Disk, watchDisk } from '../store/watch/disk.ts'
import { createEmbeddedWrites, type EmbeddedWrites } from '../store/watch/embedded-writes.ts'
import { openSignedLogs, type Recorded } from './logs.ts'
import { createThreadServices, type ThreadServices } from './threads.ts'

/** Where a generated admin key is kept in DATA_DIR. */
export const ADMIN_KEY_FILE = 'admin.key'

/** What ends the services, in the order in which they were built. */
export type Closers = (() => Promise<void> | void)[]

export interface Foundations extends ThreadServices {
  readonly config: Config
  readonly clock: Clock
  readonly logger: Logger
  readonly database: Database
  /** The name under which the log is signed, and its number among those of this database. */
  readonly logHome: { readonly origin: string; readonly generation: number }
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
  /** Which logs there are, and which an organisation has. */
  readonly logs: Logs
  readonly ledger: Ledger
  readonly security: SecurityService
  readonly statuses: StatusesService
  readonly subjects: SubjectPseudonyms
  readonly holders: HoldersService
  readonly eventLog: EventLog
  /** The tree and the checkpoints of each log. */
  readonly signedLogs: SignedLogs
  /** Undefined where no policy of witnesses is set. */
  readonly witnessing: Witnessing | undefined
  readonly accounts: AccountsService
  readonly safeFetch: SafeFetch
  readonly disk: Disk
  readonly embeddedWrites: EmbeddedWrites
  /** Of PostgreSQL; the embedded database takes writes while its disk does. */
  readonly databaseWrites: DatabaseWrites
  readonly databaseAnswers: DatabaseAnswers
  /** The admin key, if this start generated it. */
  readonly generatedAdminKey: string | undefined
}

/** Wraps what requests wait for, to tell how long they did. */
export interface Tracing {
  ledger(ledger: Ledger): Ledger
  safeFetch(safeFetch: SafeFetch): SafeFetch
}

/** Nothing is wrapped. */
const UNTRACED: Tracing = { ledger: (ledger) => ledger, safeFetch: (safeFetch) => safeFetch }

interface Options {
  readonly clock?: Clock
  readonly passwordCost?: Cost
  readonly logger: Logger
  readonly tracing?: Tracing
}

const openStores = async (
  { baseUrl, dataDir, databaseUrl, redisUrl, migrate }: Config,
  logger: Logger,
  closers: Closers,
): Promise<Pick<Foundations, 'database' | 'logHome' | 'redis' | 'bus' | 'limits'>> => {
  const onMigration = ({ name, number, of }: MigrationStep) =>
    logger.info({ name, number, of }, 'the schema of the database is brought up to date')
  const database = await openDatabase({ databaseUrl, dataDir, migrate, onMigration }, logger)
  closers.push(() => database.close())
  // Before anything is written: what was restored from a copy may not go on by itself.
  const generation = await settleHome(database)
  const logHome = { origin: originOf(new URL(baseUrl).host, generation), generation }
  const redis = redisUrl === undefined ? undefined : await openRedis(redisUrl, logger)
  if (redis) closers.push(() => redis.close())
  const bus = createBus({ redis: redis?.client, logger })
  closers.push(() => bus.close())
  const limits = createLimits({
    redis: redis?.client,
    onFailure: (error) => logger.warn({ err: error }, 'rate limits are counted locally'),
  })
  return { database, logHome, redis, bus, limits }
}

/** What seals, signs and recognises, and memories that may hold what is sealed. */
const openKeys = async (
  {
    config,
    database,
    redis,
    bus,
    clock,
    logger,
    workerPool,
  }: Pick<Foundations, 'config' | 'database' | 'redis' | 'bus' | 'clock' | 'logger' | 'workerPool'>,
  closers: Closers,
): Promise<Pick<Foundations, 'sealing' | 'openRecent' | 'signers' | 'issuer' | 'pseudonyms'>> => {
  // First, since it notices a MASTER_KEY that is not this database's.
  const { sealing, close } = await openSealing(database, config.masterKey, logger)
  closers.push(close)
  const codec = createSealedValues(sealing)
  const openRecent = createOpenRecent({ clock, bus, codec, redis: redis?.client })
  const signers = await createSigners({ database, sealing, clock, signElsewhere: createSigning(workerPool) })
  const issuer = await createIssuer({ database, sealing, clock })
  const pseudonyms = createPseudonyms({ database, sealing, clock })
  return { sealing, openRecent, signers, issuer, pseudonyms }
}

/** The one way out. */
const openSafeFetch = (
  { egressAllowCidrs: allowCidrs, egressCa: ca, dnsServers, port }: Config,
  tracing: Tracing,
  closers: Closers,
): SafeFetch => {
  const isRefusedAddress = isOwnAddress(port)
  const safeFetch = tracing.safeFetch(createSafeFetch({ allowCidrs, ca, dnsServers, isRefusedAddress }))
  closers.push(() => safeFetch.close())
  return safeFetch
}

type Watched = Pick<Foundations, 'config' | 'database' | 'security' | 'signedLogs' | 'logger'>

/** What keeps writes from being taken is logged, and full disks raise an alert once that can be written. */
const watchWrites = (
  { config: { dataDir }, database, security, signedLogs, logger }: Watched,
  closers: Closers,
): Pick<Foundations, 'disk' | 'embeddedWrites' | 'databaseWrites' | 'databaseAnswers'> => {
  const embeddedWrites = createEmbeddedWrites(database, (err) =>
    logger.error({ err }, 'the embedded database could not be told whether its disk takes writes'),
  )
  /** What there is room for. The log is read with a checkpoint of all of it, which can't be signed later. */
  const writeLast = async (): Promise<void> => {
    await security.raise({ organisation: DEFAULT_ORGANISATION, type: 'disk_full', subject: 'DATA_DIR' })
    await signedLogs
      .signAll()
      .catch((err: unknown) =>
        logger.warn({ err }, 'the log could not be signed before the disk takes no writes'),
      )
  }
  const disk = watchDisk(dataDir === MEMORY_DATA_DIR ? undefined : dataDir, {
    onChange(why, details) {
      if (why === undefined) logger.info(details, 'the disk of DATA_DIR takes writes again')
      else logger.error({ why, ...details }, 'the disk of DATA_DIR takes no writes')
      embeddedWrites.refuse(why !== undefined, why === 'disk_full' ? writeLast() : undefined)
    },
  })
  closers.push(async () => {
    await disk.close()
    await embeddedWrites.close()
  })
  const databaseWrites = watchDatabaseWrites(database, (why, before) => {
    if (why !== undefined) return logger.error({ why }, 'the database takes no writes')
    logger.info({ before }, 'the database takes writes again')
    if (before !== 'disk_full') return
    // It could not be written before.
    security.raise({ organisation: DEFAULT_ORGANISATION, type: 'disk_full', subject: 'DATABASE_URL' })
  })
  closers.push(() => databaseWrites.close())
  const databaseAnswers = watchDatabaseAnswers(database, (isAway, err) => {
    if (isAway) logger.error({ err }, 'the database does not answer')
    else logger.info({}, 'the database answers again')
  })
  closers.push(() => databaseAnswers.close())
  return { disk, embeddedWrites, databaseWrites, databaseAnswers }
}

/** What is read of the committed log: events in files, proofs, signed checkpoints. */
const openRecord = async (
  recorded: Recorded,
  closers: Closers,
): Promise<Pick<Foundations, 'eventLog' | 'signedLogs' | 'witnessing'>> => {
  const { config, logger, database, logs, ledger, metrics } = recorded
  const { dataDir } = config
  const logDirectory = takeLogDirectory(dataDir === MEMORY_DATA_DIR ? undefined : dataDir, logger)
  closers.push(() => logDirectory.release())
  const eventLog = await createEventLog({
    database,
    ledger,
    logs,
    directory: logDirectory.path,
    maxBytes: config.eventLogBytes,
    logger,
    onLost: (rows) => metrics.eventLogRowsLost.inc(rows),
  })
  closers.push(() => eventLog.close())
  metrics.readTreeSize(() => countEntries(database))
  metrics.readFollowers(() => followerLags(database))
  return { eventLog, ...openSignedLogs(recorded, closers) }
}

type AccountsStand = Pick<
  Foundations,
  'database' | 'logs' | 'ledger' | 'sealing' | 'security' | 'clock' | 'openRecent' | 'core'
> &
  Pick<AccountsDeps, 'passwordCost'>

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

type LedgerStand = Pick<
  Foundations,
  'config' | 'database' | 'clock' | 'logger' | 'metrics' | 'sealing' | 'pseudonyms'
>

/** The logs that there are, and what appends to them. */
const openLedger = async (
  { config, database, clock, logger, metrics, sealing, pseudonyms }: LedgerStand,
  closers: Closers,
): Promise<Pick<Foundations, 'logs'> & { readonly untraced: Ledger }> => {
  const logs = await openLogs({
    database,
    logger,
    wanted: config.logShards,
    mayGrow: config.migrate,
  })
  closers.push(() => logs.close())
  logs.each((log) => database.makeRoom(log + 1))
  const untraced = await createLedger({
    database,
    logs,
    sealing,
    pseudonyms,
    clock,
    checkDecisions: config.checkResponses,
    onBatch: ({ items, seconds }) => {
      metrics.ledgerBatchSize.observe(items)
      metrics.ledgerCommitSeconds.observe(seconds)
    },
    onClockSkew: (skew) =>
      logger.warn(
        skew,
        "the last entry of the log is ahead of this server's clock: check the servers' clocks",
      ),
  })
  closers.push(() => untraced.close())
  return { logs, untraced }
}

/**
 * @param closers receives what ends them
 * @throws SealingError when the database was sealed under another MASTER_KEY, TooFewLogs, LogsMissing, ConfigError, and whatever the database answers
 */
export const createFoundations = async (
  config: Config,
  { clock = systemClock, passwordCost = PASSWORD_COST, logger, tracing = UNTRACED }: Options,
  closers: Closers,
): Promise<Foundations> => {
  const { dataDir, rateLimits } = config
  makeDataDirectory(dataDir)
  const { database, logHome, redis, bus, limits } = await openStores(config, logger, closers)
  const core = createCore()
  const metrics = createMetrics()
  const threads = createThreadServices({ config, database, logger })
  const { workerPool } = threads
  closers.push(() => workerPool.close())
  const keys = await openKeys({ config, database, redis, bus, clock, logger, workerPool }, closers)
  const { sealing, openRecent, signers, pseudonyms } = keys
  const { logs, untraced } = await openLedger(
    { config, database, clock, logger, metrics, sealing, pseudonyms },
    closers,
  )
  const ledger = tracing.ledger(untraced)
  const security = createSecurity({ ledger, database, limits, clock, sealing, rateLimits, logger })
  closers.push(() => security.close())
  const statuses = createStatuses({ ...keys, database, clock, baseUrl: config.baseUrl })
  const subjects = createSubjectPseudonyms(keys)
  const holders = createHolders({ subjects, statuses })
  const safeFetch = openSafeFetch(config, tracing, closers)
  const record = await openRecord(
    { config, clock, logger, database, logHome, logs, ledger, signers, metrics, security, safeFetch },
    closers,
  )
  const watched = watchWrites({ ...record, config, database, security, logger }, closers)
  const { accounts, generatedAdminKey } = await openAccounts(config, {
    database,
    logs,
    ledger,
    sealing,
    security,
    clock,
    openRecent,
    core,
    passwordCost,
  })
  return {
    config,
    clock,
    logger,
    database,
    logHome,
    redis,
    bus,
    limits,
    core,
    metrics,
    ...threads,
    ...keys,
    logs,
    ledger,
    security,
    statuses,
    subjects,
    holders,
    ...record,
    accounts,
    safeFetch,
    ...watched,
    generatedAdminKey,
  }
}
