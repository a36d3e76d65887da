/** What a request is addressed to: the forms of a request target, and the Host field (RFC 9112 §3.2). @module */
import type { IncomingMessage } from 'node:http'
import { AppError } from '../../errors.ts'

/** RFC 9112 §3.2.2. The fragment is not part of it. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)([^#]*)/i
/** uri-host [ ":" port ], RFC 9110 §7.2; it may be empty. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d{0,5})?$/i

/** A target in absolute form becomes one in origin form, and its authority the Host, whatever that field says. */
export const useOriginForm = (request: IncomingMessage): void => {
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
export const requireHost = ({ rawHeaders, headers, httpVersion }: IncomingMessage): void => {
  const count = countHosts(rawHeaders)
  if (count === 0 && httpVersion === '1.1')
    throw new AppError('invalid_request', { message: 'The request has no Host field.' })
  if (count > 1)
    throw new AppError('invalid_request', { message: 'The request has more than one Host field.' })
  if (headers.host !== undefined && !HOST.test(headers.host))
    throw new AppError('invalid_request', { message: 'The Host field names no host.' })
}
