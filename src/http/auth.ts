/**
 * Credentials in, caller out. This file reads the headers; who a credential belongs to is decided by the
 * authenticators that the service hands in, so the kit knows no accounts and no database.
 * @module
 */
import type { IncomingMessage } from 'node:http'
import type { Caller, Scope } from '../caller.ts'
import { AppError } from '../errors.ts'
import { type Auth, needsAllScopes, type Route, scopesOf } from './route.ts'

/** Name of the console's session cookie. */
export const SESSION_COOKIE = 'assay_session'
/** Longest credential that is looked at; nothing we issue comes near it. */
const CREDENTIAL_MAX_CHARS = 512
/** With the word `Bearer`. */
const AUTHORIZATION_MAX_CHARS = CREDENTIAL_MAX_CHARS + 8
/** What is longer is something else, most likely a token of several kilobytes. */
const TOO_LONG = {
  message: `A credential can have at most ${CREDENTIAL_MAX_CHARS} characters. Hybrid tokens are not credentials: send them in the JSON body or in cookies, not in a credential header.`,
  reason: 'CREDENTIAL_TOO_LONG',
} as const

/** What a request presents, unverified. */
export interface Credentials {
  /** From `X-API-Key` or `Authorization: Bearer`: an API key, a terminal token or the metrics token. */
  readonly apiKey?: string
  /** From `X-Pod-Key`. */
  readonly podKey?: string
  /** Value of the {@link SESSION_COOKIE} cookie. */
  readonly cookie?: string
  /** Value of `X-CSRF-Token`. */
  readonly csrf?: string
}

/** What an authenticator may know of the request. */
export interface AuthContext {
  readonly requestId: string
  /** Client address, after TRUST_PROXY. */
  readonly ip: string
  /** Upper case. GET and HEAD need no CSRF token. */
  readonly method: string
  readonly route: Pick<Route, 'name' | 'path' | 'method' | 'auth' | 'scope'>
}

/** A caller before the request's own particulars are added; an authenticator may keep it between requests. */
export type Identity = Omit<Caller, 'requestId' | 'idempotency'>

export interface Authenticated {
  /** Absent only where the token stands for no organisation (METRICS_TOKEN). */
  readonly caller?: Identity
  /** The organisation's own rate limit; absent: the service's default. */
  readonly limitPerMinute?: number
  /** What the limit counts; absent: the organisation. */
  readonly bucket?: string
  /** Whether the address is counted and has its turn instead, as of whoever has no credential: one like this can be had for nothing. */
  readonly isOfAnybody?: boolean
}

/** @throws AppError unauthorized, ambiguous_credentials, insufficient_scope, csrf_required */
export type Authenticator = (
  credentials: Credentials,
  context: AuthContext,
) => Promise<Authenticated> | Authenticated

export type Authenticators = Readonly<Record<Exclude<Auth, 'none'>, Authenticator>>

const BEARER = /^Bearer +([^ ]+) *$/i

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value

/** The value of one cookie in a Cookie header (RFC 6265 §4.2.1), undecoded. */
const readCookie = (header: string, name: string): string | undefined => {
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
  }
  return undefined
}

const AUTHORIZATION = 'authorization'

/** Whether there is another Authorization field than the first, which is all that Node keeps. */
const hasOther = (rawHeaders: readonly string[], first: string): boolean => {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length !== AUTHORIZATION.length || rawHeaders[at + 1] === first) continue
    if (name.toLowerCase() === AUTHORIZATION) return true
  }
  return false
}

/**
 * Reads the credentials of a request. A session cookie beside a key is no contradiction: the key counts.
 * @throws AppError ambiguous_credentials when X-API-Key and Authorization, or two of Authorization, name different keys,
 *   unauthorized for an Authorization header of another scheme or an overlong credential
 */
export const readCredentials = ({
  headers,
  rawHeaders,
}: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): Credentials => {
  const { authorization, cookie } = headers
  let apiKey = single(headers['x-api-key']) || undefined
  if (authorization !== undefined) {
    if (hasOther(rawHeaders, authorization)) throw new AppError('ambiguous_credentials')
    if (authorization.length > AUTHORIZATION_MAX_CHARS) throw new AppError('unauthorized', TOO_LONG)
    const bearer = BEARER.exec(authorization)?.[1]
    if (bearer === undefined)
      throw new AppError('unauthorized', { message: 'Authorization must be a Bearer credential.' })
    if (apiKey !== undefined && apiKey !== bearer) throw new AppError('ambiguous_credentials')
    apiKey = bearer
  }
  const podKey = single(headers['x-pod-key']) || undefined
  if (Math.max(apiKey?.length ?? 0, podKey?.length ?? 0) > CREDENTIAL_MAX_CHARS)
    throw new AppError('unauthorized', TOO_LONG)
  if (cookie === undefined) return { apiKey, podKey }
  const session = readCookie(cookie, SESSION_COOKIE)
  return { apiKey, podKey, cookie: session, csrf: single(headers['x-csrf-token']) }
}

/** @throws AppError insufficient_scope, naming the scopes that it takes, or the role of a member who lacks it */
export const requireScope = (identity: Identity | undefined, route: Pick<Route, 'scope'>): void => {
  const scopes = scopesOf(route)
  const needsAll = needsAllScopes(route)
  const has = (scope: Scope): boolean => identity?.scopes.has(scope) === true
  if (scopes.length === 0 || (needsAll ? scopes.every(has) : scopes.some(has))) return
  if (identity?.credential.kind === 'session') {
    const { role } = identity.credential
    throw new AppError('insufficient_scope', { message: `The role "${role}" does not allow this.` })
  }
  const names = scopes.map((scope) => `"${scope}"`).join(needsAll ? ' and ' : ' or ')
  throw new AppError('insufficient_scope', {
    message: `This route requires a credential with scope ${names}.`,
  })
}
