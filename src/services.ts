/**
 * Builds each service once, in order; the only place where one domain is handed another.
 * @module
 */
import { loadArtifacts } from './circuits/artifacts.ts'
import { createProver, type Prover } from './circuits/prover.ts'
import { createVerifier, type Verifier } from './circuits/verifier.ts'
import { type Clock, systemClock } from './clock.ts'
import { type Config, keepSecret, MEMORY_DATA_DIR, readSecret } from './config.ts'
import { createField } from './core/field.ts'
import { createCore } from './core/index.ts'
import { DEFAULT_ORGANISATION } from './domain/accounts/defaults.ts'
import { type AccountsService, createAccounts } from './domain/accounts/service.ts'
import { createMembership } from './domain/audit/membership.ts'
import { createPublishedLog, type PublishedLog } from './domain/audit/published-log.ts'
import { type AuditService, createAudit } from './domain/audit/service.ts'
import { type AuditProofs, createAuditProofs } from './domain/audit/zkp.ts'
import { type CircuitsService, createCircuits } from './domain/circuits/service.ts'
import { createEligibility, type EligibilityService } from './domain/eligibility/service.ts'
import { takeLogDirectory } from './domain/exports/directories.ts'
import { createEventLog, type EventLog } from './domain/exports/event-log.ts'
import { createExports, type ExportsService } from './domain/exports/service.ts'
import { createProxies, type ProxiesService } from './domain/hermes/proxies.ts'
import { createHermes, type HermesService, verificationKeyName } from './domain/hermes/service.ts'
import { ownHosts } from './domain/hermes/target.ts'
import { createPayments, type PaymentsService } from './domain/payments/service.ts'
import { createDomains, type DomainsService } from './domain/pods/domains.ts'
import { createPods, type PodsService } from './domain/pods/service.ts'
import { createPolicies, type PoliciesService } from './domain/policies/service.ts'
import { type CircuitQuestions, createCircuitQuestions } from './domain/proofs/circuit-questions.ts'
import * as nullifiers from './domain/proofs/nullifiers.ts'
import { SyncItem } from './domain/proofs/schemas.ts'
import { createProofs, type ProofsService } from './domain/proofs/service.ts'
import { auditProofStatement, prepareMember } from './domain/proofs/statements/audit-proof.ts'
import { consentVerificationStatement } from './domain/proofs/statements/consent-verification.ts'
import { kycStatement } from './domain/proofs/statements/kyc.ts'
import { offlineValidationStatement } from './domain/proofs/statements/offline-validation.ts'
import { proofAggregationStatement } from './domain/proofs/statements/proof-aggregation.ts'
import { quantumSafeTokenStatement } from './domain/proofs/statements/quantum-safe-token.ts'
import { ruleStatements } from './domain/proofs/statements/rules.ts'
import { tokenValidationStatement } from './domain/proofs/statements/token-validation.ts'
import { createSecurity, type SecurityService } from './domain/security/service.ts'
import { loadPages, type Pages } from './domain/system/pages.ts'
import { createSystem, ENGINE, type SystemService } from './domain/system/service.ts'
import { createTerminals, type TerminalsService } from './domain/terminals/service.ts'
import { createTokens, type TokensService } from './domain/tokens/service.ts'
import { createUsage, type UsageService } from './domain/usage/service.ts'
import {
  createPolicyVerification,
  type PolicyVerificationService,
} from './domain/verification/policy-verification.ts'
import { VerifyRequest } from './domain/verification/schemas.ts'
import { createVerification, type VerificationService } from './domain/verification/service.ts'
import { createWebhooks, type WebhooksService } from './domain/webhooks/service.ts'
import { SESSION_COOKIE } from './http/auth.ts'
import { addressBlock } from './http/client-address.ts'
import type { IdempotencyKit } from './http/idempotency.ts'
import type { Logger } from './http/log.ts'
import { bodyCheck } from './http/validation.ts'
import { createIssuer, type Issuer } from './keys/issuer.ts'
import { createPseudonyms } from './keys/pseudonyms.ts'
import { createSealedValues } from './keys/sealed-values.ts'
import { createSealing } from './keys/sealing.ts'
import { createSigners, type Signers } from './keys/signers.ts'
import { createCheckpoints } from './ledger/checkpoint.ts'
import { createCheckpointReader } from './ledger/checkpoint-reading.ts'
import { createLedger, type Ledger } from './ledger/ledger.ts'
import { createLog } from './ledger/log.ts'
import { createPoseidonLog, type PoseidonLog } from './ledger/shards.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { createDns } from './net/dns.ts'
import { createSafeFetch } from './net/safe-fetch.ts'
import { type ChatServices, createChatServices } from './services-chat.ts'
import { createBus } from './store/bus.ts'
import { type Database, openDatabase } from './store/database.ts'
import { createLimits, type Limits } from './store/limits.ts'
import { createOpenRecent } from './store/recent.ts'
import { openRedis } from './store/redis.ts'

