/** One call of the service as somebody typed it, and what came back. @module */

const TIMEOUT_MS = 120_000
const MAX_SHOWN_CHARACTERS = 100_000
const SHOWN_HEADERS = [
  'content-type',
  'location',
  'idempotency-replayed',
  'ratelimit',
  'retry-after',
  'www-authenticate',
  'x-free-remaining',
  'x-request-id',
]

export interface Call {
  readonly method: string
  /** With its query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Came {
  readonly status: number
  readonly ms: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** JSON with its lines; other text as it is. */
const readable = (text: string, type: string): string => {
  if (!type.includes('json')) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** @throws TypeError, DOMException when there is no answer */
export const call = async ({ method, target, headers, body }: Call): Promise<Came> => {
  const startedAt = performance.now()
  const response = await fetch(target, {
    ...{ method, headers, body },
    cache: 'no-store',
    // A session of the console that is open in this browser has no say here.
    credentials: 'omit',
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = readable(await response.text(), response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    ms: Math.round(performance.now() - startedAt),
    headers: SHOWN_HEADERS.flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    }),
    body: text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}\n…` : text,
  }
}
