/** The HTTP application: the order of its parts on one screen. @module */
import type { RequestListener } from 'node:http'
import Koa from 'koa'
import { type GiveWay, NOBODY_GIVES_WAY } from '../circuits/threads/give-way.ts'
import type { Clock } from '../clock.ts'
import { type AdmissionLimits, createAdmission } from '../http/admission.ts'
import type { Authenticators } from '../http/auth.ts'
import { createCompression } from '../http/compression.ts'
import { createClientAddress } from '../http/connections/client-address.ts'
import { type PathFor, readHostPaths } from '../http/connections/host-paths.ts'
import { createUnreadAnswers } from '../http/connections/unread.ts'
import type { HttpState } from '../http/context.ts'
import { compileEndpoint } from '../http/endpoint.ts'
import type { IsUnavailable } from '../http/errors.ts'
import { createGuesses } from '../http/guesses.ts'
import { createFlights, type IdempotencyKit } from '../http/idempotency.ts'
import { type ArrivingLimits, createArrivingBodies } from '../http/input/arriving.ts'
import type { Logger } from '../http/log.ts'
import {
  answerErrors,
  aroundRequest,
  crossOrigin,
  type HandledRequest,
  type HttpMiddleware,
  hostRequired,
  readOnlyWhile,
  securityHeaders,
  type WritesRefused,
} from '../http/middleware.ts'
import { type ConsumeLimit, createRateLimiter, type RateLimitRefusal } from '../http/rate-limit.ts'
import type { Route } from '../http/route.ts'
import { createRouting } from '../http/routing.ts'
import type { Metrics } from '../metrics.ts'

/** The part of the configuration that the application reads. */
export interface AppConfig {
  /** Absolute URL under which clients reach the service. */
  readonly baseUrl: string
  /** Default for organisations without a setting of their own. */
  readonly rateLimitPerMinute: number
  readonly rateLimits: boolean
  /** Thresholds of the chat; those of reading are the application's to keep. */
  readonly chatLimits: { readonly readsPerMinute: number }
  /** CIDRs of reverse proxies whose X-Forwarded-For counts. */
  readonly trustProxy: readonly string[]
  /** Check every answer against its closed schema; for tests. */
  readonly checkResponses: boolean
}

export interface AppOptions<S> {
  readonly config: AppConfig
  readonly routes: readonly Route<S>[]
  readonly services: S
  readonly authenticators: Authenticators
  /** Whether a text looks like a credential that its holder gets anew each day; absent: none does. */
  readonly isShortLived?: (text: string) => boolean
  readonly limits: { readonly consume: ConsumeLimit }
  readonly idempotency: IdempotencyKit
  readonly logger: Logger
  readonly metrics: Pick<
    Metrics,
    | 'observeRequest'
    | 'observeRequestWait'
    | 'countShedRequest'
    | 'readRequestQueue'
    | 'readArriving'
    | 'readHeldTime'
  >
  readonly clock: Clock
  /** Whether an error means that the database is away: 503 instead of 500. */
  readonly isUnavailable?: IsUnavailable
  /** Hosts that stand for one thing of the service; absent: there are none. */
  readonly pathFor?: PathFor
  /** Called for each handled request of a known caller; must not throw. */
  readonly onHandled?: (request: HandledRequest) => void
  /** Around all else; absent: nothing is. */
  readonly outermost?: HttpMiddleware
  /** Whether anything can be written; absent: always. */
  readonly writes?: {
    /** Why nothing can be, so that only what reads is answered. The database refuses what is tried all the same. */
    readonly refusal: () => WritesRefused | undefined
    /** Whether an error says that the database took no write. */
    readonly isRefused: (error: unknown) => boolean
  }
  /** How many requests are worked on and wait; tests have fewer than usual. */
  readonly admission?: AdmissionLimits
  /** How much may be arriving; tests have less than usual. */
  readonly arriving?: ArrivingLimits
  /** Absent: nobody gives way. */
  readonly giveWay?: GiveWay
  /** Called often while requests are worked on; must not throw. */
  readonly onPassing?: () => void
  /** Called for every refused call; must not throw. */
  readonly onRateLimited?: (refusal: RateLimitRefusal) => void
}

