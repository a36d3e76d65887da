/**
 * One route compiled into one function: who calls, how often, with what, and the answer. Everything that can be
 * decided from the route alone is decided here, once, not in the request.
 * @module
 */
import type { Caller, Idempotency } from '../caller.ts'
import type { GiveWay } from '../circuits/threads/give-way.ts'
import { AppError } from '../errors.ts'
import type { Admission } from './admission.ts'
import { type AnswerKit, compileAnswer } from './answer.ts'
import {
  type AuthContext,
  type Authenticated,
  type Authenticators,
  type Credentials,
  readCredentials,
  requireScope,
} from './auth.ts'
import { addressBlock } from './connections/client-address.ts'
import type { HttpContext } from './context.ts'
import { asBadRequest, errorCodesOf, isQueued, takesIdempotencyKey, waitsForProof } from './errors.ts'
import type { Guesses } from './guesses.ts'
import { type Flights, type IdempotencyKit, REPLAYED_HEADER, readIdempotency } from './idempotency.ts'
import type { ArrivingBodies } from './input/arriving.ts'
import { compileBody, compileParams, compileQuery } from './input/input.ts'
import { type RateLimiter, STOPPED_LIMIT_PER_MINUTE, UNAUTHENTICATED_LIMIT_PER_MINUTE } from './rate-limit.ts'
import type { Request, Route } from './route.ts'

export interface EndpointKit<S> extends AnswerKit {
  readonly services: S
  readonly authenticators: Authenticators
  /** Absent: nothing is limited. */
  readonly rateLimiter?: RateLimiter
  readonly guesses: Guesses
  /** Whether a text looks like a credential that its holder gets anew each day; absent: none does. */
  readonly isShortLived?: (text: string) => boolean
  /** Default of organisations without a limit of their own. */
  readonly limitPerMinute: number
  /** Requests that buckets of address limits have in their window, instead of what their routes say. */
  readonly addressLimits: Readonly<Record<string, number>>
  readonly idempotency: IdempotencyKit
  readonly flights: Flights
  readonly arriving: ArrivingBodies
  readonly admission: Admission
  readonly giveWay: Pick<GiveWay, 'proofAsked' | 'proofAnswered'>
}

/** How long ago a credential may have been looked at when work begins. Servers remember what they saw for as long, so that it was good two seconds ago at the earliest. */
const FRESH_MS = 1000

/** The organisation that a request is counted for; undefined where that is the address it comes from. */
const payerOf = (authenticated: Authenticated | undefined): string | undefined =>
  authenticated?.isOfAnybody ? undefined : authenticated?.caller?.organisation
/** What an address is counted as. */
const addressOwner = (ip: string): string => `ip:${addressBlock(ip)}`

export interface Endpoint {
  readonly method: Route['method']
  readonly path: string
  readonly route: Route
  /** Answers through `ctx`. @throws AppError, or whatever the handler throws */
  run(ctx: HttpContext, params: Readonly<Record<string, string>>): Promise<void>
}

/** Whether a request was refused for its credentials, or for what they may not do. */
const isOfCredential = ({ status, code }: AppError): boolean =>
  status === 401 || status === 403 || code === 'ambiguous_credentials'

type Authenticate = (ctx: HttpContext) => Promise<Authenticated | undefined>

