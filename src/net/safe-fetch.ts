/**
 * Outbound HTTP to addresses that strangers name: only public ones and those an operator opened, within one
 * deadline and one size, without the environment's proxies, and with redirects judged like the first URL.
 * @module
 */
import { type Agent, type Dispatcher, errors } from 'undici'
import { createAddressJudge } from './address.ts'
import { ACCEPTED_ENCODINGS, readWithin, unpack } from './body.ts'
import { createPool, type IsRefusedAddress } from './connector.ts'
import { createDns } from './dns.ts'
import { EgressError } from './egress-error.ts'
import { createLocalResolve, createResolve, type Resolve } from './resolve.ts'

const REDIRECT_STATUSES = [301, 302, 303, 307, 308]
const IGNORED_BODY_MS = 1000
/** Headers that go along to another origin; all others might be credentials. */
const HARMLESS_HEADERS = ['accept', 'accept-language', 'user-agent']

type Tier = 'paying' | 'open' | 'webhooks'
type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface SafeFetchRequest {
  readonly method: Method
  /** Accept-Encoding is set here and can't be overridden. */
  readonly headers: Readonly<Record<string, string>>
  /** Asks for the content as it is, since a Content-Digest is one of what is sent (RFC 9530 §2). */
  readonly isIdentity?: boolean
  readonly body?: string | Buffer
  /** Limit of the body as it is sent and as it is unpacked. */
  readonly maxBytes: number
  /**
   * The answer is its head: its body is empty here, and what is sent of it within a second and `maxBytes` is thrown
   * away, so that the connection can be used again; beyond that the connection is closed.
   */
  readonly ignoreBody?: boolean
  /** For everything: look-ups, connections, redirects, head and body. */
  readonly deadlineMs: number
  /**
   * Redirects to follow (GET and HEAD only). With 0 a redirect is an answer like any other; with more, one that
   * can't be followed is an EgressError `redirect`.
   */
  readonly redirects: number
  /** Whether the ranges of `allowCidrs` are open to this call. */
  readonly allowListed: boolean
  /**
   * Calls for strangers (`open`) have connections and look-ups of their own, so that those that others need are never
   * taken by them. So have `webhooks`, whose number is for their sender to limit. Default `paying`.
   */
  readonly tier?: Tier
  /**
   * URLs that aren't asked for reasons of the caller's own; each redirect is judged as well. Such a call isn't connected
   * to an address of `isRefusedAddress` either: a name may lead elsewhere by the time it is dialled.
   */
  readonly isRefused?: (url: URL) => Promise<boolean>
  /** Ends the call early; it then throws the signal's reason. */
  readonly signal?: AbortSignal
}

export interface SafeFetchResponse {
  readonly status: number
  /** Lower-case names; repeated headers joined by a comma and a space. */
  readonly headers: Readonly<Record<string, string>>
  /** Unpacked. */
  readonly body: Buffer
  /** Where the answer came from, after redirects. */
  readonly url: string
  readonly redirected: boolean
}

export interface SafeFetch {
  /** @throws EgressError, or the reason of `signal` */
  (url: string, request: SafeFetchRequest): Promise<SafeFetchResponse>
  /** Ends calls in flight and closes all connections. */
  close(): Promise<void>
}

export interface SafeFetchOptions {
  /** Ranges that calls with `allowListed` may reach besides public addresses. */
  readonly allowCidrs: readonly string[]
  /** Certificates (PEM) that such calls trust besides the usual authorities. */
  readonly ca?: string
  /** DNS servers, `host:port`; default: the system's. */
  readonly dnsServers?: readonly string[]
  /** Default: DNS, and for calls with `allowListed` the system for names of its own. */
  readonly resolve?: Resolve
  /** Addresses and ports that calls with `isRefused` don't reach; default none. */
  readonly isRefusedAddress?: IsRefusedAddress
}

/** @throws EgressError of the given kind unless it is an http(s) URL without a user */
const parseTarget = (text: string, base: URL | undefined, kind: 'blocked' | 'redirect'): URL => {
  if (!URL.canParse(text, base)) throw new EgressError(kind, 'the URL is malformed')
  const url = new URL(text, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new EgressError(kind, 'only http and https may be called')
  }
  if (url.username !== '' || url.password !== '')
    throw new EgressError(kind, 'the URL holds a user or password')
  return url
}

const flat = (headers: Dispatcher.ResponseData['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** What undici, the resolver or the socket threw, in our words. @returns undefined for a fault of ours */
const translate = (error: unknown, host: string): EgressError | undefined => {
  if (error instanceof EgressError) return error
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new EgressError('too_large', `the headers of ${host} are too large`, { cause: error })
  }
  if (error instanceof errors.HTTPParserError) {
    return new EgressError('undecodable', `${host} doesn't answer in HTTP`, { cause: error })
  }
  // Both say that our own code asked for something impossible.
  if (code === '' || code === 'UND_ERR_INVALID_ARG') return undefined
  return new EgressError('unreachable', `${host} can't be reached: ${code}`, { cause: error })
}

interface Hop {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The next URL of a redirect. @throws EgressError redirect */
const redirectTarget = (
  from: URL,
  { status, headers: { location } }: Hop,
  { method }: SafeFetchRequest,
): URL => {
  const refuse = (message: string): never => {
    throw new EgressError('redirect', message, { status })
  }
  if (method !== 'GET' && method !== 'HEAD')
    return refuse(`a ${method} is never sent again to another address`)
  if (location === undefined) return refuse('the redirect names no address')
  const to = parseTarget(location, from, 'redirect')
  if (from.protocol === 'https:' && to.protocol === 'http:')
    return refuse('a redirect led from https to http')
  return to
}

const harmless = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => HARMLESS_HEADERS.includes(name.toLowerCase())),
  )

