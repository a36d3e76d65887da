/**
 * The environment as one frozen, validated value. No other file reads `process.env`.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { type KycProviders, readKycProviders } from './kyc.ts'
import { type PassSigners, readPassSigners } from './passes.ts'
import { keepSecret, readSecret } from './secrets.ts'
import {
  ConfigError,
  type Environment,
  integer,
  list,
  matching,
  oneOf,
  read,
  readCertificates,
  readCidrs,
  thresholds,
  url,
} from './values.ts'

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export const MASTER_KEY_BYTES = 32
const DEFAULT_PORT = 8080
const MAX_PORT = 65_535
const DEFAULT_RATE_LIMIT_PER_MINUTE = 100
const MAX_RATE_LIMIT_PER_MINUTE = 10_000_000
const MAX_PROVER_THREADS = 256
const DEFAULT_PROVER_TABLE_MB = 2
const MAX_PROVER_TABLE_MB = 1024

/** Thresholds of the chat. */
export interface ChatLimits {
  /** Posts of an address (IPv6: a /64). */
  readonly postsPerMinute: number
  readonly postsPerHour: number
  /** Signed posts of one key, wherever they come from. */
  readonly keyPostsPerMinute: number
  /** Reads of an address. */
  readonly readsPerMinute: number
  /** Names that a key, or an address, may bind in a day. */
  readonly namesPerDay: number
}
const DEFAULT_CHAT_LIMITS: ChatLimits = {
  postsPerMinute: 120,
  postsPerHour: 3000,
  keyPostsPerMinute: 300,
  readsPerMinute: 1200,
  namesPerDay: 5,
}

/** How many streams may be open on one server. */
export interface StreamLimits {
  readonly perAddress: number
  readonly total: number
}
const DEFAULT_STREAM_LIMITS: StreamLimits = { perAddress: 100, total: 10_000 }

const POSTING_MODES = ['open', 'paused', 'verified_only'] as const

const DEFAULT_EVENT_LOG_BYTES = 2 ** 30
const MIN_EVENT_LOG_BYTES = 2 ** 20
const MAX_EVENT_LOG_BYTES = 2 ** 40
export interface Config {
  /** 0 lets the system pick a port. */
  readonly port: number
  readonly host: string
  /** Origin of every absolute URL, without a trailing slash. On port 0 it follows the port that was picked. */
  readonly baseUrl: string
  /** Directory of the embedded database and of generated secrets, or `memory`. */
  readonly dataDir: string
  readonly databaseUrl?: string
  readonly redisUrl?: string
  /** 32 bytes; every key that seals data at rest is derived from it. */
  readonly masterKey: Buffer
  readonly adminApiKey?: string
  readonly customDomainCname: string
  readonly metricsToken?: string
  /** Requests per organisation and minute, unless the organisation has its own limit. */
  readonly rateLimitPerMinute: number
  /** False lifts every rate limit. */
  readonly rateLimits: boolean
  readonly chatLimits: ChatLimits
  readonly streamLimits: StreamLimits
  /** Posting mode of the chat until an operator sets another. */
  readonly postingMode: (typeof POSTING_MODES)[number]
  /** Organisations whose word on people counts in the chat: `default` or ids. */
  readonly chatTrustedIssuers: readonly string[]
  /** Networks (CIDR) of reverse proxies whose X-Forwarded-For counts. */
  readonly trustProxy: readonly string[]
  /** How many proofs are made at a time. */
  readonly proverThreads: number
  /** Most memory, in MiB, for tables of one circuit in one prover thread. */
  readonly proverTableMb: number
  /** Directory of artifacts from one's own ceremony; the shipped ones where absent. */
  readonly circuitsDir?: string
  /** Networks (CIDR) beside the public ones that outbound calls with the right to do so may reach. */
  readonly egressAllowCidrs: readonly string[]
  /** Certificates (PEM) that such calls trust besides the usual authorities. */
  readonly egressCa?: string
  /** Whether routes that strangers made may reach those networks. */
  readonly egressOpenProxy: boolean
  /** Pauses (ms) after the first and the second attempt to deliver a webhook. */
  readonly webhookPausesMs: readonly number[]
  /** Deliveries that may wait for one webhook endpoint; beyond it the oldest are dropped. */
  readonly webhookBacklog: number
  /** Ceiling of this server's event log, in bytes. */
  readonly eventLogBytes: number
  /** Resolvers for domain checks, as `address:port`; the system's where empty. */
  readonly dnsServers: readonly string[]
  /** Who signs passes for wallets; absent: nobody. */
  readonly passSigners?: PassSigners
  /** What people are screened against: a directory of watch lists, the list that ships, or what the console uploads alone. */
  readonly amlLists: { readonly directory: string } | 'sample' | 'none'
  /** Those who check people, by name; `internal` is always there. */
  readonly kycProviders: KycProviders
  readonly logLevel: LogLevel
  /** Checks every answer against its schema and fails the request on a difference. For tests. */
  readonly checkResponses: boolean
}

