/**
 * The four requests a terminal makes, with which it tells of itself. Whatever says nothing about a payment (no answer, server errors, rate limits,
 * something else that answers in the server's place) is a {@link ServerFault}; the rest is an answer.
 * @module
 */
import { isObject } from '../protocol/json-object.ts'
import type {
  QueuedTransaction,
  SyncAnswer,
  TerminalState,
  ValidateAnswer,
  ValidateRequest,
} from '../protocol/sync.ts'
import { messageOf } from './errors.ts'
import type { QueuedPayment, ServerLimits, Timeouts } from './types.ts'

/** Told to the server; that of the package. */
export const TERMINAL_VERSION = '1.0.0'

export const DEFAULT_QUICK_MS = 500
const DEFAULT_REQUEST_MS = 30_000
/** A token is renewed when less than this is left of it. */
const TOKEN_RENEWAL_MS = 5 * 60_000
const MAX_RETRY_AFTER_MS = 3_600_000

/** Nothing is known about what was asked; ask again later. */
export class ServerFault extends Error {
  /** When the server said how long to wait. */
  readonly retryAfterMs: number | undefined
  /** The server answered, only not as it should: it is there. */
  readonly reached: boolean
  constructor(message: string, reached: boolean, retryAfterMs?: number) {
    super(message)
    this.name = 'ServerFault'
    this.reached = reached
    this.retryAfterMs = retryAfterMs
  }
}

/** The server understood and said no: the request is at fault, or the credential. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.code = code
  }
}

type JsonObject = { readonly [key: string]: unknown }

interface Answer {
  readonly body: JsonObject
  /** See {@link sentAtOf}. */
  readonly sentAt: number
}

interface Options {
  readonly baseUrl: string
  readonly apiKey: string
  readonly terminalId?: string
  readonly terminalSecret?: string
  readonly fetch: typeof globalThis.fetch
  readonly clock: { now(): number }
  readonly timeouts?: Timeouts
  /** The server's limits for this terminal, as of its newest token. */
  readonly onLimits: (limits: ServerLimits) => void
  /** What waits besides some payments. */
  readonly queued: (besides: readonly QueuedTransaction[]) => TerminalState['queued']
}

/** What became of a probe. Neither promise rejects. */
export interface Probe {
  /** Whether the server answered quickly enough to be asked about payments. */
  readonly quick: Promise<boolean>
  /** Whether it answered at all. Never earlier than `quick`. */
  readonly answered: Promise<boolean>
}

export interface MerchantApi {
  /** Asks GET /health, which our server answers with its status. @param patient waits for a slow answer too */
  health(patient: boolean): Probe
  /** Gets a token unless there is one, so that the next payment need not spend its time on it. Never throws. */
  prepare(): Promise<void>
  /** @throws ServerFault also when it isn't quick, a new token included; Refusal */
  validate(payment: ValidateRequest): Promise<ValidateAnswer>
  /** @throws ServerFault, Refusal */
  sync(transactions: readonly QueuedTransaction[]): Promise<SyncAnswer>
  /** Ends every request that is under way; they fail as ServerFault. */
  abort(): void
}

/** A payment as the server is told of it. */
export const wireOf = (
  { proof, amount, currency, timestamp, transactionId }: QueuedPayment,
  merchantId: string,
): QueuedTransaction => ({
  proofData: proof,
  amount,
  currency,
  // Not the number: of a clock that began anew in 1970, the server would take it for seconds.
  timestamp: new Date(timestamp).toISOString(),
  transactionId,
  merchantId,
})

/** When the server sent an answer, Unix ms: by its own clock where that can be read, else by the terminal's, which may be wrong. */
const sentAtOf = ({ headers }: Response, now: number): number => {
  const sentAt = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(sentAt) ? now : sentAt
}

/** Seconds, or a date as proxies send it (RFC 9110 §10.2.3). @param sentAt see {@link sentAtOf} */
const retryAfterOf = ({ headers }: Response, body: unknown, sentAt: number): number | undefined => {
  const told = String((isObject(body) ? body.retry_after : undefined) ?? headers.get('retry-after'))
  const ms = Number.isNaN(Number(told)) ? Date.parse(told) - sentAt : Number(told) * 1000
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : undefined
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Statuses of a refusal. Others, such as 404 of a wrong address, say nothing about what was asked. */
const REFUSING_STATUSES: readonly number[] = [400, 401, 402, 403, 409, 413, 422]
const NOT_FOUND = 404

/** What the server says of a member of the request that names nothing it knows, such as a merchant; undefined where the address is wrong. */
const missingMember = (body: JsonObject): string | undefined => {
  const [detail] = Array.isArray(body.details) ? body.details : []
  const names = isObject(detail) && typeof detail.path === 'string' && detail.path.startsWith('/')
  return names ? `${detail.path} ${detail.message}` : undefined
}

/** In words for people; undefined where the answer refuses nothing. */
const refusalOf = (status: number, body: JsonObject): string | undefined => {
  if (status === NOT_FOUND) return missingMember(body)
  if (!REFUSING_STATUSES.includes(status)) return undefined
  return typeof body.message === 'string' ? body.message : String(body.error)
}

const answerOf = (response: Response, body: unknown, now: number): Answer => {
  const sentAt = sentAtOf(response, now)
  if (response.ok && isObject(body)) return { body, sentAt }
  if (isObject(body) && typeof body.error === 'string') {
    const refusal = refusalOf(response.status, body)
    if (refusal !== undefined) throw new Refusal(response.status, body.error, refusal)
  }
  throw new ServerFault(
    `The server answered with status ${response.status}.`,
    true,
    retryAfterOf(response, body, sentAt),
  )
}

const unreached = (reason: unknown) =>
  new ServerFault(`The server can't be reached: ${messageOf(reason)}`, false)

const noAnswer = (timeoutMs: number) => new Error(`no answer within ${Math.round(timeoutMs)} ms`)

/** Waits no longer than the time given; what is waited for goes on. @throws ServerFault */
const within = async <T>(work: Promise<T>, timeoutMs: number): Promise<T> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unreached(noAnswer(timeoutMs))), timeoutMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const limitsOf = (config: JsonObject): ServerLimits => ({
  floorLimit: numberOrNull(config.floorLimit),
  storedSumLimit: numberOrNull(config.storedSumLimit),
  maxOfflineAgeMs: numberOrNull(config.maxOfflineAgeMs),
})

