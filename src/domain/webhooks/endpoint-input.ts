/** What callers say of an endpoint, checked; names of hosts are judged when deliveries are made, not here. @module */
import { isIP } from 'node:net'
import { AppError, type ErrorCode } from '../../errors.ts'
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEvent } from '../../events.ts'
import type { AddressJudge } from '../../net/address.ts'

/** RFC 6761 §6.3: names of this machine, whatever anybody's name server says. */
const LOCALHOST = /(^|\.)localhost\.?$/
const LOOPBACK = '127.0.0.1'
/** The URL parser drops or trims them silently; what is stored is what was meant. */
const NOT_IN_URLS = /[\s\p{Cc}]/u

const refuse = (code: ErrorCode, path: string, message: string): never => {
  throw new AppError(code, { message, details: [{ path, code, message }] })
}

/** @throws AppError label_required */
export const readLabel = (label: string | undefined): string => {
  const trimmed = label?.trim() ?? ''
  return trimmed === ''
    ? refuse('label_required', '/label', 'label must be a text that is not blank')
    : trimmed
}

/**
 * @param mayCall which addresses the caller's endpoints may be at
 * @throws AppError invalid_url, url_not_https, url_blocked
 */
export const readUrl = (text: string | undefined, mayCall: AddressJudge): string => {
  if (text === undefined || NOT_IN_URLS.test(text) || !URL.canParse(text))
    return refuse('invalid_url', '/url', 'url must be an absolute URL')
  const { protocol, hostname, username, password } = new URL(text)
  if (protocol !== 'https:') return refuse('url_not_https', '/url', 'url must begin with https://')
  if (username !== '' || password !== '')
    return refuse('url_blocked', '/url', 'url must not hold a user or password')
  const host = hostname.replace(/^\[|\]$/g, '')
  const address = isIP(host) !== 0 ? host : LOCALHOST.test(host) ? LOOPBACK : undefined
  if (address !== undefined && !mayCall(address))
    return refuse('url_blocked', '/url', 'url names an address that must not be called')
  return text
}

/** @returns each event once, in the order of the list @throws AppError events_empty, invalid_event */
export const readEvents = (names: readonly string[] | undefined): WebhookEvent[] => {
  if (names === undefined || names.length === 0)
    return refuse('events_empty', '/events', 'events must name at least one event')
  for (const [place, name] of names.entries()) {
    if (!isWebhookEvent(name))
      refuse('invalid_event', `/events/${place}`, `an event is one of ${WEBHOOK_EVENTS.join(', ')}`)
  }
  return WEBHOOK_EVENTS.filter((event) => names.includes(event))
}
