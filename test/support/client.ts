/**
 * The HTTP client of all tests and benches: sends what it is given, Host included, and reads the whole answer.
 * Only what needs the bytes of a connection, or an answer before its end, speaks HTTP by itself.
 * @module
 */
import { Agent, type Dispatcher, request as send } from 'undici'

export interface RequestOptions {
  /** Text and bytes are sent as they are, anything else as JSON; all as application/json unless `headers` say otherwise. */
  readonly body?: unknown
  /** Sent as X-API-Key. */
  readonly key?: string
  /** Sent as Authorization: Bearer. */
  readonly bearer?: string
  /** By lower-case name; undefined: not sent. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export interface TestResponse<T> {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON, the text of anything else, undefined where there is none. */
  readonly body: T
  /** The body as it came. */
  readonly bytes: Buffer
}

export interface Client {
  /** `T` is what the test knows of the body. @throws Error when there is no answer */
  request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<TestResponse<T>>
}

export const isSuccess = ({ status }: { readonly status: number }): boolean => status >= 200 && status <= 299

const bodyBytes = (body: unknown): string | Uint8Array | undefined =>
  body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)

const readBody = (type: string, bytes: Buffer): unknown => {
  if (bytes.length === 0) return undefined
  return /\bjson\b/.test(type) ? JSON.parse(bytes.toString()) : bytes.toString()
}

/** Connections are left open as long as servers like, and keep no process alive. */
const dispatcher = new Agent()

/**
 * @param url of a server
 * @param always headers of every request, unless it says otherwise
 * @param connections what keeps them, and has the time-outs; default: connections of all, without
 */
export const clientOf = (
  url: string,
  always: () => Readonly<Record<string, string>> = () => ({}),
  connections: Dispatcher = dispatcher,
): Client => ({
  async request<T>(
    method: string,
    path: string,
    { body, key, bearer, headers }: RequestOptions = {},
  ): Promise<TestResponse<T>> {
    const answer = await send(url + path, {
      dispatcher: connections,
      method: method as 'GET',
      headers: {
        ...always(),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'x-api-key': key }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...headers,
      },
      body: bodyBytes(body) ?? null,
    })
    const given = new Headers()
    for (const [name, values = []] of Object.entries(answer.headers))
      for (const value of [values].flat()) given.append(name, value)
    const type = given.get('content-type') ?? ''
    // A stream never ends: that it began is the answer.
    if (type.startsWith('text/event-stream')) answer.body.on('error', () => undefined).destroy()
    const bytes = answer.body.destroyed ? Buffer.alloc(0) : Buffer.from(await answer.body.arrayBuffer())
    return { status: answer.statusCode, headers: given, body: readBody(type, bytes) as T, bytes }
  },
})

/** @returns the body of an answer with 2xx @throws Error with `what` and the answer for any other */
export const demandSuccess = <T>({ status, body }: TestResponse<T>, what = 'refused'): T => {
  if (!isSuccess({ status })) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`)
  return body
}

/** Sends a request. @returns the body of its answer @throws Error unless that is 2xx */
export const ok = async <T>(
  client: Client,
  method: string,
  path: string,
  options?: RequestOptions,
): Promise<T> => demandSuccess(await client.request<T>(method, path, options), `${method} ${path}`)
