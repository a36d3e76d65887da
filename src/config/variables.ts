/**
 * Every variable of the environment: what it is for, its default and its limits, by area. README.md has the same table,
 * which a test compares. A value is read by the type of its schema: whole numbers, `on` and `off`, lists separated by
 * commas, objects in JSON, texts. Beyond JSON Schema a schema says:
 * - `rule`: what the value must be, for the message, where the other keywords don't say it
 * - `secret`: no message repeats the value
 * - `unset`: what holds where there is no value, in words, for the table
 * - `noneIs`: the text that stands for the empty list
 * @module
 */
import { availableParallelism } from 'node:os'
import Type from 'typebox'
import { MAX_LOGS } from '../protocol/log-heads.ts'

const MAX_LIMIT = 1_000_000_000

/** Limits as JSON; what it does not name keeps its default. */
const limits = <const T extends Readonly<Record<string, number>>>(
  defaults: T,
  options: { readonly description: string; readonly unset?: string },
) => {
  const limit = (usual: number) => Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: usual })
  const members = Object.fromEntries(Object.entries(defaults).map(([name, usual]) => [name, limit(usual)]))
  const names = Object.keys(defaults).join(', ')
  return Type.Unsafe<{ readonly [K in keyof T]: number }>(
    Type.Object(members, {
      ...options,
      additionalProperties: false,
      default: {},
      rule: `must be a JSON object with whole numbers from 1 to ${MAX_LIMIT} for any of ${names}`,
    }),
  )
}

/** Networks; a single address counts as its own. */
const cidrs = (description: string) =>
  Type.Array(Type.String({ format: 'cidr' }), {
    description,
    default: [],
    noneIs: 'off',
    rule: 'must be CIDRs separated by commas',
  })

const HOST_NAME = '^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?[.]?$'

const SERVING = {
  PORT: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 8080,
    description: 'where to listen; 0 picks a port',
  }),
  HOST: Type.String({
    format: 'host',
    default: '127.0.0.1',
    description: 'address to listen on',
    rule: 'must be an IP address or a host name',
  }),
  BASE_URL: Type.Optional(
    Type.String({
      format: 'origin',
      unset: 'http://HOST:PORT',
      description: 'used for every absolute URL; the Host header never is',
      rule: 'must be an origin such as https://assay.example, with http:// or https://, without path or query',
      secret: true,
    }),
  ),
  SECURITY_CONTACT: Type.Array(Type.String({ format: 'contact' }), {
    default: [],
    description:
      'whom to tell about a weakness, for `/.well-known/security.txt` (RFC 9116): addresses that begin with mailto:, https:// or tel:, separated by commas',
    rule: 'must be addresses that begin with mailto:, https:// or tel:, separated by commas',
  }),
  TRUST_PROXY: cidrs('CIDRs of reverse proxies whose X-Forwarded-For counts, separated by commas, or `off`'),
  RATE_LIMIT_PER_MINUTE: Type.Integer({
    minimum: 1,
    maximum: 10_000_000,
    default: 100,
    description:
      'requests of an organisation, and of each of its terminals, unless it has its own limit ([docs/interface.md](docs/interface.md#how-much-may-be-asked))',
  }),
  RATE_LIMITS: Type.Boolean({
    default: true,
    description:
      '`off` lifts every limit but the brake on guessing passwords and terminal secrets; for benchmarks',
  }),
  LOG_LEVEL: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    default: 'info',
    description: 'fatal, error, warn, info, debug, trace, silent',
  }),
}

const STORAGE = {
  DATA_DIR: Type.String({
    default: './data',
    description:
      "embedded database, generated secrets, the log's high-water mark; `memory` keeps nothing on disk",
  }),
  DATABASE_URL: Type.Optional(
    Type.String({
      format: 'postgres-url',
      unset: 'embedded database in DATA_DIR',
      description: 'PostgreSQL ≥ 14',
      rule: 'must be a URL that starts with postgres:// or postgresql://',
      secret: true,
    }),
  ),
  MIGRATE: Type.Boolean({
    default: true,
    description:
      '`off`: the server refuses to start on a database whose schema is older, which `npx assay migrate` brings up to date ([docs/operations.md](docs/operations.md#upgrade))',
  }),
  REDIS_URL: Type.Optional(
    Type.String({
      format: 'redis-url',
      unset: 'in this process',
      description:
        'Redis ≥ 6.2: rate limits, revocations that hold on all servers at once, look-ups of keys and sessions shared between them (sealed)',
      rule: 'must be a URL that starts with redis:// or rediss://',
      secret: true,
    }),
  ),
  LOG_SHARDS: Type.Integer({
    minimum: 1,
    maximum: MAX_LOGS,
    default: 1,
    description:
      'logs that organisations are spread over, each with a head of its own; may grow, never shrink ([docs/scaling.md](docs/scaling.md#many-logs))',
  }),
  EVENT_LOG_BYTES: Type.Integer({
    minimum: 2 ** 20,
    maximum: 2 ** 40,
    default: 2 ** 30,
    unset: '1 GiB',
    description: 'ceiling of the event log in DATA_DIR, which exports read; the oldest rolls off',
  }),
}

