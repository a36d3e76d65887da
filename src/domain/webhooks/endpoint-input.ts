/** What callers say of an endpoint, checked; names of hosts are judged when deliveries are made, not here. @module */
import { isIP } from 'node:net'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { AddressJudge } from '../../net/address.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from './events.ts'

/** RFC 6761 §6.3: names of this machine, whatever anybody's name server says. */
const LOCALHOST = /(^|\.)localhost\.?$/
const LOOPBACK = '127.0.0.1'
/** The URL parser takes `https:/x` and `https:x` for `https://x`. */
const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/\\?#]/i
/** The URL parser drops or trims them silently; what is stored is what was meant. */
const NOT_IN_URLS = /[\s\p{Cc}]/u

const refuse = (code: ErrorCode, path: string, message: string): never => {
  throw new AppError(code, { message, details: [{ path, code, message }] })
}

/**
 * @param mayCall which addresses the caller's endpoints may be at
 * @throws AppError invalid_url, url_not_https, url_blocked
 */
export const readUrl = (text: string | undefined, mayCall: AddressJudge): string => {
  if (text === undefined || NOT_IN_URLS.test(text) || !URL.canParse(text))
    return refuse('invalid_url', '/url', 'url must be an absolute URL')
  const { protocol, hostname, username, password, port } = new URL(text)
  if (protocol !== 'https:') return refuse('url_not_https', '/url', 'url must begin with https://')
  if (!AUTHORITY.test(text)) return refuse('invalid_url', '/url', 'url must have a host after https://')
  if (port === '0') return refuse('invalid_url', '/url', 'url must not name port 0')
  if (username !== '' || password !== '')
    return refuse('url_blocked', '/url', 'url must not contain a user or password')
  const host = hostname.replace(/^\[|\]$/g, '')
  const address = isIP(host) !== 0 ? host : LOCALHOST.test(host) ? LOOPBACK : undefined
  if (address !== undefined && !mayCall(address))
    return refuse('url_blocked', '/url', 'url has an address that is not allowed')
  return text
}

/** @returns each event once, in the order of the list */
export const distinctEvents = (names: readonly WebhookEvent[]): WebhookEvent[] =>
  WEBHOOK_EVENTS.filter((event) => names.includes(event))
