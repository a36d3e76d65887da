/**
 * What happens around every request: its id, its log line and metric, errors, security headers and origins.
 * @module
 */
import type { IncomingMessage } from 'node:http'
import cors from '@koa/cors'
import type { Middleware } from 'koa'
import type { Credential } from '../caller.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { newId } from '../ids.ts'
import { toldStatus } from './connections/connections.ts'
import type { HttpState } from './context.ts'
import { type IsUnavailable, writeError } from './errors.ts'
import { type Logger, maskPath } from './log.ts'

/** RFC 9112 §3.2.2. The fragment is not part of it. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)([^#]*)/i
/** uri-host [ ":" port ], RFC 9110 §7.2; it may be empty. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d{0,5})?$/i

/** A target in absolute form becomes one in origin form, and its authority the Host, whatever that field says. */
const useOriginForm = (request: IncomingMessage): void => {
  const { url = '/', headers } = request
  if (url.startsWith('/')) return
  const [, authority, rest = ''] = ABSOLUTE_FORM.exec(url) ?? []
  if (authority === undefined) return
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  headers.host = authority
}

/** Node keeps the first of several. */
const countHosts = (rawHeaders: readonly string[]): number => {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

/** @throws AppError invalid_request for a request of HTTP/1.1 without Host, and any with two, or one that names no host */
const requireHost = ({ rawHeaders, headers, httpVersion }: IncomingMessage): void => {
  const count = countHosts(rawHeaders)
  if (count === 0 && httpVersion === '1.1')
    throw new AppError('invalid_request', { message: 'The request has no Host field.' })
  if (count > 1)
    throw new AppError('invalid_request', { message: 'The request has more than one Host field.' })
  if (headers.host !== undefined && !HOST.test(headers.host))
    throw new AppError('invalid_request', { message: 'The Host field is not a valid host.' })
}

export const REQUEST_ID_HEADER = 'X-Request-Id'
/** What clients call a request is theirs to choose (AuthZEN Authorization API 1.0 §10.1.3), as far as it fits a line of the log. */
const REQUEST_ID_PATTERN = /^[\x20-\x7e]{1,255}$/
/** Metric label for paths that are no route's, so that callers can't make up labels. */
const UNMATCHED = 'unmatched'
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
])

export type HttpMiddleware = Middleware<HttpState>

interface Around {
  readonly clientAddress: (request: IncomingMessage) => string
  readonly clock: Clock
  readonly logger: Logger
  readonly observeRequest: (method: string, route: string, status: number, seconds: number) => void
  /** Called for each request that was handled, with whose turn it took, if it got so far; must not throw. */
  readonly onEnded: (owner: string | undefined, points: number) => void
  /** What stands in the paths of routes; anything else is masked in the log. */
  readonly fixedSegments: ReadonlySet<string>
  /** Called for each handled request of a known caller; must not throw. */
  readonly onHandled?: (request: HandledRequest) => void
}

/** A request of a known caller, without anything that it sent. */
export interface HandledRequest {
  readonly organisation: string
  readonly credential: Credential
  readonly requestId: string
  readonly method: string
  /** The route's path template. */
  readonly route: string
  readonly status: number
  /** Until the answer was ready; what is streamed may take longer. */
  readonly ms: number
  /** Client address, after TRUST_PROXY. */
  readonly ip: string
}

const requestIdOf = (request: IncomingMessage, clock: Clock): string => {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : newId('req', clock.now())
}

/**
 * Gives the request its id, and writes one log line and one metric when it was handled. Probes and other uncounted
 * routes are logged at `debug`: terminals ask for /health every few milliseconds.
 */
export const aroundRequest = ({
  clientAddress,
  clock,
  logger,
  observeRequest,
  fixedSegments,
  onEnded,
  onHandled,
}: Around): HttpMiddleware => {
  const quiet = logger.isLevelEnabled('debug')
  const loud = logger.isLevelEnabled('info')
  return async (ctx, next) => {
    const startedAt = performance.now()
    const { req, res, state } = ctx
    useOriginForm(req)
    const url = req.url ?? '/'
    const mark = url.indexOf('?')
    state.path = mark < 0 ? url : url.slice(0, mark)
    state.query = mark < 0 ? '' : url.slice(mark + 1)
    state.requestId = requestIdOf(req, clock)
    state.ip = clientAddress(req)
    res.setHeader(REQUEST_ID_HEADER, state.requestId)
    await next()
    const ms = performance.now() - startedAt
    const method = KNOWN_METHODS.has(ctx.method) ? ctx.method : 'OTHER'
    const status = toldStatus(res)
    const { route, requestId, ip, organisation, credential } = state
    onEnded(state.owner, Math.max(1, route?.cost ?? 1))
    observeRequest(method, route?.path ?? UNMATCHED, status, ms / 1000)
    if (onHandled && route && organisation !== undefined && credential !== undefined)
      onHandled({ organisation, credential, requestId, method, route: route.path, status, ms, ip })
    const isProbe = route?.cost === 0 && status < 500
    if (isProbe ? !quiet : !loud) return
    const line = {
      requestId,
      method,
      // Never as it was sent: it may name a person.
      path: route?.path ?? maskPath(state.path, fixedSegments),
      route: route?.path,
      status,
      ms: Math.round(ms * 100) / 100,
      ip,
      organisation,
    }
    if (isProbe) logger.debug(line, 'request')
    else logger.info(line, 'request')
  }
}

