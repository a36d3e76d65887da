/** One request: where it goes, how long it waits, when it is made again, what its answer holds. @module */
import { AssayError, type ErrorBody } from './errors.ts'

const DEFAULT_TIMEOUT_MS = 30_000
const DEFAULT_RETRIES = 2
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000
/** Who is told to wait for longer gets the error instead. */
const LONGEST_RETRY_AFTER_SECONDS = 60
export const MS_PER_SECOND = 1000
/** Whether it was done is not known; what is safe is asked again. */
const UNDONE = [502, 503, 504]
/** Of what something between answered. */
const QUOTED_CHARACTERS = 200
const SAFE_METHODS = ['GET', 'PUT', 'DELETE']

type Changed<T> = T | void | Promise<void> | Promise<T | undefined>
/** One of the attempts that an operation takes. */
export interface Attempt {
  readonly operation: string
  /** 0, 1, … */
  readonly attempt: number
  readonly request: Request
}

export interface ClientOptions {
  /** The service's address. */
  readonly baseUrl: string
  /** API key, or the token of a terminal, pod or route; sent as `Authorization: Bearer`. */
  readonly key?: string
  /** Default: the global one. */
  readonly fetch?: typeof fetch
  /** Called before each attempt. What it returns is sent instead; what it throws is taken for a broken connection. */
  readonly onRequest?: (about: Attempt) => Changed<Request>
  /** Called with each answer, refusals and streams among them. What it returns is taken instead; clone what you read. */
  readonly onResponse?: (about: Attempt & { readonly response: Response }) => Changed<Response>
  /** Of one attempt; default 30 s. What waits by itself, such as `listEvents` with `wait`, has so long besides. */
  readonly timeoutMs?: number
  /** Attempts after the first; default 2. */
  readonly retries?: number
  /** By name, in upper or lower case; each takes the place of what would be sent otherwise. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface CallOptions extends Pick<ClientOptions, 'timeoutMs' | 'retries' | 'headers'> {
  readonly signal?: AbortSignal
  /** Default: a new one for each call of what takes one, the same in all attempts. */
  readonly idempotencyKey?: string
}

export interface Operation {
  readonly name: string
  readonly method: string
  readonly path: string
  /** Names of the query's members. */
  readonly query: readonly string[]
  /** i: takes an Idempotency-Key; o: it counts only with a credential, which need not be there. */
  readonly flags: string
  /** `members`: those of the input that are nowhere else; `whole`: the member `body`. */
  readonly body: 'none' | 'members' | 'whole'
  /** Media types of its answers, with a space between them; `none`: without a body. Then statuses of refusals that need have no code. */
  readonly types: string
}

export type Input = Readonly<Record<string, unknown>>

/** @throws DOMException when the signal is aborted */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => resolve(signal?.removeEventListener('abort', stop)), ms)
    signal?.addEventListener('abort', stop, { once: true })
  })

const randomKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** 0 to 1. */
const chance = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] as number) / 2 ** 32

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value))

/** `https://host/below` of `https://host/below//`. */
const withoutSlashes = (url: string): string => (url.endsWith('/') ? withoutSlashes(url.slice(0, -1)) : url)

/** @throws TypeError for a member of the path that is missing or names another path, or a member that has no place */
export const addressOf = ({ name, path, query, body }: Operation, input: Input, baseUrl: string) => {
  const rest: Record<string, unknown> = { ...input }
  const filled = path.replace(/\{(\w+)\}/g, (_, member: string) => {
    const text = String(rest[member] ?? '')
    if (text === '') throw new TypeError(`${name}: ${member} is missing`)
    // No encoding keeps URLs from folding them.
    if (text === '.' || text === '..') throw new TypeError(`${name}: ${member} must not be "${text}"`)
    delete rest[member]
    return encodeURIComponent(text)
  })
  const url = new URL(withoutSlashes(baseUrl) + filled)
  for (const member of query) {
    if (rest[member] !== undefined) url.searchParams.set(member, textOf(rest[member]))
    delete rest[member]
  }
  const { body: whole, ...others } = rest
  const strangers = Object.keys(body === 'whole' ? others : rest)
  if (body !== 'members' && strangers.length > 0)
    throw new TypeError(`${name}: has no member ${strangers.join(', ')}`)
  return { url, body: body === 'none' ? undefined : JSON.stringify(body === 'whole' ? whole : rest) }
}

/** After how long it is asked again; undefined: never. @param isSafe whether that does no harm where it was done */
const waitAfter = (error: unknown, isSafe: boolean, attempt: number): number | undefined => {
  const backOff = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt) * (0.5 + chance() / 2)
  if (!(error instanceof AssayError)) return isSafe ? backOff : undefined
  const { status, retryAfter } = error
  // Nothing was done of what was too much.
  const isWorthIt =
    status === 429 || (isSafe && (UNDONE.includes(status) || error.error === 'idempotency_in_flight'))
  if (!isWorthIt || (retryAfter ?? 0) > LONGEST_RETRY_AFTER_SECONDS) return undefined
  return retryAfter === undefined ? backOff : retryAfter * MS_PER_SECOND
}