/** `http://HOST:PORT` unless BASE_URL says otherwise. Only an origin: paths of routes are appended to it. */
const readBaseUrl = (env: Environment, host: string, port: number): string => {
  const value = url(env, 'BASE_URL', ['http:', 'https:'])
  if (value === undefined) return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  const { origin, pathname, search, hash, username, port: explicit } = new URL(value)
  if (pathname !== '/' || search || hash || username || explicit === '0') {
    throw new ConfigError(
      'BASE_URL',
      'must be an origin such as https://assay.example, without path or query',
    )
  }
  return origin
}

const readHost = (env: Environment): string => {
  const host = read(env, 'HOST') ?? '127.0.0.1'
  if (!isIP(host) && !/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(host)) {
    throw new ConfigError('HOST', `must be an IP address or a host name, not "${host}"`)
  }
  return host
}

const DEFAULT_WEBHOOK_PAUSES_MS = '1000,10000'
const MAX_WEBHOOK_PAUSE_MS = 3_600_000
/** About 60 MB. */
const DEFAULT_WEBHOOK_BACKLOG = 100_000
/** More than servers hold in their hands. */
const MIN_WEBHOOK_BACKLOG = 1000
const MAX_WEBHOOK_BACKLOG = 10_000_000

/** Two pauses, the second no shorter than the first. */
const readWebhookPauses = (env: Environment): readonly number[] => {
  const value = read(env, 'WEBHOOK_PAUSES_MS') ?? DEFAULT_WEBHOOK_PAUSES_MS
  const [first = Number.NaN, second = Number.NaN, ...more] = list(value).map((part) =>
    /^\d{1,7}$/.test(part) ? Number(part) : Number.NaN,
  )
  if (!(first <= second && second <= MAX_WEBHOOK_PAUSE_MS && more.length === 0)) {
    throw new ConfigError(
      'WEBHOOK_PAUSES_MS',
      `must be two growing numbers of milliseconds up to ${MAX_WEBHOOK_PAUSE_MS}, such as ${DEFAULT_WEBHOOK_PAUSES_MS}`,
    )
  }
  return [first, second]
}