const compileAuthentication = <S>(route: Route<S>, kit: EndpointKit<S>): Authenticate => {
  const { auth, name, path, method, scope, cost = 1, addressLimit } = route
  const { rateLimiter, limitPerMinute, guesses } = kit
  const chargeAddress = async (ctx: HttpContext, points: number) => {
    const { ip, requestId } = ctx.state
    await rateLimiter?.charge(ctx.res, {
      bucket: addressOwner(ip),
      limit: UNAUTHENTICATED_LIMIT_PER_MINUTE,
      cost: points,
      requestId,
    })
  }
  /** Counts a refused credential, or one that is not looked up. @throws AppError rate_limited beyond the limit */
  const chargeGuess = async (ctx: HttpContext): Promise<void> => {
    const { ip } = ctx.state
    try {
      await chargeAddress(ctx, 1)
    } catch (error) {
      guesses.stop(ip)
      throw error
    }
    guesses.allow(ip)
  }
  /** Counts a credential that is to be looked up from a stopped address. @throws AppError rate_limited where it is not */
  const chargeStopped = async (ctx: HttpContext, { apiKey }: Credentials): Promise<void> => {
    if (rateLimiter === undefined || apiKey === undefined || !kit.isShortLived?.(apiKey))
      return chargeGuess(ctx)
    const { ip, requestId } = ctx.state
    const bucket = `new tokens:${addressBlock(ip)}`
    await rateLimiter.charge(ctx.res, { bucket, limit: STOPPED_LIMIT_PER_MINUTE, cost: 1, requestId })
  }
  /** The route's own limit, where it has one. */
  const chargeOwn = async (ctx: HttpContext, organisation?: string): Promise<void> => {
    if (rateLimiter === undefined || addressLimit === undefined) return
    const { ip, requestId } = ctx.state
    const { bucket: shared = name, requests, windowSeconds } = addressLimit
    const limit = kit.addressLimits[shared] ?? requests
    const bucket = `${shared}:${addressBlock(ip)}`
    await rateLimiter.charge(ctx.res, { bucket, limit, windowSeconds, cost, organisation, requestId })
  }
  if (auth === 'none') {
    return async (ctx) => {
      if (addressLimit) await chargeOwn(ctx)
      else if (cost > 0 && rateLimiter) await chargeAddress(ctx, cost)
      return undefined
    }
  }
  const authenticator = kit.authenticators[auth]
  const summary = { name, path, method, auth, scope } as const
  return async (ctx) => {
    const { requestId, ip } = ctx.state
    const context: AuthContext = { requestId, ip, method: ctx.method, route: summary }
    let authenticated: Authenticated
    try {
      const credentials = readCredentials(ctx.req)
      if (guesses.isStopped(ip, credentials)) await chargeStopped(ctx, credentials)
      authenticated = await authenticator(credentials, context)
      guesses.remember(credentials, authenticated)
    } catch (error) {
      // Guesses are counted against the address, since they belong to no organisation, and so is what may not call here.
      if (error instanceof AppError && isOfCredential(error)) await chargeGuess(ctx)
      throw error
    }
    const { caller } = authenticated
    ctx.state.organisation = caller?.organisation
    ctx.state.credential = caller?.credential
    const organisation = payerOf(authenticated)
    if (addressLimit) await chargeOwn(ctx, organisation)
    else if (rateLimiter && cost > 0) {
      if (organisation === undefined) await chargeAddress(ctx, cost)
      else {
        const bucket = authenticated.bucket ?? `org:${organisation}`
        const limit = authenticated.limitPerMinute ?? limitPerMinute
        await rateLimiter.charge(ctx.res, { bucket, limit, cost, organisation, requestId })
      }
    }
    if (caller !== undefined) requireScope(caller, route)
    return authenticated
  }
}

/** Looks once more at the credential of a request that has waited; it is not counted again. @throws AppError as at first */
const compileSecondLook = <S>(
  { auth, name, path, method, scope }: Route<S>,
  kit: EndpointKit<S>,
): Authenticate => {
  if (auth === 'none') return async () => undefined
  const authenticator = kit.authenticators[auth]
  const route = { name, path, method, auth, scope } as const
  return async (ctx) => {
    const { requestId, ip } = ctx.state
    const credentials = readCredentials(ctx.req)
    const authenticated = await authenticator(credentials, { requestId, ip, method: ctx.method, route })
    if (authenticated.caller !== undefined) requireScope(authenticated.caller, route)
    return authenticated
  }
}

/** Whoever has just been given a credential may use it, whatever others guess. */
const compileIssuing = <S>(route: Route<S>, kit: EndpointKit<S>): ReturnType<typeof compileAnswer> => {
  const answer = compileAnswer(route, kit)
  const { issues } = route
  if (issues === undefined) return answer
  return (ctx, result) => {
    kit.guesses.vouch(String((result as Readonly<Record<string, unknown>>)[issues]))
    return answer(ctx, result)
  }
}

const compileCaller = <S>(route: Route<S>, { idempotency: kit }: EndpointKit<S>) => {
  const isIdempotent = takesIdempotencyKey(route)
  return ({ caller }: Authenticated, ctx: HttpContext, raw: Buffer): Caller | undefined => {
    if (caller === undefined) return undefined
    const { organisation, credential, scopes } = caller
    const { requestId, path, query } = ctx.state
    const header = isIdempotent ? ctx.req.headers['idempotency-key'] : undefined
    const idempotency = readIdempotency(header, caller, { method: route.method, path, query }, raw, kit)
    return { organisation, credential, scopes, requestId, idempotency }
  }
}

/**
 * Compiles a route. The order of its checks: credential, rate limit, scope, body form, a place among those that are worked on, an answer
 * that was stored, path, query, schema.
 * @throws Error for a route whose first response is no success
 */
