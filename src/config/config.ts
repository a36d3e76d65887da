/**
 * The environment as one frozen, validated value. No other file reads `process.env`.
 * @module
 */
import { randomBytes, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import {
  judgeWitnesses,
  readWitnessPolicy,
  type WitnessPolicy,
} from '../protocol/checkpoint/witness-policy.ts'
import { ConfigError, type ConfigFault } from './config-error.ts'
import { readCredentialCertificate } from './credential-certificate.ts'
import { type Environment, readDnsServer, readEnvironment, type Variables } from './environment.ts'
import { readPassSigners } from './passes.ts'
import { keepSecret, readSecret } from './secrets.ts'

const MASTER_KEY_BYTES = 32

/** Thresholds of the chat: posts of an address (IPv6: a /64), signed posts of one key, reads, and names bound in a day. */
export type ChatLimits = Variables['CHAT_LIMITS']
/** How many streams may be open on one server. */
export type StreamLimits = Variables['STREAM_LIMITS']
/** By name. */
export type KycProviders = Variables['KYC_PROVIDERS']

/** What people are screened against: a directory of watch lists, the list that ships, or what the console uploads alone. */
type AmlLists = { readonly directory: string } | 'sample' | 'none'
const amlListsOf = (value: string | undefined): AmlLists => {
  if (value === undefined) return 'sample'
  return value === 'none' ? value : { directory: value }
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** @returns the certificates of the file, and nothing else that stands in it @throws ConfigError */
const readCertificates = (file: string): string => {
  try {
    const found = readFileSync(file, 'utf8').match(PEM_CERTIFICATE) ?? []
    if (found.length === 0) throw new Error('there is none')
    for (const pem of found) new X509Certificate(pem)
    return `${found.join('\n')}\n`
  } catch (error) {
    const rule = `must be a file with certificates in PEM: ${String(error)}`
    throw new ConfigError({ variable: 'EGRESS_CA_FILE', rule })
  }
}

/** @returns a policy whose quorum can be met by witnesses that can be asked @throws ConfigError */
const readPolicy = (file: string): WitnessPolicy => {
  const refuse = (why: string): never => {
    throw new ConfigError({ variable: 'WITNESS_POLICY', rule: `must be a file with a tlog-policy: ${why}` })
  }
  let policy: WitnessPolicy
  try {
    policy = readWitnessPolicy(readFileSync(file, 'utf8'))
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
  if (policy.quorum === undefined) return refuse('its quorum is none, and nobody would be asked')
  const none = new Uint8Array()
  const all = policy.witnesses
    .filter(({ url }) => url !== undefined)
    .flatMap(({ keys }) => keys.map((key) => ({ key, time: 1, message: none, signature: none })))
  if (!judgeWitnesses(policy, all).isMet)
    return refuse('its quorum needs witnesses of which it does not say where they are')
  return policy
}

/** File of DATA_DIR that holds the key where MASTER_KEY is unset. */
export const MASTER_KEY_FILE = 'master.key'

/** @param mayMake whether a key is made where there is none @throws ConfigError where there is no key and none is made */
const readMasterKey = ({ MASTER_KEY, DATA_DIR }: Variables, mayMake: boolean): Buffer => {
  const known = MASTER_KEY ?? readSecret(DATA_DIR, MASTER_KEY_FILE)
  if (known === undefined && !mayMake) {
    const rule = `must be set, or ${MASTER_KEY_FILE} must be in DATA_DIR: a new key opens nothing that is there already`
    throw new ConfigError({ variable: 'MASTER_KEY', rule })
  }
  const kept = known ?? keepSecret(DATA_DIR, MASTER_KEY_FILE, randomBytes(MASTER_KEY_BYTES).toString('hex'))
  if (/^[0-9a-f]{64}$/i.test(kept)) return Buffer.from(kept, 'hex')
  const rule = `holds a ${MASTER_KEY_FILE} that is not 32 bytes in hexadecimal (64 digits)`
  throw new ConfigError({ variable: 'DATA_DIR', rule })
}

const KEY_NEEDED: ConfigFault = {
  variable: 'MASTER_KEY',
  rule:
    'must be set when DATABASE_URL is set: every server of that database needs the same key. ' +
    'Make one with: openssl rand -hex 32',
}

/** What variables that name files name. Faults are added to `faults`. */
const readFiles = (
  { BASE_URL, CREDENTIAL_CERTIFICATE, EGRESS_CA_FILE, PASS_CERTIFICATES, WITNESS_POLICY }: Variables,
  faults: ConfigFault[],
) => {
  const read = <T>(file: string | undefined, reader: (file: string) => T): T | undefined => {
    try {
      return file === undefined ? undefined : reader(file)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      faults.push(...error.faults)
      return undefined
    }
  }
  return {
    /** Certificates (PEM) that outbound calls with the right trust besides the usual authorities. */
    egressCa: read(EGRESS_CA_FILE, readCertificates),
    /** What signs credentials for wallets; absent: a key of the service's own. */
    credentialCertificate: read(CREDENTIAL_CERTIFICATE, (file) => readCredentialCertificate(file, BASE_URL)),
    /** Who signs passes for wallets; absent: nobody. */
    passSigners: read(PASS_CERTIFICATES, readPassSigners),
    /** Who must cosign checkpoints, and where they are asked; absent: nobody is. */
    witnessPolicy: read(WITNESS_POLICY, readPolicy),
  }
}

/** A single address is its own network. */
const asCidr = (text: string): string =>
  text.includes('/') ? text : `${text}/${isIP(text) === 4 ? 32 : 128}`

const deepFreeze = <T extends object>(value: T): T => {
  for (const member of Object.values(value))
    if (Array.isArray(member) || member?.constructor === Object) deepFreeze(member)
  return Object.freeze(value)
}

/** Of a provider all is needed, or nothing. */
const oidcOf = (
  {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_NAME: name,
  }: Variables,
  faults: ConfigFault[],
) => {
  const needed = Object.entries({
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
  })
  const [given] = needed.find(([, value]) => value !== undefined) ?? []
  if (given === undefined) return undefined
  for (const [variable, value] of needed)
    if (value === undefined) faults.push({ variable, rule: `must be set when ${given} is set` })
  return { issuer: issuer ?? '', clientId: clientId ?? '', clientSecret: clientSecret ?? '', name }
}

/** {@link VARIABLES} says what each means; here is only what is made of it. */
const settingsOf = (values: Variables) => {
  const { HOST: host, PORT: port } = values
  const origin = values.BASE_URL ?? `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  return {
    port,
    host,
    /** Without a trailing slash. On port 0 it follows the port that was picked. */
    baseUrl: values.BASE_URL === undefined ? origin : new URL(origin).origin,
    dataDir: values.DATA_DIR,
    databaseUrl: values.DATABASE_URL,
    /** Whether a start brings the schema of the database up to date. */
    migrate: values.MIGRATE,
    redisUrl: values.REDIS_URL,
    /** How many logs there are to be. */
    logShards: values.LOG_SHARDS,
    adminApiKey: values.ADMIN_API_KEY,
    customDomainCname: values.CUSTOM_DOMAIN_CNAME ?? new URL(origin).hostname,
    metricsToken: values.METRICS_TOKEN,
    securityContacts: values.SECURITY_CONTACT,
    rateLimitPerMinute: values.RATE_LIMIT_PER_MINUTE,
    rateLimits: values.RATE_LIMITS,
    chatLimits: values.CHAT_LIMITS,
    streamLimits: values.STREAM_LIMITS,
    postingMode: values.POSTING_MODE,
    chatTrustedIssuers: values.CHAT_TRUSTED_ISSUERS,
    trustProxy: values.TRUST_PROXY.map(asCidr),
    proverThreads: values.PROVER_THREADS,
    proverTableMb: values.PROVER_TABLE_MB,
    circuitsDir: values.CIRCUITS_DIR,
    egressAllowCidrs: values.EGRESS_ALLOW_CIDRS.map(asCidr),
    egressOpenProxy: values.EGRESS_OPEN_PROXY,
    webhookPausesMs: values.WEBHOOK_PAUSES_MS,
    webhookBacklog: values.WEBHOOK_BACKLOG,
    eventLogBytes: values.EVENT_LOG_BYTES,
    dnsServers: values.DNS_SERVERS.map((server) => readDnsServer(server) ?? server),
    /** Pause between two checkpoints that witnesses are shown, and the greatest age of the newest that they have cosigned. */
    witnessIntervalMs: 1000 * values.WITNESS_INTERVAL_SECONDS,
    witnessMaxAgeMs: 1000 * values.WITNESS_MAX_AGE_SECONDS,
    amlLists: amlListsOf(values.AML_LISTS),
    kycProviders: values.KYC_PROVIDERS,
    logLevel: values.LOG_LEVEL,
    /** Where traces and metrics go, and which; absent: nowhere. */
    telemetry:
      values.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? undefined
        : {
            endpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
            sampleRatio: Number(values.OTEL_TRACES_SAMPLER_ARG),
            metricsIntervalMs: values.OTEL_METRIC_EXPORT_INTERVAL,
          },
    /** Checks every answer against its schema and fails the request on a difference. For tests. */
    checkResponses: false as boolean,
  }
}

export type Config = Readonly<ReturnType<typeof settingsOf> & ReturnType<typeof readFiles>> & {
  /** The identity provider that people may sign in with; absent: none. */
  readonly oidc: ReturnType<typeof oidcOf>
  /** 32 bytes; every key that seals data at rest is derived from it. */
  readonly masterKey: Buffer
}

/** Reads what variables say, and what the files hold that they name, with all that keeps a server from starting so. */
const examine = (env: Environment) => {
  const { values, faults } = readEnvironment(env)
  const files = readFiles(values, faults)
  const oidc = oidcOf(values, faults)
  if (values.WITNESS_MAX_AGE_SECONDS < 2 * values.WITNESS_INTERVAL_SECONDS)
    faults.push({
      variable: 'WITNESS_MAX_AGE_SECONDS',
      rule: 'must be at least twice WITNESS_INTERVAL_SECONDS',
    })
  if (values.BASE_URL === undefined && isIP(values.HOST) === 6 && values.HOST.includes('%'))
    faults.push({
      variable: 'BASE_URL',
      rule: 'must be set when HOST has a zone, such as fe80::1%eth0: no URL can have one',
    })
  const isKeyNeeded = values.DATABASE_URL !== undefined && values.MASTER_KEY === undefined
  if (isKeyNeeded) faults.push(KEY_NEEDED)
  return { values, files, oidc, faults }
}

/** What {@link loadConfig} would refuse of the environment; nothing is generated. @param env variables by name */
export const configFaults = (env: Environment): readonly ConfigFault[] => examine(env).faults

/**
 * Reads and checks the environment. Without MASTER_KEY and DATABASE_URL a key is generated and kept in
 * DATA_DIR/master.key (nothing is kept when DATA_DIR is `memory`).
 * @param env variables by name; defaults to the process environment
 * @param options.makesKey false: a missing key is not generated
 * @throws ConfigError naming every variable that breaks its rule
 */
export const loadConfig = (
  env: Environment = process.env,
  { makesKey = true }: { readonly makesKey?: boolean } = {},
): Config => {
  const { values, files, oidc, faults } = examine(env)
  if (faults.length > 0) throw new ConfigError(...faults)
  // Last, so that nothing is generated for an environment that is refused.
  return deepFreeze({ ...settingsOf(values), ...files, oidc, masterKey: readMasterKey(values, makesKey) })
}
