/**
 * Builds each service once, in order; the only place where one domain is handed another.
 * @module
 */
import { inTurn } from '../circuits/threads/in-turn.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { createField } from '../core/field.ts'
import { watchKeyEnds } from '../domain/accounts/key-ends.ts'
import { createPublishedLog, type PublishedLog } from '../domain/audit/published-log.ts'
import { type AuditService, createAudit } from '../domain/audit/service.ts'
import { createEligibility, type EligibilityService } from '../domain/eligibility/service.ts'
import { createExports, type ExportsService } from '../domain/exports/service.ts'
import { createPayments, type PaymentsService } from '../domain/payments/service.ts'
import * as nullifiers from '../domain/proofs/spending/nullifiers.ts'
import { type BackupsService, createBackups } from '../domain/system/backup.ts'
import { type ChatPage, createChatPage } from '../domain/system/chat-page.ts'
import { loadPages, type Pages } from '../domain/system/pages.ts'
import { createSystem, type SystemService } from '../domain/system/service.ts'
import { createTerminals, type TerminalsService } from '../domain/terminals/service.ts'
import { loadApplePasses } from '../domain/tokens/apple-pass.ts'
import { createTokens, type TokensService } from '../domain/tokens/service.ts'
import { createWebhooks, type WebhooksService } from '../domain/webhooks/service.ts'
import { fail } from '../errors.ts'
import type { IdempotencyKit } from '../http/idempotency.ts'
import type { Logger } from '../http/log.ts'
import type { Cost } from '../keys/passwords.ts'
import { createPoseidonLog, type PoseidonLog, type PoseidonLogs } from '../ledger/tree/shards.ts'
import { type AgentServices, createAgentServices } from './agents.ts'
import { type ChatServices, createChatServices } from './chat.ts'
import { type Closers, createFoundations, type Foundations, type Tracing } from './foundations.ts'
import { createHostServices, type HostServices } from './hosts.ts'
import { createPeopleServices, type PeopleServices } from './people.ts'
import { createProofServices, type ProofServices } from './proofs.ts'
import { createProvingServices, type ProvingServices } from './proving.ts'
import { readSubjects } from './subjects.ts'

/** What routes use of the foundations. */
type Shared = Pick<
  Foundations,
  | 'clock'
  | 'database'
  | 'logs'
  | 'ledger'
  | 'limits'
  | 'metrics'
  | 'workerPool'
  | 'signers'
  | 'issuer'
  | 'security'
  | 'statuses'
  | 'eventLog'
  | 'accounts'
  | 'disk'
  | 'databaseWrites'
>