/** What pages of any origin may post to as well: terminals, provers and wallets run in browsers. */
const CROSS_ORIGIN_POSTED = ['/api/merchant/', '/api/circuits/', '/v1/proofs/challenge/']

/** What pages of any origin may read: the chat, and the keys and logs that verifiers fetch. */
const CROSS_ORIGIN_READ = [
  '/agents.txt',
  '/api/prompts',
  '/api/prompts/',
  '/api/messages',
  '/api/messages/',
  '/api/stream',
  '/api/stats',
  '/health',
  '/v1/openapi.json',
  '/.well-known/jwks.json',
  '/.well-known/jwks-pq.json',
  '/.well-known/authzen-configuration',
  '/.well-known/issuer-keys',
  '/.well-known/jwt-vc-issuer',
  '/credentials/',
  '/status/',
  '/challenge/',
  '/checkpoint',
  '/checkpoint/keys',
  '/tile/',
  '/log/',
]

/**
 * Builds the application. Nothing listens yet.
 * @throws Error when two routes share a method and path, or a CIDR is malformed
 */
export const createApp = <S>(options: AppOptions<S>): RequestListener => {
  const { config, routes, services, authenticators, limits, idempotency, logger, metrics, clock } = options
  const { giveWay = NOBODY_GIVES_WAY } = options
  const rateLimiter = config.rateLimits
    ? createRateLimiter(limits.consume, clock, options.onRateLimited)
    : undefined
  const admission = createAdmission({
    limits: options.admission,
    onBegun: metrics.observeRequestWait,
    onRefused: metrics.countShedRequest,
    onPassing: options.onPassing,
    giveWay,
  })
  metrics.readRequestQueue(admission.waiting)
  metrics.readHeldTime(giveWay.heldSeconds)
  const arriving = createArrivingBodies(options.arriving, () => metrics.countShedRequest('full'))
  metrics.readArriving(() => arriving.bytes)
  const flights = createFlights()
  const guesses = createGuesses()
  const unread = createUnreadAnswers()
  const compression = createCompression(unread)
  const endpoints = routes.map((route) =>
    compileEndpoint(route, {
      services,
      authenticators,
      rateLimiter,
      guesses,
      isShortLived: options.isShortLived,
      limitPerMinute: config.rateLimitPerMinute,
      addressLimits: { 'chat.reads': config.chatLimits.readsPerMinute },
      idempotency,
      flights,
      arriving,
      admission,
      giveWay,
      unread,
      compression,
      checkResponses: config.checkResponses,
    }),
  )

  const app = new Koa<HttpState>()
  if (options.outermost) app.use(options.outermost)
  app.use(
    aroundRequest({
      clientAddress: createClientAddress(config.trustProxy),
      clock,
      logger,
      observeRequest: metrics.observeRequest,
      fixedSegments: new Set(
        routes.flatMap(({ path }) => path.split('/')).filter((part) => !part.startsWith('{')),
      ),
      onEnded: giveWay.requestEnded,
      onHandled: options.onHandled,
    }),
  )
  app.use(answerErrors(logger, options.isUnavailable))
  app.use(securityHeaders(config.baseUrl))
  app.use(hostRequired)
  if (options.pathFor) app.use(readHostPaths(options.pathFor))
  app.use(crossOrigin({ read: CROSS_ORIGIN_READ, post: CROSS_ORIGIN_POSTED }))
  if (options.writes) app.use(readOnlyWhile(options.writes.refusal, options.writes.isRefused))
  app.use(createRouting(endpoints))
  // Reached only when writing an answer fails, which is nearly always a client that went away.
  app.on('error', (error: unknown) => logger.debug({ err: error }, 'answer not sent'))
  return app.callback()
}