const DEFAULT_DNS_PORT = 53

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. @returns `address:port` */
const readDnsServers = (env: Environment): readonly string[] => {
  const value = read(env, 'DNS_SERVERS')
  if (value === undefined) return []
  return list(value).map((server) => {
    const [, v6, v4, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(server) ?? []
    const address = v6 ?? v4 ?? server
    const version = isIP(address)
    const port = Number(digits ?? DEFAULT_DNS_PORT)
    if (version === 0 || (v6 !== undefined && version !== 6) || port < 1 || port > MAX_PORT) {
      throw new ConfigError(
        'DNS_SERVERS',
        `must be addresses with ports, separated by commas, not "${server}"`,
      )
    }
    return `${version === 6 ? `[${address}]` : address}:${port}`
  })
}

/** A directory, `none`, or by default the list that ships. */
const readAmlLists = (env: Environment): Config['amlLists'] => {
  const value = read(env, 'AML_LISTS')
  if (value === undefined) return 'sample'
  return value === 'none' ? value : { directory: value }
}

const ISSUER = /^(default|org_[0-9A-HJKMNP-TV-Z]{26})$/

/** Ids of organisations, `default` for the operator's, or `none`. */
const readTrustedIssuers = (env: Environment): readonly string[] => {
  const value = read(env, 'CHAT_TRUSTED_ISSUERS') ?? 'default'
  if (value === 'none') return []
  const issuers = list(value)
  if (issuers.length === 0 || !issuers.every((issuer) => ISSUER.test(issuer)))
    throw new ConfigError(
      'CHAT_TRUSTED_ISSUERS',
      "must be ids of organisations (org_…), or default for the operator's, separated by commas; or none",
    )
  return issuers
}

const MASTER_KEY_PATTERN = /^[0-9a-f]{64}$/i

const readMasterKey = (env: Environment, dataDir: string, databaseUrl: string | undefined): Buffer => {
  const given = matching(env, 'MASTER_KEY', MASTER_KEY_PATTERN, 'must be 32 bytes in hexadecimal (64 digits)')
  if (given !== undefined) return Buffer.from(given, 'hex')
  if (databaseUrl !== undefined) {
    throw new ConfigError(
      'MASTER_KEY',
      'must be set when DATABASE_URL is set: every server of that database needs the same key. ' +
        'Make one with: openssl rand -hex 32',
    )
  }
  const kept =
    readSecret(dataDir, 'master.key') ??
    keepSecret(dataDir, 'master.key', randomBytes(MASTER_KEY_BYTES).toString('hex'))
  if (!MASTER_KEY_PATTERN.test(kept)) {
    throw new ConfigError('DATA_DIR', 'holds a master.key that is not 32 bytes in hexadecimal (64 digits)')
  }
  return Buffer.from(kept, 'hex')
}

type Limits = Pick<Config, 'rateLimitPerMinute' | 'rateLimits' | 'chatLimits' | 'streamLimits'>

const readLimits = (env: Environment): Limits => ({
  rateLimitPerMinute: integer(
    env,
    'RATE_LIMIT_PER_MINUTE',
    DEFAULT_RATE_LIMIT_PER_MINUTE,
    1,
    MAX_RATE_LIMIT_PER_MINUTE,
  ),
  rateLimits: oneOf(env, 'RATE_LIMITS', ['on', 'off'], 'on') === 'on',
  chatLimits: thresholds(env, 'CHAT_LIMITS', DEFAULT_CHAT_LIMITS),
  streamLimits: thresholds(env, 'STREAM_LIMITS', DEFAULT_STREAM_LIMITS),
})

/**
 * Reads and checks the environment. Without MASTER_KEY and DATABASE_URL a key is generated and kept in
 * DATA_DIR/master.key (nothing is kept when DATA_DIR is `memory`).
 * @param env variables by name; defaults to the process environment
 * @throws ConfigError naming the variable and its rule
 */
export const loadConfig = (env: Environment = process.env): Config => {
  const port = integer(env, 'PORT', DEFAULT_PORT, 0, MAX_PORT)
  const host = readHost(env)
  const baseUrl = readBaseUrl(env, host, port)
  const dataDir = read(env, 'DATA_DIR') ?? './data'
  const databaseUrl = url(env, 'DATABASE_URL', ['postgres:', 'postgresql:'])
  const hostName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\.?$/i
  return Object.freeze({
    port,
    host,
    baseUrl,
    dataDir,
    databaseUrl,
    redisUrl: url(env, 'REDIS_URL', ['redis:', 'rediss:']),
    adminApiKey: matching(
      env,
      'ADMIN_API_KEY',
      /^(?!mt_)[!-~]{16,128}$/,
      'must be 16 to 128 visible ASCII characters, and not begin with mt_ as terminal tokens do',
    ),
    customDomainCname:
      matching(env, 'CUSTOM_DOMAIN_CNAME', hostName, 'must be a host name') ?? new URL(baseUrl).hostname,
    metricsToken: matching(
      env,
      'METRICS_TOKEN',
      /^[!-~]{1,256}$/,
      'must be 1 to 256 visible ASCII characters',
    ),
    ...readLimits(env),
    postingMode: oneOf(env, 'POSTING_MODE', POSTING_MODES, 'open'),
    chatTrustedIssuers: Object.freeze(readTrustedIssuers(env)),
    trustProxy: Object.freeze(readCidrs(env, 'TRUST_PROXY')),
    // One core is left to everything else.
    proverThreads: integer(
      env,
      'PROVER_THREADS',
      Math.max(1, availableParallelism() - 1),
      1,
      MAX_PROVER_THREADS,
    ),
    proverTableMb: integer(env, 'PROVER_TABLE_MB', DEFAULT_PROVER_TABLE_MB, 0, MAX_PROVER_TABLE_MB),
    circuitsDir: read(env, 'CIRCUITS_DIR'),
    egressAllowCidrs: Object.freeze(readCidrs(env, 'EGRESS_ALLOW_CIDRS')),
    egressCa: readCertificates(env, 'EGRESS_CA_FILE'),
    egressOpenProxy: oneOf(env, 'EGRESS_OPEN_PROXY', ['on', 'off'], 'off') === 'on',
    webhookPausesMs: Object.freeze(readWebhookPauses(env)),
    webhookBacklog: integer(
      env,
      'WEBHOOK_BACKLOG',
      DEFAULT_WEBHOOK_BACKLOG,
      MIN_WEBHOOK_BACKLOG,
      MAX_WEBHOOK_BACKLOG,
    ),
    eventLogBytes: integer(
      env,
      'EVENT_LOG_BYTES',
      DEFAULT_EVENT_LOG_BYTES,
      MIN_EVENT_LOG_BYTES,
      MAX_EVENT_LOG_BYTES,
    ),
    dnsServers: Object.freeze(readDnsServers(env)),
    passSigners: readPassSigners(env),
    amlLists: readAmlLists(env),
    kycProviders: readKycProviders(env),
    logLevel: oneOf(env, 'LOG_LEVEL', LOG_LEVELS, 'info'),
    checkResponses: false,
    // Last, so that nothing is generated for an environment that is refused.
    masterKey: readMasterKey(env, dataDir, databaseUrl),
  })
}
