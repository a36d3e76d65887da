/**
 * The service's own state: what it is, whether it is well, what it has measured.
 * @module
 */
import { type Clock, iso } from '../../clock.ts'
import type { Witnessing, WitnessingState } from '../../ledger/checkpoints/witnessing.ts'
import type { MetricFamily, Metrics, WatchListState } from '../../metrics.ts'
import type { Health, Readiness, ServiceInfo } from './schemas.ts'

export const SERVICE_VERSION = '1.0.0'
export const ENGINE = { name: 'assay-core', version: '1.0.0' } as const

/** Terminals probe every few milliseconds; the parts are looked at this often at most. */
const HEALTH_CACHE_MS = 250
/** A part that does not answer within this time is away. */
const CHECK_TIMEOUT_MS = 2000

/** Resolves when the part answers. */
export type Check = () => Promise<unknown>

export interface SystemDeps {
  readonly baseUrl: string
  readonly customDomainCname: string
  /** Whom to tell about a weakness: URIs. */
  readonly securityContacts: readonly string[]
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'text' | 'json'>
  readonly checks: { readonly database: Check; readonly redis?: Check }
  /** How the watch lists are. */
  readonly watchLists: () => readonly WatchListState[]
  /** How checkpoints are witnessed; absent where there is no policy. */
  readonly witnessing?: Pick<Witnessing, 'state'>
  /** False while the server starts or drains. */
  readonly isReady: () => boolean
  /** Why nothing can be written at the moment: the disk of DATA_DIR or of the database is full, it is read only or fails, or the database is away. */
  readonly writeRefusal: () => Readiness['reason']
  /** The OpenAPI document; asked for once. */
  readonly describe: () => Promise<object>
}

export interface SystemService {
  info(): ServiceInfo
  health(): Promise<Health>
  readiness(): Readiness
  /** The file of RFC 9116; undefined where nobody is named. */
  securityTxt(): string | undefined
  metricsText(): Promise<string>
  metricsJson(): Promise<{ metrics: readonly MetricFamily[] }>
  /** The OpenAPI document, as JSON; the same bytes for everybody, since it is large. */
  openapi(): Promise<Uint8Array>
}

/** @returns milliseconds it took, undefined when the part failed or did not answer in time */
const timed = async (check: Check): Promise<number | undefined> => {
  const startedAt = performance.now()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), CHECK_TIMEOUT_MS)
  })
  try {
    await Promise.race([check(), late])
    return performance.now() - startedAt
  } catch {
    // Why is not for the public; whoever uses the part logs it.
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

const watchListHealth = (states: readonly WatchListState[]): Health['watchLists'] => {
  const failed = states.filter(({ isFailed }) => isFailed)
  const isMissing = failed.some(({ entries }) => entries === 0)
  const status = failed.length === 0 ? 'current' : isMissing ? 'unavailable' : 'outdated'
  return { status, failed: failed.map(({ list }) => list) }
}

/** Of a database that is away, health says so already. */
const witnessHealth = async (witnessing: SystemDeps['witnessing']): Promise<Health['witnesses']> => {
  if (witnessing === undefined) return { status: 'not_configured', treeSize: null }
  let found: WitnessingState | undefined
  await timed(async () => {
    found = await witnessing.state()
  })
  return { status: found?.status ?? 'late', treeSize: found?.size ?? null }
}

/** RFC 9116 recommends less than a year: whoever finds the file later looks for a newer one. */
const SECURITY_TXT_LIFE_MS = 180 * 24 * 3600 * 1000

const roundMs = (ms: number): number => Math.round(ms * 100) / 100

export const createSystem = (deps: SystemDeps): SystemService => {
  const { baseUrl, customDomainCname, securityContacts, clock, metrics } = deps
  const { checks, watchLists, witnessing, isReady, writeRefusal } = deps
  const startedAt = clock.now()
  let cached: { readonly until: number; readonly health: Promise<Health> } | undefined
  let document: Promise<Uint8Array> | undefined

  const examine = async (): Promise<Health> => {
    const askedAt = performance.now()
    const [database, redis, witnesses] = await Promise.all([
      timed(checks.database),
      checks.redis && timed(checks.redis),
      witnessHealth(witnessing),
    ])
    const databaseStatus = database === undefined ? 'disconnected' : 'connected'
    const redisStatus = !checks.redis ? 'not_configured' : redis === undefined ? 'disconnected' : 'connected'
    const lists = watchListHealth(watchLists())
    const isLess = redisStatus === 'disconnected' || lists.status !== 'current' || witnesses.status === 'late'
    const well = isLess ? 'degraded' : 'healthy'
    return {
      status: databaseStatus === 'connected' ? well : 'unhealthy',
      timestamp: iso(clock.now()),
      uptime: Math.round((clock.now() - startedAt) / 1000),
      version: SERVICE_VERSION,
      engine: { ...ENGINE, status: 'operational' },
      database: { status: databaseStatus },
      services: { postgres: databaseStatus, redis: redisStatus },
      watchLists: lists,
      witnesses,
      responseTime: roundMs(database ?? performance.now() - askedAt),
    }
  }

  return {
    info: () => ({
      name: 'Assay',
      version: SERVICE_VERSION,
      engine: ENGINE,
      documentation: `${baseUrl}/v1/openapi.json`,
      endpoints: {
        health: '/health',
        verify: '/verify',
        pod: '/pod/{podId}',
        domain: '/domain/status/{domain}',
        hermes: '/hermes/{slug}',
      },
      customDomains: { supported: true, cname: customDomainCname },
      timestamp: iso(clock.now()),
    }),
    health() {
      const now = performance.now()
      if (cached === undefined || now >= cached.until)
        cached = { until: now + HEALTH_CACHE_MS, health: examine() }
      return cached.health
    },
    readiness() {
      if (!isReady()) return { ready: false }
      const reason = writeRefusal()
      return reason === undefined ? { ready: true } : { ready: false, reason }
    },
    securityTxt() {
      if (securityContacts.length === 0) return undefined
      const lines = [
        ...securityContacts.map((contact) => `Contact: ${contact}`),
        `Expires: ${iso(clock.now() + SECURITY_TXT_LIFE_MS)}`,
        'Preferred-Languages: en',
        `Canonical: ${baseUrl}/.well-known/security.txt`,
      ]
      return `${lines.join('\n')}\n`
    },
    metricsText: () => metrics.text(),
    metricsJson: async () => ({ metrics: await metrics.json() }),
    openapi() {
      document ??= deps.describe().then((described) => Buffer.from(JSON.stringify(described)))
      return document
    },
  }
}
