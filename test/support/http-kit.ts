/** A real server around a handful of test routes: everything of the HTTP kit, no domain. @module */
import type { AddressInfo } from 'node:net'
import type { Scope } from '../../src/caller.ts'
import { systemClock } from '../../src/clock.ts'
import { AppError } from '../../src/errors.ts'
import type { AdmissionLimits } from '../../src/http/admission.ts'
import type { Authenticator, Authenticators, Identity } from '../../src/http/auth.ts'
import type { PathFor } from '../../src/http/connections/host-paths.ts'
import { closeHttpServer, createHttpServer, type HttpServer } from '../../src/http/connections/server.ts'
import type { IdempotencyKit } from '../../src/http/idempotency.ts'
import type { ArrivingLimits } from '../../src/http/input/arriving.ts'
import { createLogger } from '../../src/http/log.ts'
import type { RateLimitRefusal } from '../../src/http/rate-limit.ts'
import type { Route } from '../../src/http/route.ts'
import { createSealing } from '../../src/keys/sealing.ts'
import { createMetrics, type Metrics } from '../../src/metrics.ts'
import { type AppConfig, type AppOptions, createApp } from '../../src/server/app.ts'
import { createLimits, type Limits } from '../../src/store/limits.ts'
import { clientOf, type RequestOptions, type TestResponse } from './client.ts'

export const identity = (organisation: string, scopes: readonly Scope[] = ['verify']): Identity => ({
  organisation,
  credential: { kind: 'key', id: `key_${organisation}`, keyId: `key_${organisation}` },
  scopes: new Set(scopes),
})

/** Keys name their organisation: `k-red` belongs to `org_red`; `t-…` are terminal tokens with a bucket of their own, `a-…` can be had by anybody. */
export const keyAuthenticator: Authenticator = ({ apiKey, cookie, csrf }, { method, route }) => {
  if (apiKey === undefined && cookie === 's-red' && route.auth === 'console') {
    if (method !== 'GET' && method !== 'HEAD' && csrf !== 'csrf-red') throw new AppError('csrf_required')
    return { caller: identity('org_red') }
  }
  const [kind, name] = apiKey?.split('-') ?? []
  if (name === undefined || !['k', 't', 'a'].includes(kind ?? '')) throw new AppError('unauthorized')
  const caller = identity(`org_${name}`)
  if (kind === 'a') return { caller, isOfAnybody: true }
  if (kind === 't') return { caller, bucket: `terminal:${name}` }
  return name === 'small' ? { caller, limitPerMinute: 2 } : { caller }
}

const authenticators: Authenticators = {
  key: keyAuthenticator,
  merchant: keyAuthenticator,
  pod: keyAuthenticator,
  optional: (credentials, context) =>
    credentials.apiKey === undefined ? {} : keyAuthenticator(credentials, context),
  console: keyAuthenticator,
  session: keyAuthenticator,
  metrics: () => ({}),
}

export interface HttpKit {
  readonly url: string
  readonly server: HttpServer
  readonly metrics: Metrics
  readonly refusals: RateLimitRefusal[]
  /** Parsed log lines so far. */
  readonly lines: Record<string, unknown>[]
  request<T = Record<string, unknown>>(
    method: string,
    path: string,
    options?: RequestOptions,
  ): Promise<TestResponse<T>>
  close(): Promise<void>
}

export interface HttpKitOptions {
  readonly config?: Partial<AppConfig>
  /** In place of those that know the keys of `keyAuthenticator`. */
  readonly authenticators?: Partial<Authenticators>
  /** Default: as they are everywhere, in this process. */
  readonly limits?: Limits
  readonly logLevel?: string
  readonly isUnavailable?: (error: unknown) => boolean
  readonly writes?: AppOptions<never>['writes']
  readonly pathFor?: PathFor
  readonly admission?: AdmissionLimits
  readonly arriving?: ArrivingLimits
  readonly giveWay?: AppOptions<never>['giveWay']
  /** Absent: no answer is stored. */
  readonly findAnswer?: IdempotencyKit['findAnswer']
}

export const startHttpKit = async (
  routes: readonly Route[],
  options: HttpKitOptions = {},
): Promise<HttpKit> => {
  const refusals: RateLimitRefusal[] = []
  const lines: Record<string, unknown>[] = []
  const metrics = createMetrics()
  const sealing = createSealing(new Uint8Array(32).fill(7))
  const app = createApp({
    config: {
      baseUrl: 'http://assay.test',
      rateLimitPerMinute: 100,
      rateLimits: false,
      chatLimits: { readsPerMinute: 1_000_000 },
      trustProxy: [],
      checkResponses: true,
      ...options.config,
    },
    routes,
    services: undefined as never,
    authenticators: { ...authenticators, ...options.authenticators },
    limits: options.limits ?? createLimits(),
    idempotency: {
      mac: (data) => sealing.mac('idempotency', data),
      findAnswer: options.findAnswer ?? (async () => undefined),
    },
    logger: createLogger(options.logLevel ?? 'info', { write: (line) => lines.push(JSON.parse(line)) }),
    metrics,
    clock: systemClock,
    isUnavailable: options.isUnavailable,
    writes: options.writes,
    pathFor: options.pathFor,
    admission: options.admission,
    arriving: options.arriving,
    giveWay: options.giveWay,
    onRateLimited: (refusal) => refusals.push(refusal),
  })
  const server = createHttpServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    server,
    metrics,
    refusals,
    lines,
    ...clientOf(url),
    close: async () => {
      await closeHttpServer(server)
    },
  }
}
