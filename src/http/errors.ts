/**
 * Errors on the wire. Codes and statuses belong to `errors.ts`; this file only writes them, and says which
 * codes a route can answer by its very shape.
 * @module
 */
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'
import type { HttpContext } from './context.ts'
import { EVENT_STREAM_TYPE } from './event-stream.ts'
import { knownParameters } from './input/query.ts'
import { asJsonSchema, isClosedSomewhere } from './input/schema.ts'
import type { Logger } from './log.ts'
import { writeLimit } from './rate-limit.ts'
import type { Route } from './route.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** First path segments of the root routes, whose clients look at a `success` flag in every body. */
const ROOT_FAMILY: ReadonlySet<string> = new Set(['', 'health', 'verify', 'pod', 'domain', 'hermes', 'proxy'])

/** @param path of a request or a route's template */
export const isRootFamily = (path: string): boolean => ROOT_FAMILY.has(path.split('/', 2)[1] ?? '')

export interface ErrorBody {
  success?: false
  error: ErrorCode
  message: string
  /** Seconds, the same number as in Retry-After. */
  retry_after?: number
  reason?: string
  details?: ErrorDetail[]
  request_id: string
}

/** The body of an error; a route's extras can't replace the named fields. */
export const errorBody = (error: AppError, requestId: string, path: string): ErrorBody => ({
  ...error.extras,
  ...(isRootFamily(path) && { success: false as const }),
  error: error.code,
  message: error.message,
  ...(error.retryAfter !== undefined && { retry_after: error.retryAfter }),
  ...(error.reason !== undefined && { reason: error.reason }),
  ...(error.details !== undefined && { details: error.details }),
  request_id: requestId,
})

/** Whether an error means that something the service depends on is away. */
export type IsUnavailable = (error: unknown) => boolean

/** Anything that is not meant for callers becomes `internal` or `unavailable`; its own words stay in the log. */
export const asAppError = (error: unknown, isUnavailable?: IsUnavailable): AppError => {
  if (error instanceof AppError) return error
  return isUnavailable?.(error)
    ? new AppError('unavailable', { cause: error })
    : new AppError('internal', { cause: error })
}

const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'x-pod-key'] as const

/** What an operator must look at. All other refusals stand in the request's line, whatever their status. */
const OWN_FAULTS: ReadonlySet<ErrorCode> = new Set([
  'internal',
  'unavailable',
  'log_inconsistent',
  'lists_unavailable',
])
/** What an operator may want to know: more is asked than there is room for. */
const SHORTAGES: ReadonlySet<ErrorCode> = new Set(['prover_overloaded', 'proof_service_unavailable'])
/** Reasons of a 503 while nothing can be written, which the log has said when it began, while too much waits, and of one that was not begun in time. */
const REFUSED_REASONS: readonly string[] = [
  'DISK_FULL',
  'DISK_UNWRITABLE',
  'READ_ONLY',
  'TOO_MANY_WAITING',
  'WAITED_TOO_LONG',
]
/** Faults of those whom callers had us call. Anybody can bring them about, so they are no errors of the service. */
const TARGET_FAULT = /^(upstream|egress|source|dns|provider)_/

const logError = (
  error: AppError,
  details: { requestId: string; route: string | undefined },
  logger: Logger,
): void => {
  const { code, reason = '' } = error
  if (TARGET_FAULT.test(code)) logger.info({ error: code, ...details }, 'target failed')
  // Of these reasons callers have a 429 as well, for what they do themselves.
  else if (SHORTAGES.has(code) || (code === 'unavailable' && REFUSED_REASONS.includes(reason)))
    logger.warn({ error: code, ...details }, 'request refused')
  else if (OWN_FAULTS.has(code))
    logger.error({ err: code === 'internal' ? (error.cause ?? error) : error, ...details }, 'request failed')
}

/** Answers with an error, and logs those that are our own fault; those of targets only by their code. */
export const writeError = (
  ctx: HttpContext,
  thrown: unknown,
  logger: Logger,
  isUnavailable?: IsUnavailable,
): void => {
  const error = asAppError(thrown, isUnavailable)
  const { requestId, path } = ctx.state
  logError(error, { requestId, route: ctx.state.route?.path }, logger)
  ctx.status = error.status
  if (error.status === 401) {
    const presented = CREDENTIAL_HEADERS.some((name) => ctx.req.headers[name] !== undefined)
    ctx.set('WWW-Authenticate', `Bearer realm="assay"${presented ? ', error="invalid_token"' : ''}`)
  }
  if (error.status === 413) ctx.set('Connection', 'close')
  if (error.retryAfter !== undefined) ctx.set('Retry-After', String(error.retryAfter))
  if (error.limit !== undefined) writeLimit(ctx.res, error.limit)
  ctx.set('Content-Type', JSON_TYPE)
  ctx.body = JSON.stringify(errorBody(error, requestId, path))
}