export interface Services
  extends Shared,
    ProvingServices,
    AgentServices,
    PeopleServices,
    ProofServices,
    HostServices,
    ChatServices {
  readonly idempotency: IdempotencyKit
  readonly poseidonLogs: PoseidonLogs
  readonly audit: AuditService
  readonly publishedLog: PublishedLog
  readonly terminals: TerminalsService
  readonly payments: PaymentsService
  readonly tokens: TokensService
  readonly eligibility: EligibilityService
  readonly webhooks: WebhooksService
  readonly exports: ExportsService
  readonly system: SystemService
  readonly backups: BackupsService
  readonly pages: Pages
  readonly chatPage: ChatPage
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
  readonly passwordCost?: Cost
  readonly logger: Logger
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing
  /** False while the server starts or drains. */
  readonly isReady: () => boolean
  /** The OpenAPI document. */
  readonly describe: () => Promise<object>
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

/** What follows the committed log and hands it on, copies of all of it, what comes into the log with time, and what reads what earlier versions left. */
const createFollowers = async (
  foundations: Foundations,
  closers: Closers,
): Promise<Pick<Services, 'webhooks' | 'exports' | 'backups'>> => {
  const { config, accounts } = foundations
  readSubjects(foundations, closers)
  const keyEnds = watchKeyEnds(foundations)
  closers.push(() => keyEnds.close())
  const webhooks = await createWebhooks({
    ...foundations,
    keyLabels: accounts.keys.labels,
    endedKeys: accounts.keys.ended,
    egressAllowCidrs: config.egressAllowCidrs,
    egressOpenProxy: config.egressOpenProxy,
    pausesMs: config.webhookPausesMs,
    backlog: config.webhookBacklog,
  })
  closers.push(() => webhooks.close())
  const exports = createExports({
    ...foundations,
    baseUrl: config.baseUrl,
    eventLogBytes: config.eventLogBytes,
  })
  const backups = createBackups(foundations)
  await backups.removeLeft()
  return { webhooks, exports, backups }
}

/** Of each log. Close them before the threads that hash for them. */
const openPoseidonLogs = (foundations: Foundations, closers: Closers): PoseidonLogs => {
  const { workerPool } = foundations
  const hashMany = inTurn(workerPool, workerPool.hash)
  const field = createField()
  const opened = new Map<number, PoseidonLog>()
  const stopListening = foundations.logs.each((number) =>
    opened.set(number, createPoseidonLog({ ...foundations, number, field, hashMany })),
  )
  closers.push(async () => {
    stopListening()
    await Promise.all([...opened.values()].map((log) => log.close()))
  })
  return (number) => opened.get(number) ?? fail('not_found')
}

const systemOf = (
  foundations: Foundations,
  { watchLists }: PeopleServices,
  { isReady, describe }: ServicesOptions,
): SystemService => {
  const { config, database, redis, disk, databaseWrites, databaseAnswers } = foundations
  const { baseUrl, customDomainCname, securityContacts } = config
  return createSystem({
    ...foundations,
    baseUrl,
    customDomainCname,
    securityContacts,
    checks: { database: () => database.ping(), redis: redis && (() => redis.ping()) },
    watchLists: watchLists.states,
    isReady,
    writeRefusal: () =>
      disk.refusal() ?? (databaseAnswers.isAway() ? 'database_unavailable' : databaseWrites.refusal()),
    describe,
  })
}

/** The pages, of which the chat's is made anew as messages come. */
const pagesOf = (
  foundations: Foundations,
  chatServices: ChatServices,
): Pick<Services, 'pages' | 'chatPage'> => {
  const pages = loadPages(foundations.config.baseUrl)
  return { pages, chatPage: createChatPage({ ...foundations, ...chatServices, page: pages.chat }) }
}

const build = async (
  config: Config,
  options: ServicesOptions,
  closers: Closers,
): Promise<Omit<BuiltServices, 'close'>> => {
  const foundations = await createFoundations(config, options, closers)
  const { ledger, sealing } = foundations
  const { baseUrl, passSigners: passes } = config
  const idempotency: IdempotencyKit = {
    mac: (data) => sealing.mac('idempotency', data),
    findAnswer: ledger.findAnswer,
  }
  const audit = createAudit(foundations)
  const publishedLog = createPublishedLog(foundations)
  const terminals = createTerminals({ ...foundations, baseUrl: foundations.config.baseUrl })
  const payments = createPayments({ ...foundations, terminals })
  if (passes?.apple) await loadApplePasses()
  const agentServices = createAgentServices(foundations)
  const { hybridTokens } = agentServices
  const tokens = createTokens({ ...foundations, hybridTokens, baseUrl, passes, nullifiers })
  const provingServices = createProvingServices(foundations, closers)
  const poseidonLogs = openPoseidonLogs(foundations, closers)
  const peopleServices = await createPeopleServices(foundations, closers)
  const proofServices = createProofServices({
    ...foundations,
    ...provingServices,
    ...peopleServices,
    payments,
    terminals,
    tokens,
    hybridTokens,
    poseidonLogs,
  })
  const { proofs } = proofServices
  const hostServices = createHostServices({ ...foundations, ...provingServices }, closers)
  const eligibility = createEligibility({
    ...foundations,
    sources: {
      hermes: hostServices.hermes,
      tokens,
      hybridTokens,
      ...peopleServices,
    },
    proofs,
    tokens,
  })
  const chatServices = await createChatServices({ ...foundations, proofs }, closers)
  const followers = await createFollowers(foundations, closers)
  foundations.embeddedWrites.begin()
  return {
    ...foundations,
    ...provingServices,
    ...agentServices,
    ...peopleServices,
    ...proofServices,
    ...hostServices,
    ...chatServices,
    idempotency,
    audit,
    publishedLog,
    terminals,
    payments,
    poseidonLogs,
    tokens,
    eligibility,
    ...followers,
    system: systemOf(foundations, peopleServices, options),
    ...pagesOf(foundations, chatServices),
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