const SECRETS = {
  MASTER_KEY: Type.Optional(
    Type.String({
      pattern: '^[0-9A-Fa-f]{64}$',
      unset: 'generated in DATA_DIR/master.key',
      description: '32 bytes in hex that seal what is kept at rest; required with DATABASE_URL',
      rule: 'must be 32 bytes in hexadecimal (64 digits)',
      secret: true,
    }),
  ),
  ADMIN_API_KEY: Type.Optional(
    Type.String({
      pattern: '^[!-~]{16,128}$',
      not: { pattern: '^mt_' },
      unset: 'generated in DATA_DIR/admin.key',
      description:
        '16–128 visible ASCII characters, not beginning with `mt_`; admin of organisation `default`',
      rule: 'must be 16 to 128 visible ASCII characters, and not begin with mt_ as terminal tokens do',
      secret: true,
    }),
  ),
  METRICS_TOKEN: Type.Optional(
    Type.String({
      pattern: '^[!-~]{1,256}$',
      unset: 'open',
      description: 'closes `/metrics`',
      rule: 'must be 1 to 256 visible ASCII characters',
      secret: true,
    }),
  ),
}

const SIGN_IN = {
  OIDC_ISSUER: Type.Optional(
    Type.String({
      format: 'issuer',
      description:
        'identity provider (OpenID Connect) that people may sign in to the console with ([docs/sign-in.md](docs/sign-in.md))',
      rule: 'must be a URL that starts with https:// (of this machine also http://), without user, query or fragment',
    }),
  ),
  OIDC_CLIENT_ID: Type.Optional(
    Type.String({
      pattern: '^[ -~]{1,512}$',
      description: 'id of the service at that provider',
      rule: 'must be 1 to 512 ASCII characters',
    }),
  ),
  OIDC_CLIENT_SECRET: Type.Optional(
    Type.String({
      pattern: '^[ -~]{1,1024}$',
      description: 'its secret there',
      rule: 'must be 1 to 1024 ASCII characters',
      secret: true,
    }),
  ),
  OIDC_NAME: Type.String({
    pattern: '^.{1,50}$',
    default: 'single sign-on',
    description: 'what the button says after “Sign in with”',
    rule: 'must have 1 to 50 characters',
  }),
}

const CHAT = {
  CHAT_TRUSTED_ISSUERS: Type.Array(Type.String({ pattern: '^(default|org_[0-9a-z]{26})$' }), {
    default: ['default'],
    noneIs: 'none',
    description:
      "organisations whose word on people counts in the chat under `verified_only`: ids, `default` for the operator's, separated by commas; or `none`",
    rule: "must be ids of organisations (org_…), or default for the operator's, separated by commas; or none",
  }),
  CHAT_LIMITS: limits(
    { postsPerMinute: 120, postsPerHour: 3000, keyPostsPerMinute: 300, readsPerMinute: 1200, namesPerDay: 5 },
    {
      unset: 'see [docs/chat.md](docs/chat.md)',
      description:
        'thresholds as JSON, such as `{"postsPerMinute": 60}`: `postsPerMinute`, `postsPerHour`, `keyPostsPerMinute`, `readsPerMinute`, `namesPerDay`',
    },
  ),
  STREAM_LIMITS: limits(
    { perAddress: 100, total: 10_000 },
    {
      unset: '`{"perAddress": 100, "total": 10000}`',
      description: 'open streams of one address, and of one server',
    },
  ),
  POSTING_MODE: Type.Enum(['open', 'paused', 'verified_only'], {
    default: 'open',
    description: '`open`, `paused` or `verified_only`, until an operator sets another',
  }),
}

const MAX_WEBHOOK_PAUSE_MS = 3_600_000

const WEBHOOKS = {
  WEBHOOK_PAUSES_MS: Type.Array(Type.Integer({ minimum: 0, maximum: MAX_WEBHOOK_PAUSE_MS }), {
    minItems: 2,
    maxItems: 2,
    isGrowing: true,
    default: [1000, 10_000],
    description: 'pauses after the first and the second failed attempt of a delivery',
    rule: `must be two growing numbers of milliseconds up to ${MAX_WEBHOOK_PAUSE_MS}, such as 1000,10000`,
  }),
  // The least is more than servers hold in their hands; the default takes about 60 MB.
  WEBHOOK_BACKLOG: Type.Integer({
    minimum: 1000,
    maximum: 10_000_000,
    default: 100_000,
    description: 'deliveries that may wait for one endpoint; beyond it the oldest are dropped and counted',
  }),
}

const PROVING = {
  // One core is left to everything else.
  PROVER_THREADS: Type.Integer({
    minimum: 1,
    maximum: 256,
    default: Math.max(1, availableParallelism() - 1),
    unset: 'cores − 1, at least 1',
    description: 'worker threads that prove',
  }),
  PROVER_TABLE_MB: Type.Integer({
    minimum: 0,
    maximum: 1024,
    default: 8,
    description:
      'most memory (MiB) for the tables of one circuit on one of these threads. Above 2, they are made in the background for the circuits used last, with all threads’ copies within 64 MiB',
  }),
  CIRCUITS_DIR: Type.Optional(
    Type.String({
      unset: 'the shipped keys',
      description: 'circuit keys of your own ceremony ([docs/ceremony.md](docs/ceremony.md))',
    }),
  ),
}