/** One attempt, as those who look on have it. */
const send = async (client: ClientOptions, about: Attempt, signal: AbortSignal): Promise<Response> => {
  const request = (await client.onRequest?.(about)) ?? about.request
  const response = await (client.fetch ?? fetch)(request, { signal })
  return (await client.onResponse?.({ ...about, request, response })) ?? response
}

/**
 * What a success holds; a stream as the response that it is.
 * @throws AssayError for what the service refuses, `no_success` where that has no code, and `not_the_service` for what is none of its
 *   answers, such as a login page
 */
const readAnswer = async ({ name, types }: Operation, response: Response): Promise<unknown> => {
  const { ok, status, headers } = response
  const named = headers.get('content-type')?.split(';')[0]?.toLowerCase()
  const type = status === 204 ? 'none' : (named ?? 'none')
  const isExpected = ok && types.split(' ').includes(type)
  if (isExpected && !/^application\/(\w+\+)?json$/.test(type)) {
    if (type === 'none') return undefined
    if (type === 'text/event-stream') return response
    return /^text\/|ndjson/.test(type) ? response.text() : response.blob()
  }
  const text = await response.text()
  const body: unknown = await new Response(text).json().catch(() => undefined)
  if (isExpected && body !== undefined) return body
  const { error } = (body ?? {}) as ErrorBody
  if (!ok && typeof error === 'string') throw new AssayError(name, response, body as ErrorBody)
  const message = (headers.get('location') ?? text).slice(0, QUOTED_CHARACTERS)
  if (body !== undefined && types.split(' ').includes(String(status)))
    throw new AssayError(name, response, { error: 'no_success', message, answer: body } as ErrorBody)
  throw new AssayError(name, response, { error: 'not_the_service', message })
}

/** Makes requests of one client, each of which comes to what its answer holds. */
export const createRequests = (client: ClientOptions) => {
  if (!URL.canParse(client.baseUrl)) throw new TypeError(`baseUrl: "${client.baseUrl}" is no address`)
  return async (operation: Operation, input: Input, options: CallOptions): Promise<unknown> => {
    const { url, body } = addressOf(operation, input, client.baseUrl)
    const retries = options.retries ?? client.retries ?? DEFAULT_RETRIES
    const waitMs = MS_PER_SECOND * (Number(url.searchParams.get('wait')) || 0)
    const timeoutMs = waitMs + (options.timeoutMs ?? client.timeoutMs ?? DEFAULT_TIMEOUT_MS)
    const headers = new Headers({ accept: 'application/json, */*;q=0.5' })
    if (client.key !== undefined) headers.set('authorization', `Bearer ${client.key}`)
    if (body !== undefined) headers.set('content-type', 'application/json')
    if (operation.flags.includes('i')) headers.set('idempotency-key', options.idempotencyKey ?? randomKey())
    for (const [name, value] of Object.entries({ ...client.headers, ...options.headers }))
      headers.set(name, value)
    const isKnown = !operation.flags.includes('o') || headers.has('authorization')
    const isSafe = SAFE_METHODS.includes(operation.method) || (operation.flags.includes('i') && isKnown)
    for (let attempt = 0; ; attempt++) {
      options.signal?.throwIfAborted()
      const [time, done] = [new AbortController(), new AbortController()]
      const late = new DOMException(`${operation.name}: no answer within ${timeoutMs} ms`, 'TimeoutError')
      const timer = setTimeout(() => time.abort(late), timeoutMs)
      const signal = options.signal ? AbortSignal.any([options.signal, time.signal]) : time.signal
      try {
        // Another place is not the service, and would get a GET in place of a POST.
        const init = { method: operation.method, headers, body, signal, redirect: 'manual' } as const
        const about = { operation: operation.name, attempt, request: new Request(url, init) }
        // An interceptor, or a fetch of the caller's, may never end, whatever the signal says. That is heard until `done` alone: a
        // signal may last as long as the program, and would keep each answer.
        const gone = new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason), done))
        const answer = send(client, about, signal).then((response) => readAnswer(operation, response))
        return await Promise.race([answer, gone])
      } catch (error) {
        const wait = options.signal?.aborted ? undefined : waitAfter(error, isSafe, attempt)
        if (wait === undefined || attempt >= retries) throw error
        await pause(wait, options.signal)
      } finally {
        clearTimeout(timer)
        done.abort()
      }
    }
  }
}
