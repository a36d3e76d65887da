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

/** Routes that take an Idempotency-Key; whatever else is sent again does nothing twice. */
const KEYED: ReadonlySet<Method> = new Set(['POST', 'PATCH'])
const KEY_WORDS = 4
const IN_FLIGHT = 'idempotency_in_flight'
const STILL_RUNS =
  'The service still works on what was sent before. Send it again in a moment: it is done once.'

/**
 * What a form has sent as it is filled in, and the Idempotency-Key of each: what is sent again, since no answer came, is done
 * once, and answered as it was the first time, with secrets that are shown once.
 */
export type Attempts = Map<string, string>

const underWay = new Set<Attempts>()

/** Does what a form asks for: whatever it sends bears the key that it had in an earlier attempt. @throws as `run` */
export const attempt = async <T>(attempts: Attempts, run: () => Promise<T>): Promise<T> => {
  underWay.add(attempts)
  try {
    return await run()
  } finally {
    underWay.delete(attempts)
  }
}

/** @param request method, path and body: of another the key is another @returns undefined outside of forms, where nothing remembers it */
const keyOf = (request: string): string | undefined => {
  if (underWay.size === 0) return undefined
  const known = [...underWay].map((attempts) => attempts.get(request)).find((key) => key !== undefined)
  // Pages that came over plain HTTP have no crypto.randomUUID.
  const key = known ?? crypto.getRandomValues(new Uint32Array(KEY_WORDS)).join('-')
  for (const attempts of underWay) attempts.set(request, key)
  return key
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
    const code = textOf(body, 'error') ?? ''
    const message = code === IN_FLIGHT ? STILL_RUNS : textOf(body, 'message')
    super(`${message ?? `The service answered ${status}.`}${wait}`)
    this.status = status
    this.code = code
    const details: readonly unknown[] = isObject(body) && Array.isArray(body.details) ? body.details : []
    this.details = details.map((one) => ({
      path: textOf(one, 'path') ?? '',
      message: sentence(textOf(one, 'message') ?? ''),
    }))
  }
}

const isForeseen = (error: unknown): error is ServiceError | UnreachableError =>
  error instanceof ServiceError || error instanceof UnreachableError

/** @returns what went wrong, for people */
export const wordsOf = (error: unknown): string =>
  isForeseen(error) ? error.message : 'This page failed. Load it again.'

/** For what was told already: faults of the page itself reach the browser's own record of errors. */
export const rethrowFault = (error: unknown): void => {
  if (!isForeseen(error)) throw error
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
  // Where nobody is signed in, no route takes one.
  const takesKey = sent.csrfToken !== undefined && KEYED.has(method)
  const key = takesKey ? keyOf(`${method} ${path} ${body ?? ''}`) : undefined
  if (key !== undefined) headers['Idempotency-Key'] = key
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
    const advice =
      key === undefined ? '' : ' Send it again as it is: what was recorded already is not done twice.'
    throw new UnreachableError(
      `${location.host} does not answer. Nothing is known of what was sent.${advice}`,
      { cause },
    )
  }
  if (status >= 400) throw new ServiceError(status, answer)
  return answer
}
