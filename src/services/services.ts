/**
 * Builds each service once, in order; the only place where one domain is handed another.
 * @module
 */
import { loadArtifacts } from '../circuits/artifacts/artifacts.ts'
import { createProver, type Prover } from '../circuits/proving/prover.ts'
import { createVerifier, type Verifier } from '../circuits/verifier.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { createField } from '../core/field.ts'
import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import { createMembership } from '../domain/audit/membership.ts'
import { createPublishedLog, type PublishedLog } from '../domain/audit/published-log.ts'
import { type AuditService, createAudit } from '../domain/audit/service.ts'
import { type AuditProofs, createAuditProofs } from '../domain/audit/zkp.ts'
import { type CircuitsService, createCircuits } from '../domain/circuits/service.ts'
import { createEligibility, type EligibilityService } from '../domain/eligibility/service.ts'
import { createExports, type ExportsService } from '../domain/exports/service.ts'
import { createProxies, type ProxiesService } from '../domain/hermes/proxies.ts'
import { createHermes, type HermesService, verificationKeyName } from '../domain/hermes/service.ts'
import { ownHosts } from '../domain/hermes/target.ts'
import { createPayments, type PaymentsService } from '../domain/payments/service.ts'
import { createDomains, type DomainsService } from '../domain/pods/domains.ts'
import { createPods, type PodsService } from '../domain/pods/service.ts'
import { createPolicies, type PoliciesService } from '../domain/policies/service.ts'
import { type CircuitQuestions, createCircuitQuestions } from '../domain/proofs/circuit-questions.ts'
import { proofRow } from '../domain/proofs/recording.ts'
import { ProofVerifyRequest, SyncItem } from '../domain/proofs/schemas.ts'
import { createProofs, type ProofsService } from '../domain/proofs/service.ts'
import * as nullifiers from '../domain/proofs/spending/nullifiers.ts'
import { createIssuerLookup } from '../domain/proofs/spending/nullifiers.ts'
import { revokedDigestClaim } from '../domain/proofs/spending/spend-keys.ts'
import { auditProofStatement, prepareMember } from '../domain/proofs/statements/audit-proof.ts'
import { consentVerificationStatement } from '../domain/proofs/statements/consent-verification.ts'
import { kycStatement } from '../domain/proofs/statements/kyc.ts'
import { offlineValidationStatement } from '../domain/proofs/statements/offline-validation.ts'
import { proofAggregationStatement } from '../domain/proofs/statements/proof-aggregation.ts'
import { quantumSafeTokenStatement } from '../domain/proofs/statements/quantum-safe-token.ts'
import { ruleStatements } from '../domain/proofs/statements/rules.ts'
import { tokenValidationStatement } from '../domain/proofs/statements/token-validation.ts'
import { loadPages, type Pages } from '../domain/system/pages.ts'
import { createSystem, ENGINE, type SystemService } from '../domain/system/service.ts'
import { createTerminals, type TerminalsService } from '../domain/terminals/service.ts'
import { PresentedTicket } from '../domain/tickets/schemas.ts'
import { createTickets, type TicketsService } from '../domain/tickets/service.ts'
import { createTokens, type TokensService } from '../domain/tokens/service.ts'
import { createUsage, type UsageService } from '../domain/usage/service.ts'
import {
  createPolicyVerification,
  type PolicyVerificationService,
} from '../domain/verification/policy-verification.ts'
import { VerifyRequest } from '../domain/verification/schemas.ts'
import { createVerification, type VerificationService } from '../domain/verification/service.ts'
import { createWebhooks, type WebhooksService } from '../domain/webhooks/service.ts'
import { addressBlock } from '../http/connections/client-address.ts'
import type { IdempotencyKit } from '../http/idempotency.ts'
import { bodyCheck } from '../http/input/validation.ts'
import type { Logger } from '../http/log.ts'
import { createCheckpointReader } from '../ledger/checkpoints/checkpoint-reading.ts'
import { createPoseidonLog, type PoseidonLog } from '../ledger/tree/shards.ts'
import { createDns } from '../net/dns.ts'
import { createLocalResolve } from '../net/resolve.ts'
import { type AgentServices, createAgentServices } from './agents.ts'
import { type ChatServices, createChatServices } from './chat.ts'
import { type Closers, createFoundations, type Foundations } from './foundations.ts'
import { createPeopleServices, type PeopleServices } from './people.ts'

/** What routes use of the foundations. */
type Shared = Pick<
  Foundations,
  | 'clock'
  | 'database'
  | 'ledger'
  | 'limits'
  | 'metrics'
  | 'signers'
  | 'issuer'
  | 'security'
  | 'eventLog'
  | 'accounts'
  | 'disk'
  | 'databaseDisk'
>