const MAX_PROVIDERS = 32

/** Somebody who checks people over HTTPS; docs/kyc.md has the contract. */
const KycProvider = Type.Object(
  {
    // Asked with personal data and a key, so never in the clear.
    url: Type.String({ format: 'https-url' }),
    apiKey: Type.String({ pattern: '^[!-~]{1,512}$' }),
  },
  { additionalProperties: false },
)

const PEOPLE = {
  KYC_PROVIDERS: Type.Record(Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$' }), KycProvider, {
    additionalProperties: false,
    maxProperties: MAX_PROVIDERS,
    // The service itself.
    propertyNames: { not: { const: 'internal' } },
    default: {},
    unset: 'unset',
    description:
      '`{"name": {"url": "https://…", "apiKey": "…"}}`: who checks people beyond level basic ([docs/kyc.md](docs/kyc.md))',
    rule:
      `must be a JSON object of up to ${MAX_PROVIDERS} providers, {"name": {"url": "https://…", "apiKey": "…"}}; names ` +
      'have up to 32 of a-z, 0-9, _ and -, begin with a letter and are not internal',
    secret: true,
  }),
  AML_LISTS: Type.Optional(
    Type.String({
      unset: 'a fictional sample',
      description: 'directory of watch lists, or `none` ([docs/aml.md](docs/aml.md))',
    }),
  ),
  CREDENTIAL_CERTIFICATE: Type.Optional(
    Type.String({
      description:
        'PEM file with the key (P-256) and certificates that sign credentials for wallets ([docs/kyc.md](docs/kyc.md)); needs an https BASE_URL',
    }),
  ),
  PASS_CERTIFICATES: Type.Optional(
    Type.String({
      description:
        'directory with what signs wallet passes ([docs/tokens.md](docs/tokens.md)); without it they are 501',
    }),
  ),
}

const OUTBOUND = {
  EGRESS_ALLOW_CIDRS: cidrs(
    'private ranges that outbound calls with the right may reach, as CIDRs, or `off`',
  ),
  EGRESS_CA_FILE: Type.Optional(Type.String({ description: 'extra certificates (PEM) for those calls' })),
  EGRESS_OPEN_PROXY: Type.Boolean({
    default: false,
    description: '`on` lets routes made by strangers reach those ranges too',
  }),
  DNS_SERVERS: Type.Array(Type.String({ format: 'dns-server' }), {
    default: [],
    unset: 'system',
    description: '`address:port,…` for domain checks and outbound calls',
    rule: 'must be addresses with ports, separated by commas',
  }),
  CUSTOM_DOMAIN_CNAME: Type.Optional(
    Type.String({
      pattern: HOST_NAME,
      unset: 'host of BASE_URL',
      description: 'where custom domains point',
      rule: 'must be a host name',
    }),
  ),
}

const WITNESSES = {
  WITNESS_POLICY: Type.Optional(
    Type.String({
      description:
        'file that says which witnesses must cosign checkpoints of the log, and where they are (C2SP tlog-policy; [docs/witnesses.md](docs/witnesses.md))',
    }),
  ),
  WITNESS_INTERVAL_SECONDS: Type.Integer({
    minimum: 1,
    maximum: 3600,
    default: 10,
    description: 'pause between two checkpoints that they are shown',
  }),
  WITNESS_MAX_AGE_SECONDS: Type.Integer({
    minimum: 10,
    maximum: 86_400,
    default: 600,
    description:
      'greatest age of the newest witnessed checkpoint; beyond it health is `degraded`, and `/checkpoint` no longer waits for witnesses',
  }),
}

const TELEMETRY = {
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    Type.String({
      format: 'collector-url',
      unset: 'nothing is sent',
      description:
        'OpenTelemetry collector (OTLP over HTTP) that traces and metrics are sent to ([docs/telemetry.md](docs/telemetry.md))',
      rule: 'must be a URL that starts with http:// or https://, without user, query or fragment',
      secret: true,
    }),
  ),
  OTEL_TRACES_SAMPLER_ARG: Type.String({
    pattern: '^(0([.][0-9]{1,6})?|1([.]0{1,6})?)$',
    default: '1',
    description: 'which part of all traces is sent, from 0 to 1',
    rule: 'must be a number from 0 to 1',
  }),
  OTEL_METRIC_EXPORT_INTERVAL: Type.Integer({
    minimum: 1000,
    maximum: 3_600_000,
    default: 60_000,
    description: 'milliseconds between two exports of metrics',
  }),
}

export const VARIABLES = Type.Object({
  ...SERVING,
  ...STORAGE,
  ...SECRETS,
  ...SIGN_IN,
  ...CHAT,
  ...WEBHOOKS,
  ...PROVING,
  ...PEOPLE,
  ...OUTBOUND,
  ...WITNESSES,
  ...TELEMETRY,
})
