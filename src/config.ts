/**
 * The environment as one frozen, validated value. No other file reads `process.env`.
 * @module
 */
import { randomBytes, X509Certificate } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

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
  /** Names that a key, or an address, may claim in a day. */
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
const MAX_THRESHOLD = 1_000_000_000

const POSTING_MODES = ['open', 'paused', 'verified_only'] as const

const DEFAULT_EVENT_LOG_BYTES = 2 ** 30
const MIN_EVENT_LOG_BYTES = 2 ** 20
const MAX_EVENT_LOG_BYTES = 2 ** 40
/** DATA_DIR with this value keeps nothing on disk. */
export const MEMORY_DATA_DIR = 'memory'

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
  /** Ceiling of this server's event log, in bytes. */
  readonly eventLogBytes: number
  /** Resolvers for domain checks, as `address:port`; the system's where empty. */
  readonly dnsServers: readonly string[]
  readonly logLevel: LogLevel
  /** Checks every answer against its schema and fails the request on a difference. For tests. */
  readonly checkResponses: boolean
}

/** A variable breaks its rule. The message names the variable and the rule, never a secret value. */
export class ConfigError extends Error {
  readonly variable: string
  constructor(variable: string, rule: string) {
    super(`${variable} ${rule}`)
    this.name = 'ConfigError'
    this.variable = variable
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** An empty variable counts as unset. */
const read = (env: Environment, name: string): string | undefined => env[name] || undefined

const matching = (env: Environment, name: string, pattern: RegExp, rule: string): string | undefined => {
  const value = read(env, name)
  if (value !== undefined && !pattern.test(value)) throw new ConfigError(name, rule)
  return value
}

const integer = (env: Environment, name: string, fallback: number, min: number, max: number): number => {
  const value = read(env, name)
  if (value === undefined) return fallback
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  if (!(number >= min && number <= max)) {
    throw new ConfigError(name, `must be a whole number from ${min} to ${max}, not "${value}"`)
  }
  return number
}

const oneOf = <T extends string>(env: Environment, name: string, values: readonly T[], fallback: T): T => {
  const value = read(env, name)
  if (value === undefined) return fallback
  const found = values.find((allowed) => allowed === value)
  if (found === undefined) throw new ConfigError(name, `must be one of ${values.join(', ')}, not "${value}"`)
  return found
}

/** A JSON object of positive whole numbers; what it does not name keeps its default. */
const thresholds = <T extends { readonly [K in keyof T]: number }>(
  env: Environment,
  name: string,
  defaults: T,
): T => {
  const value = read(env, name)
  if (value === undefined) return defaults
  const names = Object.keys(defaults)
  const rule = `must be a JSON object with whole numbers from 1 to ${MAX_THRESHOLD} for any of ${names.join(', ')}`
  let given: unknown
  try {
    given = JSON.parse(value)
  } catch {
    throw new ConfigError(name, rule)
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new ConfigError(name, rule)
  for (const [key, limit] of Object.entries(given)) {
    if (!names.includes(key) || !Number.isInteger(limit) || limit < 1 || limit > MAX_THRESHOLD)
      throw new ConfigError(name, rule)
  }
  return Object.freeze({ ...defaults, ...given })
}

const url = (env: Environment, name: string, protocols: readonly string[]): string | undefined => {
  const value = read(env, name)
  if (value === undefined) return undefined
  // The value may hold a password, so it is not repeated in the message.
  if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
    throw new ConfigError(
      name,
      `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    )
  }
  return value
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

const isCidr = (text: string): boolean => {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

const list = (value: string): string[] => value.split(',').map((part) => part.trim())

/** A single address counts as its own network. */
const readCidrs = (env: Environment, name: string): readonly string[] => {
  const value = read(env, name)
  if (value === undefined || value === 'off') return []
  return list(value).map((cidr) => {
    if (!isCidr(cidr)) throw new ConfigError(name, `must be CIDRs separated by commas, not "${cidr}"`)
    return cidr.includes('/') ? cidr : `${cidr}/${isIP(cidr) === 4 ? 32 : 128}`
  })
}

const DEFAULT_WEBHOOK_PAUSES_MS = '1000,10000'
const MAX_WEBHOOK_PAUSE_MS = 3_600_000

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

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** @returns the certificates of the file, and nothing else that stands in it */
const readCertificates = (env: Environment, name: string): string | undefined => {
  const file = read(env, name)
  if (file === undefined) return undefined
  try {
    const found = readFileSync(file, 'utf8').match(PEM_CERTIFICATE) ?? []
    if (found.length === 0) throw new Error('there is none')
    for (const pem of found) new X509Certificate(pem)
    return `${found.join('\n')}\n`
  } catch (error) {
    throw new ConfigError(name, `must be a file with certificates in PEM: ${String(error)}`)
  }
}

const isErrno = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** Reads a secret kept in DATA_DIR. @returns undefined where there is none, or where nothing is kept */
export const readSecret = (dataDir: string, name: string): string | undefined => {
  if (dataDir === MEMORY_DATA_DIR) return undefined
  try {
    return readFileSync(join(dataDir, name), 'utf8').trim() || undefined
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw new ConfigError('DATA_DIR', `holds an unreadable ${name}: ${String(error)}`)
  }
}

/** Makes the names in a directory survive a power cut: what is sealed under a lost key is lost with it. */
const keepEntry = (directory: string): void => {
  const handle = openSync(directory, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Keeps a secret in DATA_DIR, mode 0600. The first writer wins: the file appears with its whole content or not at all.
 * @returns the secret that is kept now, which is another's if another process was first
 * @throws ConfigError when DATA_DIR can't be written to, or holds an empty file of that name
 */
export const keepSecret = (dataDir: string, name: string, secret: string): string => {
  if (dataDir === MEMORY_DATA_DIR) return secret
  const file = join(dataDir, name)
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    writeFileSync(draft, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
    chmodSync(draft, 0o600)
    try {
      linkSync(draft, file)
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error
    } finally {
      rmSync(draft)
    }
    keepEntry(dataDir)
  } catch (error) {
    throw new ConfigError('DATA_DIR', `must be a directory that can be written to: ${String(error)}`)
  }
  const kept = readSecret(dataDir, name)
  if (kept === undefined)
    throw new ConfigError('DATA_DIR', `holds an empty ${name}; restore it, or remove it`)
  return kept
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
    postingMode: oneOf(env, 'POSTING_MODE', POSTING_MODES, 'open'),
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
    eventLogBytes: integer(
      env,
      'EVENT_LOG_BYTES',
      DEFAULT_EVENT_LOG_BYTES,
      MIN_EVENT_LOG_BYTES,
      MAX_EVENT_LOG_BYTES,
    ),
    dnsServers: Object.freeze(readDnsServers(env)),
    logLevel: oneOf(env, 'LOG_LEVEL', LOG_LEVELS, 'info'),
    checkResponses: false,
    // Last, so that nothing is generated for an environment that is refused.
    masterKey: readMasterKey(env, dataDir, databaseUrl),
  })
}
