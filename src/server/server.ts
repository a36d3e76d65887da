/** A running server: it listens first, so that probes get answers, and serves once its services are built. @module */
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { keyBehind } from '../caller.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import { closeHttpServer, createHttpServer, type HttpServer } from '../http/connections/server.ts'
import { answerLater, EVENT_STREAM_TYPE } from '../http/event-stream.ts'
import { createLogger, type Logger } from '../http/log.ts'
import type { HandledRequest } from '../http/middleware.ts'
import type { RateLimitRefusal } from '../http/rate-limit.ts'
import { isTerminalToken } from '../keys/api-keys.ts'
import type { Cost } from '../keys/passwords.ts'
import { actorOf } from '../ledger/entry.ts'
import { type BuiltServices, createServices, type Services } from '../services/services.ts'
import { isUnavailable, isWriteRefused } from '../store/session.ts'
import { describeApiInTurns } from './api-description.ts'
import { createApp } from './app.ts'
import { createAuthenticators } from './authenticators.ts'
import { routes } from './routes.ts'
import type { Telemetry } from './telemetry.ts'

const STARTING_RETRY_SECONDS = 2

export interface RunningServer {
  /** Where it listens, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Under what address it calls itself, the same unless BASE_URL is set. */
  readonly baseUrl: string
  readonly services: BuiltServices
  /**
   * Stops accepting, answers what was sent, finishes the ledger's batch, closes everything. At most about 10 s.
   * @param quietMs how long nothing must have been asked on a connection before it is ended; default 50
   */
  close(quietMs?: number): Promise<void>
}

export interface ServerOptions {
  /** Called when everything is built, before the server says that it is ready. */
  readonly beforeReady?: () => Promise<void>
  readonly clock?: Clock
  readonly logger?: Logger
  /** Of hashes of new passwords; default {@link PASSWORD_COST}, and less for tests alone. */
  readonly passwordCost?: Cost
}

/** Answers while services are being built: alive, but not ready. */
const answerStarting: RequestListener = (request, response) => {
  if (request.method === 'GET' && request.headers.accept?.startsWith(EVENT_STREAM_TYPE)) {
    // Readable to pages of any origin, as the stream itself is.
    response.setHeader('Access-Control-Allow-Origin', '*')
    answerLater(response, STARTING_RETRY_SECONDS * 1000)
    return
  }
  const path = request.url?.split('?', 1)[0]
  const alive = path === '/health/live'
  const body = alive
    ? { live: true }
    : path === '/health/ready'
      ? { ready: false }
      : { error: 'unavailable', message: 'The service is starting.', retry_after: STARTING_RETRY_SECONDS }
  response.writeHead(alive ? 200 : 503, {
    'Content-Type': 'application/json; charset=utf-8',
    ...(!alive && { 'Retry-After': STARTING_RETRY_SECONDS }),
  })
  response.end(JSON.stringify(body))
}

const listen = async (server: HttpServer, { port, host }: Config): Promise<number> => {
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port')
  return address.port
}

/** What the event log keeps of a request. */
const requestKeeper =
  ({ eventLog, clock }: Pick<Services, 'eventLog' | 'clock'>) =>
  ({ organisation, credential, requestId, method, route, status, ms, ip }: HandledRequest): void => {
    const [actor, actorId] = actorOf(credential)
    const keyId = keyBehind(credential)
    const durationMs = Math.round(ms * 100) / 100
    eventLog.record({
      type: 'request',
      at: clock.now(),
      organisation,
      requestId,
      method,
      route,
      status,
      ip,
      durationMs,
      actor,
      actorId,
      keyId,
    })
  }

/** The configuration with the port that was picked, where PORT is 0. */
const onPort = (config: Config, port: number): Config => {
  const url = new URL(config.baseUrl)
  if (config.port !== 0 || url.port !== '0') return config
  url.port = String(port)
  return Object.freeze({ ...config, port, baseUrl: url.origin })
}

/** Loaded only where it is asked for. */
const openTelemetry = async ({ telemetry }: Config, logger: Logger): Promise<Telemetry | undefined> =>
  telemetry && (await import('./telemetry.ts')).createTelemetry(telemetry, logger)

/**
 * Starts a server.
 * @throws Error with code EADDRINUSE when the port is taken; ConfigError, SealingError and what the database answers
 */
export const startServer = async (settings: Config, options: ServerOptions = {}): Promise<RunningServer> => {
  const logger = options.logger ?? createLogger(settings.logLevel)
  let ready = false
  let listener = answerStarting
  const server = createHttpServer((request, response) => listener(request, response))
  const port = await listen(server, settings)
  const config = onPort(settings, port)
  if (!config.rateLimits) logger.warn({}, 'RATE_LIMITS=off: nothing is limited')
  const telemetry = await openTelemetry(config, logger)
  let services: BuiltServices
  try {
    services = await createServices(config, {
      clock: options.clock,
      passwordCost: options.passwordCost,
      logger,
      tracing: telemetry,
      isReady: () => ready,
      describe: () => describeApiInTurns(routes, config.baseUrl),
    })
  } catch (error) {
    await closeHttpServer(server, { quietMs: 0, timeoutMs: 0 })
    await telemetry?.close()
    throw error
  }
  telemetry?.exportMetrics(services.metrics)
  await options.beforeReady?.()
  const { accounts, terminals, pods, proxies, domains, limits, idempotency, metrics, clock, security } =
    services
  const alertRateLimit = ({ organisation = DEFAULT_ORGANISATION, bucket }: RateLimitRefusal) =>
    security.raise({ organisation, type: 'rate_limit', subject: services.alertSubject(bucket) })
  const keepRequest = requestKeeper(services)
  listener = createApp({
    config,
    routes,
    services,
    authenticators: createAuthenticators({ accounts, terminals, pods, proxies }, config.metricsToken),
    isShortLived: isTerminalToken,
    limits,
    idempotency,
    logger,
    metrics,
    clock,
    isUnavailable,
    pathFor: domains.pathFor,
    onRateLimited: alertRateLimit,
    onHandled: keepRequest,
    onPassing: services.workerPool.hear,
    giveWay: services.giveWay,
    outermost: telemetry?.middleware,
    // With a database of its own the disk is needed for the event log alone.
    writes: {
      refusal: config.databaseUrl === undefined ? services.disk.refusal : services.databaseWrites.refusal,
      isRefused: isWriteRefused,
    },
  })
  ready = true
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  let closed: Promise<void> | undefined
  return {
    url: `http://${host}:${port}`,
    baseUrl: config.baseUrl,
    services,
    close(quietMs) {
      closed ??= (async () => {
        ready = false
        // A stream is a request that never ends by itself.
        services.chatStream.close()
        services.webhooks.endWaiting()
        await closeHttpServer(server, { quietMs })
        // Before the services: what is measured is read once more.
        await telemetry?.close()
        await services.close()
      })()
      return closed
    },
  }
}