/** Where a generated admin key is kept in DATA_DIR. */
export const ADMIN_KEY_FILE = 'admin.key'

export interface Services extends ChatServices {
  readonly clock: Clock
  readonly database: Database
  readonly ledger: Ledger
  readonly idempotency: IdempotencyKit
  readonly poseidonLog: PoseidonLog
  readonly limits: Limits
  readonly metrics: Metrics
  readonly signers: Signers
  readonly issuer: Issuer
  readonly security: SecurityService
  readonly audit: AuditService
  readonly auditProofs: AuditProofs
  readonly publishedLog: PublishedLog
  readonly accounts: AccountsService
  readonly terminals: TerminalsService
  readonly payments: PaymentsService
  readonly usage: UsageService
  readonly circuits: CircuitsService
  readonly prover: Prover
  readonly verifier: Verifier
  readonly verification: VerificationService
  readonly proofs: ProofsService
  readonly circuitQuestions: CircuitQuestions
  readonly policies: PoliciesService
  readonly policyVerification: PolicyVerificationService
  readonly tokens: TokensService
  readonly pods: PodsService
  readonly domains: DomainsService
  readonly proxies: ProxiesService
  readonly hermes: HermesService
  readonly eligibility: EligibilityService
  readonly webhooks: WebhooksService
  readonly eventLog: EventLog
  readonly exports: ExportsService
  readonly system: SystemService
  readonly pages: Pages
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
  const bus = createBus({ redis: redis?.client, logger })
  closers.push(() => bus.close())
  const limits = createLimits({
    redis: redis?.client,
    onFailure: (error) => logger.warn({ err: error }, 'rate limits are counted locally'),
  })
  const core = createCore()
  const metrics = createMetrics()
  const sealing = createSealing(config.masterKey)
  const codec = createSealedValues(sealing)
  const openRecent = createOpenRecent({ clock, bus, codec, redis: redis?.client })
  // First, since it notices a MASTER_KEY that is not this database's.
  const signers = await createSigners({ database, sealing, clock })
  const issuer = await createIssuer({ database, sealing, clock })
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
    onClockSkew: (skew) =>
      logger.warn(
        skew,
        "the last entry of the log is ahead of this server's clock: check the servers' clocks",
      ),
  })
  closers.push(() => ledger.close())
  const idempotency: IdempotencyKit = {
    mac: (data) => sealing.mac('idempotency', data),
    findAnswer: ledger.findAnswer,
  }
  const security = createSecurity({ ledger, database, limits, clock, rateLimits, logger })
  closers.push(() => security.close())
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
  const origin = new URL(baseUrl).host
  const checkpoints = createCheckpoints({
    database,
    log,
    signers,
    clock,
    origin,
    directory: dataDir === MEMORY_DATA_DIR ? undefined : dataDir,
    onInconsistency(reason) {
      logger.error({ reason }, 'the log is inconsistent: nothing is signed')
      security.raise({ organisation: DEFAULT_ORGANISATION, type: 'tree_inconsistency', subject: 'log' })
    },
  })
  const audit = createAudit({ database, log, checkpoints, pseudonyms, clock })
  const publishedLog = createPublishedLog({ log, checkpoints })
  const accounts = createAccounts({
    database,
    ledger,
    sealing,
    security,
    clock,
    openRecent,
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
  const terminals = createTerminals({ database, ledger, accounts, security, clock, openRecent, sealing })
  const payments = createPayments({ ledger, database, core, accounts, terminals, security, metrics, clock })
  const usage = createUsage({ database, accounts, clock, logger })
  const poseidonLog = createPoseidonLog({ database, ledger, field: createField(), logger })
  closers.push(() => poseidonLog.close())
  const artifacts = loadArtifacts(config.circuitsDir)
  const prover = createProver({
    threads: config.proverThreads,
    artifacts,
    tableBytes: config.proverTableMb * 2 ** 20,
    onProved: metrics.observeProof,
    onFailure: (error) => logger.error({ err: error }, 'a prover thread failed'),
  })
  closers.push(() => prover.close())
  const verifier = createVerifier(artifacts)
  const circuits = createCircuits({ artifacts, baseUrl })
  const verification = createVerification({
    database,
    ledger,
    signers,
    prover,
    usage,
    clock,
    baseUrl,
    engine: ENGINE,
    checkRequest: bodyCheck(VerifyRequest),
  })
  const policies = createPolicies({
    database,
    ledger,
    verification,
    usage,
    clock,
    openRecent,
    baseUrl,
  })
  const tokens = createTokens({
    database,
    ledger,
    signers,
    issuer,
    sealing,
    clock,
    baseUrl,
    nullifiers,
  })
  const membership = createMembership({ database, poseidonLog })
  const proofs: ProofsService = createProofs({
    database,
    ledger,
    prover,
    verifier,
    usage,
    sealing,
    metrics,
    security,
    clock,
    baseUrl,
    statements: [
      ...ruleStatements,
      kycStatement({ issuer }),
      tokenValidationStatement({ issuer, tokens }),
      consentVerificationStatement({ issuer }),
      proofAggregationStatement({
        issuer,
        verifyStored: (caller, proofId) => proofs.verifyStored(caller, proofId),
      }),
      offlineValidationStatement({ payments, terminals }),
      auditProofStatement({ membership }),
      quantumSafeTokenStatement({ membership }),
    ],
    checkInputs: bodyCheck,
    checkSyncItem: bodyCheck(SyncItem),
  })
  const auditProofs = createAuditProofs({
    database,
    ledger,
    log,
    checkpoints,
    checkpointReader: createCheckpointReader(origin, signers),
    membership,
    proofs,
    prepareMember,
    verifier,
    clock,
    baseUrl,
  })
  const circuitQuestions = createCircuitQuestions({ proofs, payments, ledger, clock })
  const policyVerification = createPolicyVerification({ ledger, verification, policies, proofs, baseUrl })
  const pods = createPods({ database, ledger, accounts, verification, clock, openRecent, baseUrl })
  const dns = createDns({ servers: config.dnsServers })
  const domains = createDomains({
    database,
    ledger,
    dns,
    pods,
    clock,
    openRecent,
    customDomainCname,
    baseUrl,
    logger,
  })
  closers.push(() => domains.close())
  const safeFetch = createSafeFetch({
    allowCidrs: config.egressAllowCidrs,
    ca: config.egressCa,
    dnsServers: config.dnsServers,
  })
  closers.push(() => safeFetch.close())
  const isOwnHost = ownHosts(baseUrl, customDomainCname)
  const proxies = createProxies({
    database,
    ledger,
    sealing,
    clock,
    openRecent,
    baseUrl,
    isOwnHost,
    openOrganisation: DEFAULT_ORGANISATION,
  })
  const hermes = createHermes({
    proxies,
    database,
    ledger,
    prover,
    verificationKey: verificationKeyName(circuits.verificationKey('yesno').etag),
    verification,
    usage,
    security,
    safeFetch,
    clock,
    baseUrl,
    isOwnHost,
    egressOpenProxy: config.egressOpenProxy,
    addressBlock,
    logger,
  })
  const eligibility = createEligibility({ ledger, hermes, proofs, tokens, clock })
  const chatServices = await createChatServices(
    {
      config,
      clock,
      database,
      ledger,
      bus,
      limits,
      sealing,
      metrics,
      security,
      proofs,
      addressBlock,
      logger,
    },
    closers,
  )
  const webhooks = await createWebhooks({
    database,
    ledger,
    log,
    sealing,
    safeFetch,
    bus,
    openRecent,
    eventLog,
    metrics,
    clock,
    logger,
    keyLabels: accounts.keys.labels,
    egressAllowCidrs: config.egressAllowCidrs,
    egressOpenProxy: config.egressOpenProxy,
    pausesMs: config.webhookPausesMs,
  })
  closers.push(() => webhooks.close())
  const exports = createExports({
    eventLog,
    log,
    checkpoints,
    signers,
    metrics,
    clock,
    baseUrl,
    eventLogBytes: config.eventLogBytes,
    logger,
  })
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
    idempotency,
    poseidonLog,
    limits,
    metrics,
    signers,
    issuer,
    security,
    audit,
    auditProofs,
    publishedLog,
    accounts,
    terminals,
    payments,
    usage,
    circuits,
    prover,
    verifier,
    verification,
    proofs,
    circuitQuestions,
    policies,
    policyVerification,
    tokens,
    pods,
    domains,
    proxies,
    hermes,
    eligibility,
    ...chatServices,
    webhooks,
    eventLog,
    exports,
    system,
    pages: loadPages(),
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