/**
 * The body of what was thrown, for answers that carry errors inside them. What is our own fault is logged.
 * @param path of the request
 */
export const describeFailure =
  (path: string, logger: Logger, isUnavailable?: IsUnavailable) =>
  (thrown: unknown, requestId: string): ErrorBody => {
    const error = asAppError(thrown, isUnavailable)
    if (error !== thrown) logger.error({ err: thrown, requestId, route: path }, 'request failed')
    return errorBody(error, requestId, path)
  }

/** What is wrong with a request by its form alone, and no 400 elsewhere. */
const UNFIT: readonly ErrorCode[] = ['unsupported_media_type', 'validation_failed', 'number_not_exact']

/** What a route with `badRequest` throws in place of an error. */
export const asBadRequest = (error: unknown): unknown => {
  if (!(error instanceof AppError) || !UNFIT.includes(error.code)) return error
  const { message, details } = error
  return new AppError('invalid_request', { message, details, cause: error })
}

/** Every code that a route can answer: its own and those that follow from its shape. Any request can be malformed. */
export const errorCodesOf = (route: Route): ReadonlySet<ErrorCode> => {
  const codes = new Set<ErrorCode>(['invalid_request', 'internal', 'unavailable'])
  const add = (condition: unknown, ...more: ErrorCode[]) => {
    if (condition) for (const code of more) codes.add(code)
  }
  const { body, bodyForm = 'checked' } = route
  add(body, 'payload_too_large', 'unsupported_media_type')
  add(body && bodyForm !== 'bytes', 'invalid_json')
  add(body && bodyForm === 'checked', 'validation_failed')
  add(body && bodyForm === 'checked' && isClosedSomewhere(asJsonSchema(body)), 'unknown_member')
  add(route.exactNumbers, 'number_not_exact')
  add(route.query || knownParameters(route), 'invalid_query')
  add(knownParameters(route), 'unknown_parameter')
  add(route.path.includes('{'), 'not_found')
  add(route.auth !== 'none', 'unauthorized', 'ambiguous_credentials', 'insufficient_scope')
  add(takesSession(route) && route.method !== 'GET', 'csrf_required')
  add(body || route.cost !== 0 || route.auth !== 'none', 'rate_limited')
  add(
    takesIdempotencyKey(route),
    'invalid_idempotency_key',
    'idempotency_key_reused',
    'idempotency_in_flight',
  )
  for (const code of route.errors) codes.add(code)
  for (const own of Object.values(route.refusals ?? {})) add(true, ...Object.values(own))
  if (route.badRequest) for (const code of UNFIT) codes.delete(code)
  return codes
}

/** Threads for proofs, targets, sources and providers, connections for searches: each has a queue or a bound of its own. */
const WAITED_FOR = /^(prover_|proof_service_|upstream_|source_|dns_|provider_|identity_provider_|search_)/

/** Whether requests of this route take one of the places that organisations share. */
export const isQueued = ({ queued, waits, cost, errors, produces }: Route): boolean =>
  queued ??
  !(waits || cost === 0 || produces === EVENT_STREAM_TYPE || errors.some((code) => WAITED_FOR.test(code)))

/** Whether requests of this route wait for a proof that is made, and for nobody beyond this server. */
export const waitsForProof = ({ errors }: Pick<Route, 'errors'>): boolean =>
  errors.includes('prover_overloaded') &&
  !errors.some((code) => WAITED_FOR.test(code) && !/^pro(ver|of)_/.test(code))

const takesSession = ({ auth }: Pick<Route, 'auth'>): boolean => auth === 'console' || auth === 'session'

/** Idempotency-Key counts on authenticated POST and PATCH routes. */
export const takesIdempotencyKey = (route: Pick<Route, 'auth' | 'method'>): boolean =>
  route.auth !== 'none' && route.auth !== 'metrics' && (route.method === 'POST' || route.method === 'PATCH')
