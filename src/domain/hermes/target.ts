/** Targets: which URLs can be one, and how one is asked. @module */
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Clock } from '../../clock.ts'
import { AppError, type ErrorCode, fail } from '../../errors.ts'
import { readAddress } from '../../net/address.ts'
import { EgressError, type EgressErrorKind } from '../../net/egress-error.ts'
import type { Resolve } from '../../net/resolve.ts'
import type { SafeFetch } from '../../net/safe-fetch.ts'
import type { Tier } from './flights.ts'

const MAX_ANSWER_BYTES = 5 * 1024 * 1024
const DEADLINE_MS = 8000
const MAX_REDIRECTS = 3
const PLACEHOLDER = '{id}'
const NOT_THERE = [404, 410]
const LETTER_OR_DIGIT = /[0-9A-Za-z]/
/** All that a target learns of us. Nothing of the asker is passed on. */
const HEADERS = { accept: 'application/json', 'user-agent': 'Assay-Hermes/1.0' }

const CODES: Readonly<Record<EgressErrorKind, ErrorCode>> = {
  blocked: 'egress_blocked',
  unreachable: 'upstream_unreachable',
  timeout: 'upstream_timeout',
  too_large: 'upstream_too_large',
  undecodable: 'upstream_invalid',
  redirect: 'upstream_status',
}

const REDIRECT_MESSAGE = 'The target redirected more than three times, or to an address that is not followed.'

const refuse = (code: string, message: string): never =>
  fail('validation_failed', { details: [{ path: '/destinationUrl', code, message }] })

const fill = (destination: string, id: string): string =>
  destination.replaceAll(PLACEHOLDER, encodeURIComponent(id))

/** Whether a URL is one of the service itself. */
export type IsOwnHost = (url: URL) => Promise<boolean>

interface OwnHosts {
  readonly baseUrl: string
  /** Others under which the service is reached, whatever the port. */
  readonly names: readonly string[]
  /** On which this server listens. */
  readonly port: number
  readonly resolve: Resolve
}

const withoutDot = (host: string): string => host.toLowerCase().replace(/\.$/, '')
const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, '')
const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80))

/** Looked up each time: interfaces come and go. */
const isOfThisMachine = (address: string): boolean => {
  const { address: plain, isLoopback } = readAddress(address)
  if (isLoopback) return true
  return Object.values(networkInterfaces()).some((all) =>
    all?.some((own) => readAddress(own.address).address === plain),
  )
}

/** Whether an address and a port are those of this server, which listens on `ownPort`. */
export const isOwnAddress =
  (ownPort: number) =>
  (address: string, port: number): boolean =>
    port === ownPort && isOfThisMachine(address)

/**
 * A host of the service's own is one of its names, or any that leads to this machine and the port on which it listens,
 * however it is spelled. An address alone, or `localhost`, is only that together with the port.
 */
export const ownHosts = ({ baseUrl, names, port, resolve }: OwnHosts): IsOwnHost => {
  const base = new URL(baseUrl)
  const own = new Set(
    [base.hostname, ...names]
      .map(withoutDot)
      .filter((name) => isIP(withoutBrackets(name)) === 0 && name !== 'localhost'),
  )
  return async (url) => {
    const host = withoutDot(url.hostname)
    if (own.has(host) || (host === withoutDot(base.hostname) && portOf(url) === portOf(base))) return true
    if (portOf(url) !== port) return false
    const literal = withoutBrackets(host)
    if (isIP(literal) !== 0) return isOfThisMachine(literal)
    // What has no address now, or another one, may have this machine's when it is dialled: `isOwnAddress` is asked then.
    const addresses = await resolve(host).catch(() => [])
    return addresses.some(({ address }) => isOfThisMachine(address))
  }
}

/**
 * Reads the URL of a target. `{id}` may stand in its path and query.
 * @returns the URL as it was written, without a fragment
 * @throws AppError validation_failed
 */
