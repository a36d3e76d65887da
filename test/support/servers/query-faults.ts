/**
 * Queries that fail: between the store and its driver, so that the database itself, and the connection to it, are in the state in
 * which a failure leaves them.
 */
import pg from 'pg'

/**
 * - `refused`: the database refuses the query, which has no effect (SQLSTATE 53200, out of memory)
 * - `refused after`: it has its effect, unless a transaction around it takes that back, and is answered with the same error
 * - `lost`: the connection breaks before the query is sent
 * - `lost after`: the database acts on it, and the connection breaks before its answer
 */
export const FAILURES = ['refused', 'refused after', 'lost', 'lost after'] as const
export type Failure = (typeof FAILURES)[number]

export interface QueryFaults {
  /** Has the next query with this text fail. */
  failNext(text: string, failure: Failure): void
  /** Whether it was sent; it is forgotten if not. */
  wasHit(): boolean
  /** Texts of the queries that are sent while the work lasts. */
  textsDuring(work: () => Promise<unknown>): Promise<ReadonlySet<string>>
  /** Has queries fail no more. */
  restore(): void
}

const REFUSE = `DO $$ BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = '53200'; END $$`

type Send = (this: pg.Client, ...args: unknown[]) => unknown
type Callback = (error: unknown, result?: unknown) => void

const isCallback = (value: unknown): value is Callback => typeof value === 'function'

const textOf = (query: unknown): string => {
  if (typeof query === 'string') return query
  return typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : ''
}

const breakConnection = async (client: pg.Client): Promise<never> => {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } }
  connection.stream.destroy()
  // The driver hears of it in a later turn, and then knows that the client is of no more use.
  await new Promise((resolve) => setImmediate(resolve))
  throw new Error('Connection terminated unexpectedly')
}

/** Of this process, until `restore`. */
export const injectQueryFaults = (): QueryFaults => {
  const original: Send = pg.Client.prototype.query as Send
  let planned: { readonly text: string; readonly failure: Failure } | undefined
  let seen: Set<string> | undefined

  const actAndBreak = async (client: pg.Client, query: unknown[]): Promise<never> => {
    await original.apply(client, query)
    return breakConnection(client)
  }
  const actAndRefuse = async (client: pg.Client, query: unknown[]): Promise<unknown> => {
    const sent = original.apply(client, query)
    // Right behind it, before whatever is sent next.
    const refused = original.call(client, REFUSE) as Promise<unknown>
    refused.catch(() => undefined)
    await sent
    return refused
  }
  /** No more turns than the driver takes: what is sent behind a refused query is answered after it. */
  const fail = (client: pg.Client, failure: Failure, query: unknown[]): Promise<unknown> => {
    if (failure === 'refused') return original.call(client, REFUSE) as Promise<unknown>
    if (failure === 'refused after') return actAndRefuse(client, query)
    return failure === 'lost' ? breakConnection(client) : actAndBreak(client, query)
  }

  const sendOrFail: Send = function (...args) {
    const text = textOf(args[0])
    seen?.add(text)
    if (planned?.text !== text) return original.apply(this, args)
    const { failure } = planned
    planned = undefined
    const last = args.at(-1)
    if (!isCallback(last)) return fail(this, failure, args)
    fail(this, failure, args.slice(0, -1)).then((result) => last(null, result), last)
    return undefined
  }
  pg.Client.prototype.query = sendOrFail as typeof pg.Client.prototype.query

  return {
    failNext(text, failure) {
      planned = { text, failure }
    },
    wasHit() {
      const isHit = planned === undefined
      planned = undefined
      return isHit
    },
    async textsDuring(work) {
      const texts = new Set<string>()
      seen = texts
      await work()
      seen = undefined
      return texts
    },
    restore() {
      pg.Client.prototype.query = original as typeof pg.Client.prototype.query
    },
  }
}
