/** Asking the service that served the page. @module */
import { isObject } from '../protocol/json-object.ts'

const TIMEOUT_MS = 30_000

export interface Answer {
  readonly status: number
  readonly body: unknown
  /** Unix ms by the service's clock; undefined where it doesn't say. */
  readonly date: number | undefined
}

const dateOf = ({ headers }: Response): number | undefined => {
  const ms = Date.parse(headers.get('Date') ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

/** The service could not be reached, or what answered was not the service. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

/** Fetches code that a page loads only when it needs it. @throws UnreachableError where it can't be had */
export const loadCode = async <T>(load: () => Promise<T>): Promise<T> => {
  try {
    return await load()
  } catch (cause) {
    // The browser doesn't say why: a network that is down, or a file of the version before.
    throw new UnreachableError(
      `${location.host} does not answer, or was updated meanwhile: load this page again.`,
      { cause },
    )
  }
}

/** @returns a text member, undefined where there is none */
export const textOf = (value: unknown, name: string): string | undefined => {
  const member = isObject(value) ? value[name] : undefined
  return typeof member === 'string' ? member : undefined
}

/** Asks for a file. @param path on this origin @param cache of files that change @throws UnreachableError unless it is there */
export const askFile = async (path: string, cache: RequestCache = 'default'): Promise<Response> => {
  let response: Response
  try {
    response = await fetch(path, {
      cache,
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch (cause) {
    throw new UnreachableError(`${location.host} does not answer.`, { cause })
  }
  if (!response.ok) throw new UnreachableError(`${path} is not there (${response.status}).`)
  return response
}

/**
 * Asks for JSON.
 * @param path on this origin
 * @throws UnreachableError
 */
export const askJson = async (
  path: string,
  init: {
    method?: string
    headers?: Readonly<Record<string, string>>
    body?: string
    timeoutMs?: number
  } = {},
): Promise<Answer> => {
  const { timeoutMs = TIMEOUT_MS, headers, ...rest } = init
  try {
    const response = await fetch(path, {
      ...rest,
      headers: { Accept: 'application/json', ...headers },
      cache: 'no-cache',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    return { status: response.status, body: await response.json(), date: dateOf(response) }
  } catch (cause) {
    throw new UnreachableError(`${location.host} does not answer.`, { cause })
  }
}