/** Turns whatever is thrown below into an answer. */
export const answerErrors =
  (logger: Logger, isUnavailable?: IsUnavailable): HttpMiddleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      writeError(ctx, error, logger, isUnavailable)
    }
  }

/** Refuses requests that don't say once to which host they go. */
export const hostRequired: HttpMiddleware = (ctx, next) => {
  requireHost(ctx.req)
  return next()
}

const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const FULL_RETRY_SECONDS = 10

const REFUSALS = {
  disk_unwritable: 'The disk of the service takes no writes at the moment.',
  disk_full: 'The disk of the service is full; nothing can be written until there is free space.',
  read_only: 'The database of the service takes no writes at the moment.',
} as const

/** Why nothing can be written. */
export type WritesRefused = keyof typeof REFUSALS

const refusedFor = (why: WritesRefused, cause?: unknown): AppError =>
  new AppError('unavailable', {
    message: REFUSALS[why],
    reason: why.toUpperCase(),
    retryAfter: FULL_RETRY_SECONDS,
    cause,
  })

/**
 * Refuses what would be written where nothing can be: by the method before any work is done. What reads is let through, and says
 * the same where it turns out to write something, which the database refuses.
 * @param isWriteRefused whether that is what an error says; all others are told as what they are
 */
export const readOnlyWhile =
  (refusal: () => WritesRefused | undefined, isWriteRefused: (error: unknown) => boolean): HttpMiddleware =>
  async (ctx, next) => {
    const known = READING_METHODS.has(ctx.method) ? undefined : refusal()
    if (known !== undefined) throw refusedFor(known)
    try {
      await next()
    } catch (error) {
      const why = isWriteRefused(error) ? refusal() : undefined
      throw why === undefined ? error : refusedFor(why, error)
    }
  }

const HSTS = 'max-age=31536000'

/**
 * Headers for an API whose answers are never to be rendered, framed, sniffed or cached unless a route says so. Where the service is
 * reached over HTTPS, browsers are to stay with that (RFC 6797), for what lies below its own host too; what lies below a host that an
 * organisation has brought may be anything of theirs.
 */
export const securityHeaders = (baseUrl: string): HttpMiddleware => {
  const { protocol, host } = new URL(baseUrl)
  const headers: [string, string][] = [
    ['X-Content-Type-Options', 'nosniff'],
    ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
    ['Referrer-Policy', 'no-referrer'],
    ['Cache-Control', 'no-store'],
  ]
  const isHttps = protocol === 'https:'
  return ({ req, res }, next) => {
    for (const [name, value] of headers) res.setHeader(name, value)
    if (isHttps)
      res.setHeader(
        'Strict-Transport-Security',
        req.headers.host === host ? `${HSTS}; includeSubDomains` : HSTS,
      )
    return next()
  }
}

const EXPOSED_HEADERS = [
  'X-Request-Id',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Date',
  'Idempotency-Replayed',
]
const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'X-API-Key',
  'X-Request-Id',
  'Idempotency-Key',
  'Last-Event-ID',
]
const PREFLIGHT_MAX_AGE_SECONDS = 600

/** Exact paths, or prefixes that end in a slash. */
type Paths = readonly string[]

/** @returns whether a path is one of them */
const among = (paths: Paths): ((path: string) => boolean) => {
  const exact = new Set(paths.filter((path) => !path.endsWith('/')))
  const prefixes = paths.filter((path) => path.endsWith('/'))
  return (path) => exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix))
}

const allowing = (allowMethods: string): HttpMiddleware =>
  cors({
    origin: '*',
    allowMethods,
    allowHeaders: ALLOWED_HEADERS,
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
    keepHeadersOnError: false,
  })

/**
 * Lets pages of any origin read some paths, and also post to others, without cookies. All other paths stay same-origin.
 * @param paths `post`: only what takes a credential or a proof, which no page has unasked: anything else would be posted from the
 *   address of whoever looks at the page
 */
export const crossOrigin = (paths: { readonly read: Paths; readonly post: Paths }): HttpMiddleware => {
  const [isRead, isPosted] = [among(paths.read), among(paths.post)]
  const [allowReading, allowPosting] = [allowing('GET,HEAD'), allowing('GET,HEAD,POST')]
  return (ctx, next) => {
    const { path } = ctx.state
    const allow = isPosted(path) ? allowPosting : isRead(path) ? allowReading : undefined
    if (allow === undefined) return next()
    // Of every answer: one that nobody's page asked for may be kept by a cache and handed to a page.
    ctx.vary('Origin')
    if (ctx.req.headers.origin === undefined) return next()
    ctx.res.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
    return allow(ctx, next)
  }
}