export interface Services extends Shared, ChatServices, AgentServices, PeopleServices {
  readonly idempotency: IdempotencyKit
  readonly poseidonLog: PoseidonLog
  readonly audit: AuditService
  readonly auditProofs: AuditProofs
  readonly publishedLog: PublishedLog
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
  readonly tickets: TicketsService
  readonly pods: PodsService
  readonly domains: DomainsService
  readonly proxies: ProxiesService
  readonly hermes: HermesService
  readonly eligibility: EligibilityService
  readonly webhooks: WebhooksService
  readonly exports: ExportsService
  readonly system: SystemService
  readonly pages: Pages
}

/** Services that were built here, and what only their builder needs. */
export interface BuiltServices extends Services {
  /** The admin key, if this start generated it. */
  readonly generatedAdminKey: string | undefined
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
const closeAll = async (closers: Readonly<Closers>): Promise<void> => {
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
  { clock: givenClock, logger, isReady, describe }: ServicesOptions,
  closers: Closers,
): Promise<Omit<BuiltServices, 'close'>> => {
  const foundations = await createFoundations(config, { clock: givenClock, logger }, closers)
  const {
    clock,
    database,
    redis,
    limits,
    core,
    metrics,
    sealing,
    openRecent,
    signers,
    issuer,
    pseudonyms,
    ledger,
    security,
    eventLog,
    log,
    checkpoints,
    accounts,
    safeFetch,
    disk,
    databaseDisk,
    generatedAdminKey,
  } = foundations
  const { baseUrl, customDomainCname } = config
  const idempotency: IdempotencyKit = {
    mac: (data) => sealing.mac('idempotency', data),
    findAnswer: ledger.findAnswer,
  }
  const audit = createAudit({ database, log, checkpoints, pseudonyms, clock })
  const publishedLog = createPublishedLog({ log, checkpoints })
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
    proofRow,
    revokedDigestClaim,
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
    passes: config.passSigners,
    nullifiers,
  })
  const agentServices = createAgentServices(foundations)
  const peopleServices = await createPeopleServices(foundations, closers)
  const membership = createMembership({ database, poseidonLog })
  const issuerOf = createIssuerLookup(database)
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
      kycStatement({ issuer, kyc: peopleServices.kyc }),
      tokenValidationStatement({ issuer, tokens, issuerOf }),
      consentVerificationStatement({ issuer, consents: peopleServices.consents, issuerOf }),
      proofAggregationStatement({
        issuer,
        verifyStored: (caller, proofId) => proofs.verifyStored(caller, proofId),
      }),
      offlineValidationStatement({ payments, terminals }),
      auditProofStatement({ membership }),
      quantumSafeTokenStatement({ membership, hybridTokens: agentServices.hybridTokens, issuerOf }),
    ],
    checkInputs: bodyCheck,
    checkSyncItem: bodyCheck(SyncItem),
  })
  const tickets = createTickets({
    database,
    ledger,
    signers,
    sealing,
    clock,
    baseUrl,
    proofs,
    metrics,
    security,
    checkProof: bodyCheck(ProofVerifyRequest),
    checkTicket: bodyCheck(PresentedTicket),
  })
  const auditProofs = createAuditProofs({
    database,
    ledger,
    log,
    checkpoints,
    checkpointReader: createCheckpointReader(new URL(baseUrl).host, signers),
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
  const isOwnHost = ownHosts({
    baseUrl,
    names: [customDomainCname],
    port: config.port,
    resolve: createLocalResolve(dns),
  })
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
    proofRow,
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
  const eligibility = createEligibility({
    ledger,
    sources: { hermes, tokens, hybridTokens: agentServices.hybridTokens, ...peopleServices },
    proofs,
    tokens,
    clock,
  })
  const chatServices = await createChatServices({ ...foundations, proofs }, closers)
  const webhooks = await createWebhooks({
    database,
    ledger,
    log,
    sealing,
    safeFetch,
    bus: foundations.bus,
    openRecent,
    eventLog,
    metrics,
    clock,
    logger,
    keyLabels: accounts.keys.labels,
    endedKeys: accounts.keys.ended,
    egressAllowCidrs: config.egressAllowCidrs,
    egressOpenProxy: config.egressOpenProxy,
    pausesMs: config.webhookPausesMs,
    backlog: config.webhookBacklog,
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
    isDiskFull: () => disk.isFull() || databaseDisk.isFull(),
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
    disk,
    databaseDisk,
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
    tickets,
    pods,
    domains,
    proxies,
    hermes,
    eligibility,
    ...chatServices,
    ...agentServices,
    ...peopleServices,
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
  const closers: Closers = []
  try {
    return { ...(await build(config, options, closers)), close: () => closeAll(closers) }
  } catch (error) {
    // The reason counts; that closing failed as well would only hide it.
    await closeAll(closers).catch(() => undefined)
    throw error
  }
}
