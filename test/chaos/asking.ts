/** A client that asks until it is answered for good, as one must who wants something done exactly once. */
import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import { clientOf, type RequestOptions, type TestResponse } from '../support/client.ts'
import type { Model, Operation } from './model.ts'
import type { Random } from './random.ts'

/** Longer than anything is to take while something is broken, and shorter than nobody would wait. */
const ANSWER_TIMEOUT_MS = 15_000
const CONNECT_TIMEOUT_MS = 2_000
/** Between two attempts, drawn anew each time. */
const PAUSES_MS = [50, 300] as const
const TOO_MANY = 429
const UNAVAILABLE = 503

export interface Asked extends RequestOptions {
  /** Statuses that are answers. Every other one below 500 breaks an invariant. */
  readonly answers: readonly number[]
}

export interface Asking {
  /**
   * Asks until one of the answers comes, again whenever there is none, 429 or 503.
   * @throws Error when the run is over before that, or something else is answered
   */
  ask<T>(operation: Operation, method: string, path: string, asked: Asked): Promise<TestResponse<T>>
  /** No further attempts are made after this time. */
  giveUpAfter(ms: number): void
}

interface Failure {
  readonly error?: string
}

/** Each request has a connection of its own, so that whichever server is next answers it. */
const connections = () =>
  new Agent({
    pipelining: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: ANSWER_TIMEOUT_MS,
  })

const codeOf = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null && 'error' in body ? (body as Failure).error : undefined

const describe = ({ status, headers, body }: TestResponse<unknown>): string =>
  [status, codeOf(body), headers.get('idempotency-replayed') === null ? undefined : '(repeated)']
    .filter((part) => part !== undefined)
    .join(' ')

/** Of a server error only this one is declared. */
const isDeclared = ({ status, headers }: TestResponse<unknown>): boolean =>
  status < 500 || (status === UNAVAILABLE && Number(headers.get('retry-after')) > 0)

export const createAsking = (url: () => string, model: Model, random: Random): Asking => {
  const through = connections()
  let giveUpAt = Number.POSITIVE_INFINITY

  const attempt = async <T>(
    operation: Operation,
    method: string,
    path: string,
    options: RequestOptions,
  ): Promise<TestResponse<T> | undefined> => {
    const at = Date.now()
    const begunAt = performance.now()
    const note = (result: string) =>
      operation.attempts.push({ at, ms: performance.now() - begunAt, result: `${method} ${path} ${result}` })
    try {
      const answer = await clientOf(
        url(),
        () => ({ 'x-forwarded-for': random.address() }),
        through,
      ).request<T>(method, path, options)
      note(describe(answer))
      if (codeOf(answer.body) === 'log_inconsistent')
        model.broken('roots recompute', `${path} says that the log is inconsistent`, operation)
      if (!isDeclared(answer))
        model.broken('no 5xx but 503 with Retry-After', `${method} ${path} ${describe(answer)}`, operation)
      return answer
    } catch (error) {
      note(`no answer (${error instanceof Error ? (error.cause ?? error.message) : String(error)})`)
      return undefined
    }
  }

  return {
    async ask<T>(operation: Operation, method: string, path: string, { answers, ...options }: Asked) {
      for (;;) {
        const answer = await attempt<T>(operation, method, path, options)
        const isFlight = codeOf(answer?.body) === 'idempotency_in_flight'
        if (answer !== undefined && answers.includes(answer.status) && !isFlight) {
          model.finished(operation)
          return answer
        }
        if (answer !== undefined && answer.status < 500 && answer.status !== TOO_MANY && !isFlight) {
          const said = `${describe(answer)} ${JSON.stringify(answer.body)}`
          model.broken('no answer but the right ones', `${method} ${path}: ${said}`, operation)
          throw new Error(`${method} ${path} was answered ${said}`)
        }
        if (performance.now() > giveUpAt)
          throw new Error(`${method} ${path} had no final answer: ${operation.attempts.at(-1)?.result}`)
        await pause(PAUSES_MS[0] + random.below(PAUSES_MS[1] - PAUSES_MS[0]))
      }
    },
    giveUpAfter(ms) {
      giveUpAt = performance.now() + ms
    },
  }
}
