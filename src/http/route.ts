/**
 * A route is a value: everything the router, the validator, OpenAPI and the tests need to know of one operation.
 * @module
 */
import type { Static, TObject, TSchema } from 'typebox'
import type { Caller, Scope, SessionCaller } from '../caller.ts'
import type { ErrorCode } from '../errors.ts'
import type { Answer, ContentTypes, Exactly, Responses } from './answer-types.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * Who may call. There is no default, so forgetting it does not compile.
 * `none` public, credentials are ignored · `key` an API key · `merchant` an API key or a terminal token ·
 * `pod` the key of a pod or an API key · `optional` nobody, an API key or the token of a hermes route; a wrong one is refused ·
 * `console` a session (with CSRF token on writes) or an API key · `session` a session alone · `metrics` METRICS_TOKEN or a metrics-scoped key where closed.
 */
export type Auth = 'none' | 'key' | 'merchant' | 'pod' | 'optional' | 'console' | 'session' | 'metrics'

/** A limit of a route's own, counted by client address. */
export interface AddressLimit {
  /** Routes of one bucket are counted together; default: the route alone. The configuration may give it another limit. */
  readonly bucket?: string
  readonly requests: number
  readonly windowSeconds: number
}

/**
 * What reaches the handler: `checked` against the schema (422 where it does not fit) · `parsed`, any JSON object: the
 * schema only describes it and the handler refuses in words of its own · `bytes`, whatever was sent as application/json.
 */
export type BodyForm = 'checked' | 'parsed' | 'bytes'

/** Path of a detail, `*` for any index → code of the detail (`required`, `enum`, …) → code of the error. */
export type Refusals = Readonly<Record<string, Readonly<Record<string, ErrorCode>>>>

/** Which body limit holds: 256 KiB, 1 MiB for batches, 64 KiB for chat. */
export type BodyLimit = 'default' | 'batch' | 'chat'

export interface Request<P = unknown, Q = unknown, B = unknown, A extends Auth = Auth> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** The authenticated caller; absent on public routes, and where a credential is optional and none was sent. */
  readonly caller: A extends 'none' | 'metrics'
    ? undefined
    : A extends 'optional'
      ? Caller | undefined
      : A extends 'session'
        ? SessionCaller
        : Caller
  readonly requestId: string
  /** Client address, after TRUST_PROXY. */
  readonly ip: string
  /** Lower-case header names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** An answer that is not simply the one success status with a JSON body. */
export class Reply<const Status extends number = number, const Body = unknown> {
  readonly status: Status
  readonly body: Body
  readonly headers: Readonly<Record<string, string | string[]>>
  constructor(status: Status, body: Body, headers: Readonly<Record<string, string | string[]>> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** An example that OpenAPI shows and a test executes. Values like `{terminalId}` are filled from the test's fixtures. */
export interface Example {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

interface RouteSpec<
  A extends Auth,
  P extends TObject,
  Q extends TObject,
  B extends TSchema,
  R extends Responses,
  C extends ContentTypes,
  F extends BodyForm,
  S,
  G,
> {
  /** operationId in OpenAPI; unique. */
  readonly name: string
  readonly method: Method
  /** `/api/things/{thingId}` */
  readonly path: `/${string}`
  readonly auth: A
  /** What the credential needs; of several, one is enough, unless it needs `all`. */
  readonly scope?: Scope | readonly Scope[] | { readonly all: readonly Scope[] }
  readonly summary: string
  readonly description?: string
  readonly tag: string
  readonly params?: P
  /** The last parameter takes the rest of the path, slashes and all. */
  readonly takesRest?: boolean
  readonly query?: Q
  /** Request headers that it reads, and what they mean; for OpenAPI. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: B
  readonly bodyLimit?: BodyLimit
  /** Default: `checked`. */
  readonly bodyForm?: F
  /** Refuses numbers that a double would round (422 `number_not_exact`); for bodies whose values are signed or compared. */
  readonly exactNumbers?: boolean
  /** Status → schema of the body; null for an empty one. The first is the success status. */
  readonly response: R
  /** Codes besides those every route of its kind can answer. */
  readonly errors: readonly ErrorCode[]
  /** Codes of its own for what does not fit its schemas, instead of validation_failed and invalid_query. */
  readonly refusals?: Refusals
  /** What is no request of this route is 400 in every form, as the standard of its path has it: never 415 or 422. */
  readonly badRequest?: true
  /**
   * The handler commits more than once, so the ledger keeps an answer of each step and none of the request: under a
   * repeated Idempotency-Key it runs again and finds them. All other handlers must answer what their commit answers.
   */
  readonly commitsInSteps?: true
  /** What a call costs of the rate limit; default 1, 0 is never counted. */
  readonly cost?: number
  /**
   * Begins at once, and takes none of the places of which an organisation has its share: what waits where it has a queue or a bound of its own, and what
   * tells how the server is. Routes of cost 0, streams of events, and those whose errors name whom they wait for, do so without saying it; true where
   * one of these takes a place all the same.
   */
  readonly queued?: boolean
  /**
   * May wait for what has not happened yet. It takes none of those places, and its credential is looked at once more before it is
   * answered: one that ended meanwhile gets nothing.
   */
  readonly waits?: true
  /** Counted instead of the organisation's limit, or of that of public routes. */
  readonly addressLimit?: AddressLimit
  /** The member of its answer that is a new credential: one that guesses from the same address don't keep from working here. */
  readonly issues?: string
  /** Headers of each of its answers, errors and repeated ones among them. */
  readonly answerHeaders?: Readonly<Record<string, string>>
  /**
   * Content types of the success answer, the usual one first; application/json where absent. Only where it says so the
   * handler may give text, bytes and streams, JSON in bytes among them; `text/event-stream` gives an EventStreamReply.
   */
  readonly produces?: C
  readonly example?: Example
  handler(request: Request<Static<P>, Static<Q>, F extends 'bytes' ? Buffer : Static<B>, A>, services: S): G
}

/** A route with its types erased, as lists and machinery see it. `S` are the services its handler needs. */
export interface Route<S = never>
  extends Omit<
    RouteSpec<Auth, TObject, TObject, TSchema, Responses, ContentTypes, BodyForm, S, unknown>,
    'handler'
  > {
  handler(request: Request<never, never, never, never>, services: S): Promise<unknown> | unknown
}

/** The scopes of which a caller needs one, or {@link needsAllScopes all}; none where any credential will do. */
export const scopesOf = ({ scope = [] }: Pick<Route, 'scope'>): readonly Scope[] => {
  if (typeof scope === 'string') return [scope]
  return 'all' in scope ? scope.all : scope
}

export const needsAllScopes = ({ scope }: Pick<Route, 'scope'>): boolean =>
  typeof scope === 'object' && 'all' in scope

/**
 * Type-checks a route in full, then erases it. What its handler returns is the body of the first status of `response`, or a
 * {@link Reply} of any of its statuses, with just the declared members.
 */
export const route = <
  A extends Auth,
  R extends Responses,
  const G extends Answer<R, C> | Promise<Answer<R, C>>,
  P extends TObject = TObject,
  Q extends TObject = TObject,
  B extends TSchema = TSchema,
  const C extends ContentTypes = ContentTypes,
  const F extends BodyForm = 'checked',
  S = unknown,
>(
  spec: RouteSpec<A, P, Q, B, R, C, F, S, G> & { readonly handler: Exactly<Awaited<G>, Answer<R, C>> },
): Route<S> => spec as Route<S>