const isValidateAnswer = (body: JsonObject): body is JsonObject & ValidateAnswer =>
  typeof body.valid === 'boolean' && typeof body.doubleSpend === 'boolean'

const isSyncAnswer = (body: JsonObject): body is JsonObject & SyncAnswer =>
  Array.isArray(body.results) && Array.isArray(body.errors)

const unexpected = () => new ServerFault('The server answered with something else than was asked for.', true)

export const createMerchantApi = (options: Options): MerchantApi => {
  const { baseUrl, apiKey, terminalId, terminalSecret, clock, onLimits, queued } = options
  const { fetch, timeouts: { quickMs = DEFAULT_QUICK_MS, requestMs = DEFAULT_REQUEST_MS } = {} } = options
  const running = new Set<AbortController>()
  /** `expiresAt` is Unix ms by the terminal's clock, which may differ from the server's by hours. */
  let token: { readonly text: string; readonly expiresAt: number } | undefined
  let authenticating: Promise<string> | undefined
  /** A key speaks for no terminal, so that nothing is known of the one that uses it. */
  let tells = terminalId !== undefined

  /** Sends one request and reads its whole answer, both within the time given. */
  const send = async (path: string, timeoutMs: number, bearer?: string, body?: unknown) => {
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(noAnswer(timeoutMs)), timeoutMs)
    running.add(abort)
    try {
      const response = await fetch(`${baseUrl}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        signal: abort.signal,
      })
      return answerOf(response, parse(await response.text()), clock.now())
    } catch (error) {
      if (error instanceof ServerFault || error instanceof Refusal) throw error
      throw unreached(abort.signal.aborted ? abort.signal.reason : error)
    } finally {
      clearTimeout(timer)
      running.delete(abort)
    }
  }

  /**
   * Sends with what the terminal tells of itself; without it to a server of an earlier version, which refuses members
   * that it does not know.
   */
  const telling = async (
    body: object,
    besides: readonly QueuedTransaction[],
    ask: (body: object) => Promise<Answer>,
  ): Promise<Answer> => {
    if (!tells) return ask(body)
    const state: TerminalState = { queued: queued(besides), version: TERMINAL_VERSION, clock: clock.now() }
    try {
      return await ask({ ...body, ...state })
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'validation_failed') throw error
      const answer = await ask(body)
      tells = false
      return answer
    }
  }

  const authenticate = async (): Promise<string> => {
    const { body, sentAt } = await telling({ terminalId, terminalSecret }, [], (request) =>
      send('/api/merchant/terminals/authenticate', requestMs, apiKey, request),
    )
    const expiresAt = typeof body.expiresAt === 'string' ? Date.parse(body.expiresAt) : Number.NaN
    if (typeof body.token !== 'string' || Number.isNaN(expiresAt)) throw unexpected()
    token = { text: body.token, expiresAt: clock.now() + expiresAt - sentAt }
    if (isObject(body.config)) onLimits(limitsOf(body.config))
    return body.token
  }

  /** One authentication serves all who wait for it, each as long as it may, and those who come later. */
  const newToken = (timeoutMs: number): Promise<string> => {
    authenticating ??= authenticate().finally(() => {
      authenticating = undefined
    })
    return within(authenticating, timeoutMs)
  }

  const bearer = (timeoutMs: number): string | Promise<string> => {
    if (terminalId === undefined) return apiKey
    if (token && token.expiresAt - clock.now() > TOKEN_RENEWAL_MS) return token.text
    return newToken(timeoutMs)
  }

  /** Sends with the terminal's credential; a token that is refused is renewed once. */
  const post = async (path: string, body: unknown, budgetMs: number): Promise<Answer> => {
    const until = performance.now() + budgetMs
    const left = () => Math.max(1, until - performance.now())
    // Where renewal fails, the old token may still do: the server lets the queue of a revoked key in with it.
    const used = await Promise.resolve(bearer(left())).catch((error: unknown) => {
      if (token && error instanceof Refusal) return token.text
      throw error
    })
    try {
      return await send(path, left(), used, body)
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 401 || terminalId === undefined) throw error
      return send(path, left(), await newToken(left()), body)
    }
  }

  return {
    health: (patient) => {
      const answered = send('/health', patient ? requestMs : quickMs).then(
        ({ body }) => typeof body.status === 'string',
        () => false,
      )
      return { quick: within(answered, quickMs).catch(() => false), answered }
    },
    prepare: async () => {
      try {
        await bearer(requestMs)
      } catch {
        // The request that needs the token asks for it again, and says what is wrong.
      }
    },
    validate: async (payment) => {
      const { body } = await post('/api/merchant/payments/validate', payment, quickMs)
      if (!isValidateAnswer(body)) throw unexpected()
      return body
    },
    sync: async (transactions) => {
      const { body } = await telling({ transactions }, transactions, (request) =>
        post('/api/merchant/transactions/sync', request, requestMs),
      )
      if (!isSyncAnswer(body)) throw unexpected()
      return body
    },
    abort: () => {
      for (const abort of running) abort.abort(new Error('the terminal was closed'))
    },
  }
}
