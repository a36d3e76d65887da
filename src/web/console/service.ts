/** Requests of the console to the service that served it, and what the service refuses them with. @module */
import { isObject } from '../../protocol/json-object.ts'
import { textOf, UnreachableError } from '../http.ts'

const TIMEOUT_MS = 30_000
/** A proof takes a second or so, longer while many wait; lists of a million entries most of a minute. */
const SLOW_TIMEOUT_MS = 120_000
const NO_CONTENT = 204

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What is wrong with one member of a body. */
export interface Detail {
  /** JSON Pointer (RFC 6901). */
  readonly path: string
  readonly message: string
}

/** Details name a member and say what is wrong with it: `url must be …`. */
const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`

/** The service refused a request: its code, and its own words as the message. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly status: number
  readonly code: string
  readonly details: readonly Detail[]

  constructor(status: number, body: unknown) {
    const retryAfter = isObject(body) ? body.retry_after : undefined
    const wait = typeof retryAfter === 'number' ? ` Try again in ${retryAfter} s.` : ''
    super(`${textOf(body, 'message') ?? `The service answered ${status}.`}${wait}`)
    this.status = status
    this.code = textOf(body, 'error') ?? ''
    const details: readonly unknown[] = isObject(body) && Array.isArray(body.details) ? body.details : []
    this.details = details.map((one) => ({
      path: textOf(one, 'path') ?? '',
      message: sentence(textOf(one, 'message') ?? ''),
    }))
  }
}

export interface Sent {
  readonly body?: unknown
  /** In place of a body: JSON as it was typed. */
  readonly json?: string
  /** Of the session; needed for what changes something. */
  readonly csrfToken?: string
  /** Whether the service does something for the answer that takes long, such as making a proof. */
  readonly slow?: boolean
}

/**
 * Sends a request with the session's cookie.
 * @param path on this origin
 * @returns the body of the answer; undefined where it has none
 * @throws ServiceError when it is refused, UnreachableError when nobody answers
 */
export const send = async (method: Method, path: string, sent: Sent = {}): Promise<unknown> => {
  const headers: Record<string, string> = { Accept: 'application/json' }
  const body = sent.body === undefined ? sent.json : JSON.stringify(sent.body)
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (sent.csrfToken !== undefined && method !== 'GET') headers['X-CSRF-Token'] = sent.csrfToken
  let status: number
  let answer: unknown
  try {
    const response = await fetch(path, {
      method,
      headers,
      body,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      signal: AbortSignal.timeout(sent.slow ? SLOW_TIMEOUT_MS : TIMEOUT_MS),
    })
    status = response.status
    answer = status === NO_CONTENT ? undefined : await response.json()
  } catch (cause) {
    throw new UnreachableError(`${location.host} does not answer. Nothing is known of what was sent.`, {
      cause,
    })
  }
  if (status >= 400) throw new ServiceError(status, answer)
  return answer
}
