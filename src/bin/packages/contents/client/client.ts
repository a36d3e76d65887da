/** The client: a method for each operation, made from the table that the build writes. @module */
import {
  addressOf,
  type CallOptions,
  type ClientOptions,
  createRequests,
  type Input,
  type Operation,
} from './request.ts'
import { readStream } from './stream.ts'

/** Group · method and path · members of the query · i: takes an Idempotency-Key, o: which counts only with a credential, b: body of members, w: whole body, s: stream · media types of its answers, `none`: without a body, and statuses of refusals that need have no code · member with a page's items. */
export type TableRow = readonly [string, string, string, string, string, string?]

interface Parts {
  readonly body?: unknown
  readonly path?: unknown
  readonly query?: unknown
}
type Members<T> = [NonNullable<T>] extends [never] ? unknown : NonNullable<T>

/** Path, query and body in one. */
export type Flat<D extends Parts> = Members<D['path']> & Members<D['query']> & Members<D['body']>
/** The same, where the body may have members of any name. */
export type WithBody<D extends Parts> = Members<D['path']> &
  Members<D['query']> & { readonly body: Members<D['body']> }

type Arguments<I> = unknown extends I
  ? [input?: Record<string, never>, options?: CallOptions]
  : Partial<I> extends I
    ? [input?: I, options?: CallOptions]
    : [input: I, options?: CallOptions]

export type Call<I, Answer> = (...args: Arguments<I>) => Promise<Answer>
export type ListCall<I, Answer, Item> = Call<I, Answer> & {
  /** All items, page by page as they are asked for. */
  all(...args: Arguments<I>): AsyncGenerator<Item>
}

/** @returns methods by operation, and groups of them */
export const createOperations = (
  table: Readonly<Record<string, TableRow>>,
  client: ClientOptions,
): Record<string, unknown> => {
  const request = createRequests(client)
  const operations: Record<string, unknown> = {}
  const groups: Record<string, Record<string, unknown>> = {}
  for (const [name, [group, line, query, flags, types, items]] of Object.entries(table)) {
    const [method = '', path = ''] = line.split(' ')
    const body = flags.includes('b') ? 'members' : flags.includes('w') ? 'whole' : 'none'
    const members = query ? query.split(' ') : []
    const operation: Operation = { name, method, path, query: members, flags, body, types }
    const place = members.includes('cursor') ? 'cursor' : 'after'
    const call = (input: Input = {}, options: CallOptions = {}) => request(operation, input, options)
    const all = async function* (input: Input = {}, options: CallOptions = {}): AsyncGenerator<unknown> {
      for (let next: unknown; next !== null; ) {
        const page = (await call(next === undefined ? input : { ...input, [place]: next }, options)) as Input
        yield* page[items as string] as unknown[]
        next = page.nextCursor ?? null
      }
    }
    const stream = (input: Input = {}, options: CallOptions = {}) => {
      // What can't be asked would be asked again for ever.
      addressOf(operation, input, client.baseUrl)
      return readStream((lastId) => {
        const headers = { ...options.headers, ...(lastId && { 'last-event-id': lastId }) }
        return request(operation, input, { ...options, headers }) as Promise<Response>
      }, options.signal)
    }
    operations[name] = flags.includes('s') ? stream : items ? Object.assign(call, { all }) : call
    groups[group] = { ...groups[group], [name]: operations[name] }
  }
  return { ...operations, ...groups }
}