export const readDestination = async (text: string, isOwnHost: IsOwnHost): Promise<string> => {
  const [destination = ''] = text.trim().split('#')
  const [first, second] = ['0', '1'].map((id) => fill(destination, id))
  if (first === undefined || second === undefined || !URL.canParse(first) || !URL.canParse(second))
    return refuse('url', 'must be an absolute URL')
  const url = new URL(first)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return refuse('url', 'must begin with http: or https:')
  if (url.username !== '' || url.password !== '') return refuse('url', 'must not contain a user or password')
  if (new URL(second).origin !== url.origin) return refuse('url', 'can have {id} only in path and query')
  if (await isOwnHost(url)) return refuse('own_host', 'must not be a URL of this service')
  return destination
}

/** Scheme, host and port alone. */
export const originOf = (destination: string): string => new URL(fill(destination, '0')).origin

/** A URL to ask. */
interface AskedUrl {
  readonly url: string
  /** The id that stands in it, percent-encoded: 404 is an answer about that item then, and not about the URL. */
  readonly item?: string
}

/** The URL to ask. @throws AppError validation_failed when the target needs an id and none was asked for */
export const urlFor = (destination: string, id: string | undefined): AskedUrl => {
  if (!destination.includes(PLACEHOLDER)) return { url: destination }
  if (id === undefined) {
    const message = 'is required: the URL of this route contains {id}'
    return fail('validation_failed', { details: [{ path: '/id', code: 'required', message }] })
  }
  return { url: fill(destination, id), item: encodeURIComponent(id) }
}

/** Whether the path or query of a URL has the item, and not as a part of another word. */
const namesItem = (url: string, item: string): boolean => {
  const { pathname, search } = new URL(url)
  const text = pathname + search
  const isInWord = (at: number): boolean => LETTER_OR_DIGIT.test(text.charAt(at))
  const has = (word: string): boolean => {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
      if (!isInWord(at - 1) && !isInWord(at + word.length)) return true
    return false
  }
  // Where redirects lead, characters that need not be encoded may stand as they are: `ada@example.com`.
  return has(item) || has(decodeURIComponent(item))
}

interface TargetAnswer {
  /** False: the target says that the item doesn't exist. */
  readonly found: boolean
  readonly body: Buffer
  /** Unix ms. */
  readonly fetchedAt: number
}

interface Asked extends AskedUrl {
  /** Whether the ranges of EGRESS_ALLOW_CIDRS are open. */
  readonly allowListed: boolean
  readonly tier: Tier
  readonly isOwnHost: IsOwnHost
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

const asAppError = (error: unknown): unknown =>
  error instanceof EgressError
    ? new AppError(CODES[error.kind], {
        cause: error,
        ...(error.kind === 'redirect' && { message: REDIRECT_MESSAGE }),
      })
    : error

/**
 * Asks a target, always with GET.
 * @throws AppError egress_blocked, upstream_unreachable, upstream_timeout, upstream_too_large, upstream_invalid,
 *   upstream_status
 */
export const askTarget = async (
  safeFetch: SafeFetch,
  clock: Clock,
  { url, item, allowListed, tier, isOwnHost }: Asked,
): Promise<TargetAnswer> => {
  const answer = await safeFetch(url, {
    method: 'GET',
    headers: HEADERS,
    maxBytes: MAX_ANSWER_BYTES,
    deadlineMs: DEADLINE_MS,
    redirects: MAX_REDIRECTS,
    allowListed,
    tier,
    isRefused: isOwnHost,
  }).catch((error: unknown) => {
    throw asAppError(error)
  })
  const { status, body } = answer
  const fetchedAt = clock.now()
  if (isSuccess(status)) return { found: true, body, fetchedAt }
  // Where redirects lead elsewhere, such as to a page for signing in, what is not there is that page.
  const isAboutItem = item !== undefined && (!answer.redirected || namesItem(answer.url, item))
  if (isAboutItem && NOT_THERE.includes(status)) return { found: false, body, fetchedAt }
  return fail('upstream_status', { message: `The target answered with status ${status}.` })
}