const withoutEncoding = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'accept-encoding'))

/** undici notices that a call was given up only once it has a connection; its caller needn't wait for that. */
const orAborted = async <T>(call: Promise<T>, signal: AbortSignal): Promise<T> => {
  let onAbort = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
  })
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([call, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

const askOnce = async (
  pool: Agent,
  url: URL,
  headers: Readonly<Record<string, string>>,
  { method, body, maxBytes, ignoreBody, isIdentity = false }: SafeFetchRequest,
  signal: AbortSignal,
): Promise<Hop> => {
  const answer = await pool.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers: {
      ...withoutEncoding(headers),
      'accept-encoding': isIdentity ? 'identity' : ACCEPTED_ENCODINGS,
    },
    body: body ?? null,
    signal,
  })
  const { statusCode: status } = answer
  const received = flat(answer.headers)
  if (ignoreBody) {
    // Not AbortSignal.timeout, whose error is made a second later, stack and all, also for bodies that ended at once.
    const giveUp = setTimeout(() => answer.body.destroy(), IGNORED_BODY_MS)
    const done = (): void => clearTimeout(giveUp)
    answer.body.dump({ limit: maxBytes }).then(done, done)
    return { status, headers: received, body: Buffer.alloc(0) }
  }
  // Leaving the loop over the body, for whatever reason, destroys it and its connection.
  const packed = await readWithin(answer.body, maxBytes, status)
  return {
    status,
    headers: received,
    body: await unpack(packed, received['content-encoding'], maxBytes, status),
  }
}

/** The connections of one tier. Those of calls with and without `allowListed` are apart, and with and without `isRefused`. */
const createPools = (
  { allowCidrs, ca, dnsServers, resolve, isRefusedAddress }: SafeFetchOptions,
  connections?: number,
) => {
  const dns = createDns({ servers: dnsServers })
  const everywhere = {
    judge: createAddressJudge([]),
    resolve: resolve ?? createResolve(dns),
    connections,
  }
  const allowListed = {
    judge: createAddressJudge(allowCidrs),
    resolve: resolve ?? createLocalResolve(dns),
    ca,
    connections,
  }
  const any = { everywhere: createPool(everywhere), allowListed: createPool(allowListed) }
  const refusing = {
    everywhere: createPool({ ...everywhere, isRefusedAddress }),
    allowListed: createPool({ ...allowListed, isRefusedAddress }),
  }
  return {
    for(request: SafeFetchRequest): Agent {
      const pools = request.isRefused ? refusing : any
      return request.allowListed ? pools.allowListed : pools.everywhere
    },
    close: async (): Promise<void> => {
      dns.close()
      const pools = [any, refusing].flatMap((pair) => Object.values(pair))
      await Promise.all(pools.map((pool) => pool.destroy()))
    },
  }
}

/**
 * Makes the one door to the outside. Calls with and without `allowListed` have connections of their own, and so have
 * those with `isRefused`, so a connection that was opened with more rights never serves a call with fewer.
 * @throws Error when one of `allowCidrs` is no CIDR
 */
export const createSafeFetch = (options: SafeFetchOptions): SafeFetch => {
  const tiers = {
    paying: createPools(options),
    open: createPools(options),
    // Many endpoints may share a host, and those that are slow must not hold up the others there.
    webhooks: createPools(options, Number.POSITIVE_INFINITY),
  }

  const follow = async (
    text: string,
    request: SafeFetchRequest,
    signal: AbortSignal,
  ): Promise<SafeFetchResponse> => {
    const pool = tiers[request.tier ?? 'paying'].for(request)
    let url = parseTarget(text, undefined, 'blocked')
    let headers = request.headers
    for (let followed = 0; ; followed++) {
      const { host, origin } = url
      const { isRefused } = request
      if (isRefused && (await orAborted(isRefused(url), signal)))
        throw new EgressError(
          followed === 0 ? 'blocked' : 'redirect',
          `${host} can't be called by this caller`,
        )
      const hop = await orAborted(askOnce(pool, url, headers, request, signal), signal).catch(
        (error: unknown) => {
          throw signal.aborted ? signal.reason : (translate(error, host) ?? error)
        },
      )
      if (request.redirects === 0 || !REDIRECT_STATUSES.includes(hop.status)) {
        return { ...hop, url: url.href, redirected: followed > 0 }
      }
      if (followed === request.redirects) {
        throw new EgressError('redirect', `more than ${request.redirects} redirects`, { status: hop.status })
      }
      url = redirectTarget(url, hop, request)
      if (url.origin !== origin) headers = harmless(headers)
    }
  }

  const safeFetch = async (text: string, request: SafeFetchRequest): Promise<SafeFetchResponse> => {
    const { deadlineMs, signal } = request
    signal?.throwIfAborted()
    const control = new AbortController()
    const cancel = () => control.abort(signal?.reason)
    const timer = setTimeout(() => {
      control.abort(new EgressError('timeout', `no complete answer within ${deadlineMs} ms`))
    }, deadlineMs)
    signal?.addEventListener('abort', cancel, { once: true })
    try {
      return await follow(text, request, control.signal)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
    }
  }

  const close = async (): Promise<void> => {
    await Promise.all([tiers.paying.close(), tiers.open.close(), tiers.webhooks.close()])
  }
  return Object.assign(safeFetch, { close })
}