export const compileEndpoint = <S>(route: Route<S>, kit: EndpointKit<S>): Endpoint => {
  const authenticate = compileAuthentication(route, kit)
  const lookAgain = compileSecondLook(route, kit)
  const body = compileBody(route, kit.arriving)
  const readQuery = compileQuery(route)
  const readParams = compileParams(route)
  const answer = compileIssuing(route, kit)
  const declared = kit.checkResponses ? errorCodesOf(route) : undefined
  const toCaller = compileCaller(route, kit)
  const { method, path, answerHeaders = {} } = route
  const { admission, flights, giveWay } = kit
  const queued = isQueued(route)
  const proves = waitsForProof(route)
  const fixedHeaders = Object.entries(answerHeaders)

  /** Before any work, so that a repeated request is neither refused for what has changed since, nor works again. */
  const findAnswer = async (idempotency: Idempotency) =>
    route.commitsInSteps ? undefined : kit.idempotency.findAnswer(idempotency)

  /** What a refused request was answered on another server, where that has committed since this one looked. @throws the refusal */
  const answeredElsewhere = async (
    refusal: unknown,
    idempotency: Idempotency | undefined,
  ): Promise<unknown> => {
    const isRefused = refusal instanceof AppError && refusal.status < 500 && !idempotency?.replayed
    const stored = isRefused && idempotency && (await findAnswer(idempotency))
    if (!stored) throw refusal
    idempotency.replayed = true
    return stored.answer ?? undefined
  }

  const answerAnew = async (
    ctx: HttpContext,
    pathParams: Readonly<Record<string, string>>,
    caller: Caller | undefined,
    raw: Buffer,
  ): Promise<void> => {
    const { requestId, ip } = ctx.state
    const request: Request = {
      params: readParams(pathParams),
      query: readQuery(ctx.state.query),
      body: body.understand(raw),
      caller,
      requestId,
      ip,
      headers: ctx.req.headers,
    }
    let result: unknown
    try {
      // The route was checked in full when it was declared; here its types are gone.
      result = await route.handler(request as Request<never, never, never, never>, kit.services)
    } catch (error) {
      result = await answeredElsewhere(error, caller?.idempotency)
    }
    if (route.waits) await lookAgain(ctx)
    if (caller?.idempotency?.replayed) ctx.set(REPLAYED_HEADER, 'true')
    return answer(ctx, result)
  }

  const work = async (
    ctx: HttpContext,
    pathParams: Readonly<Record<string, string>>,
    authenticated: Authenticated | undefined,
    raw: Buffer,
  ): Promise<void> => {
    const caller = authenticated && toCaller(authenticated, ctx, raw)
    const idempotency = caller?.idempotency
    if (idempotency === undefined) return answerAnew(ctx, pathParams, caller, raw)
    return flights.run(
      idempotency,
      () => findAnswer(idempotency),
      async (stored) => {
        if (stored === undefined) return answerAnew(ctx, pathParams, caller, raw)
        ctx.set(REPLAYED_HEADER, 'true')
        // An empty answer is kept as null.
        answer(ctx, stored.answer ?? undefined)
      },
    )
  }

  const handle = async (ctx: HttpContext, pathParams: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, value] of fixedHeaders) ctx.res.setHeader(name, value)
    const first = await authenticate(ctx)
    const lookedAt = performance.now()
    const organisation = payerOf(first)
    const owner = organisation ?? addressOwner(ctx.state.ip)
    ctx.state.owner = owner
    // Before there is a place, so that a client that sends slowly holds none.
    const raw = await body.read(ctx, owner)
    /** Whoever sent slowly, or waited for a place, may have lost what they came with. */
    const begin = async (): Promise<void> => {
      const isFresh = performance.now() - lookedAt <= FRESH_MS
      return work(ctx, pathParams, isFresh ? first : await lookAgain(ctx), raw)
    }
    if (queued && !admission.take(owner)) await admission.wait(owner, ctx.res, raw.length)
    // Nobody gives way to strangers.
    const isGivenWay = proves && organisation !== undefined
    if (isGivenWay) giveWay.proofAsked(owner)
    try {
      await begin()
    } finally {
      if (isGivenWay) giveWay.proofAnswered(owner)
      if (queued) admission.give(owner)
    }
  }

  const run: typeof handle = route.badRequest
    ? (ctx, params) =>
        handle(ctx, params).catch((error: unknown) => {
          throw asBadRequest(error)
        })
    : handle
  if (declared === undefined) return { method, path, route, run }
  return {
    method,
    path,
    route,
    async run(ctx, params) {
      try {
        await run(ctx, params)
      } catch (error) {
        if (!(error instanceof AppError) || declared.has(error.code)) throw error
        throw new Error(`${route.name} answered the undeclared error ${error.code}`, { cause: error })
      }
    },
  }
}
