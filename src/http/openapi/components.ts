/**
 * The parts of the OpenAPI document that all operations share: the error body, headers, security.
 * @module
 */
import { Type } from 'typebox'
import { ERRORS, type ErrorCode } from '../../errors.ts'
import type { JsonSchema } from '../input/schema.ts'
import type { Auth, Route } from '../route.ts'

const Detail = Type.Object(
  {
    path: Type.String({
      description: 'JSON Pointer into the body, or query/…, params/…, header/… for other places.',
    }),
    code: Type.String(),
    message: Type.String(),
  },
  { title: 'ErrorDetail' },
)

const errorFields = {
  error: Type.Enum(Object.keys(ERRORS) as ErrorCode[], {
    description: 'Stable code. Each response of an operation lists its codes.',
  }),
  message: Type.String({ description: 'Explanation for humans; can change.' }),
  retry_after: Type.Optional(Type.Integer({ description: 'Seconds to wait, as in the Retry-After header.' })),
  reason: Type.Optional(Type.String({ description: 'Upper-case word such as DOUBLE_SPEND.' })),
  details: Type.Optional(Type.Array(Detail)),
  request_id: Type.String({ description: 'The value of the X-Request-Id header.' }),
}

/** The body of every error; some routes add a few named fields. */
export const ErrorSchema = Type.Object(errorFields, { title: 'Error' })
/** The same on the root routes, whose bodies all carry `success`. */
export const RootErrorSchema = Type.Object(
  { success: Type.Literal(false), ...errorFields },
  { title: 'RootError' },
)

export const SECURITY_SCHEMES = {
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key.' },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key or, if the route says so, a terminal token, the key of a pod or the token of a hermes route.',
  },
  podKey: { type: 'apiKey', in: 'header', name: 'X-Pod-Key', description: 'The key of a pod.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'assay_session',
    description: 'A console session. Requests that change something also need its X-CSRF-Token header.',
  },
}

/** Who may call, in OpenAPI's words: alternatives, none where the list is empty. */
export const SECURITY: Readonly<Record<Auth, readonly Record<string, string[]>[]>> = {
  none: [],
  key: [{ apiKey: [] }, { bearer: [] }],
  merchant: [{ apiKey: [] }, { bearer: [] }],
  pod: [{ podKey: [] }, { apiKey: [] }, { bearer: [] }],
  optional: [{}, { apiKey: [] }, { bearer: [] }],
  console: [{ apiKey: [] }, { bearer: [] }, { session: [] }],
  session: [{ session: [] }],
  metrics: [{ bearer: [] }, {}],
}

const header = (description: string, schema: JsonSchema) => ({ description, schema })
export const HEADERS = {
  RequestId: header('Identifies the request in the log.', { type: 'string' }),
  RateLimitPolicy: header('Quota (q) and window in seconds (w).', { type: 'string' }),
  RateLimit: header('Calls left (r) and seconds until the window ends (t).', { type: 'string' }),
  RetryAfter: header('Seconds to wait.', { type: 'integer' }),
  WwwAuthenticate: header('The scheme to use.', { type: 'string' }),
  IdempotencyReplayed: header('`true` when this is the stored answer to an earlier request.', {
    type: 'string',
  }),
}
export const headerRef = (name: keyof typeof HEADERS) => ({ $ref: `#/components/headers/${name}` })

const RETRIES_SAFE =
  'Makes retries safe for 24 hours: the same key with the same query and body returns the first answer, with others 422.'

/** Whose a key is follows from the credential: of somebody without one nothing is kept. */
export const idempotencyParameter = ({ auth }: Route) => ({
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    auth === 'optional'
      ? `${RETRIES_SAFE} Only with a credential: without one it is not read, and what is sent twice is done twice.`
      : RETRIES_SAFE,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
})

const isLimited = (route: Route): boolean => route.cost !== 0

/** Headers of every answer of a route. */
export const commonHeaders = (route: Route) => ({
  'X-Request-Id': headerRef('RequestId'),
  ...(isLimited(route) && {
    'RateLimit-Policy': headerRef('RateLimitPolicy'),
    RateLimit: headerRef('RateLimit'),
  }),
})

/** Headers of a route's error answers. */
export const errorHeaders = (route: Route, status: number) => ({
  ...commonHeaders(route),
  ...((status === 429 || status === 503) && { 'Retry-After': headerRef('RetryAfter') }),
  ...(status === 401 && { 'WWW-Authenticate': headerRef('WwwAuthenticate') }),
})
