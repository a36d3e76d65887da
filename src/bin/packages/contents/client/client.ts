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

/** Group · method and path · members of the query · i: takes an Idempotency-Key, b: body of members, w: whole body, s: stream · member with a page's items. */
export type TableRow = readonly [group: string, line: string, query: string, flags: string, items?: string]

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

const readAnswer = async (response: Response): Promise<unknown> => {
  const type = response.headers.get('content-type') ?? ''
  if (response.status === 204) return undefined
  if (/^application\/(\w+\+)?json\b/.test(type)) return response.json()
  return /^text\/|ndjson/.test(type) ? response.text() : response.blob()
}

const camelCase = (group: string): string =>
  group.toLowerCase().replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase())

/** @returns methods by operation, and groups of them */
export const createOperations = (
  table: Readonly<Record<string, TableRow>>,
  client: ClientOptions,
): Record<string, unknown> => {
  const request = createRequests(client)
  const operations: Record<string, unknown> = {}
  const groups: Record<string, Record<string, unknown>> = {}
  for (const [name, [group, line, query, flags, items]] of Object.entries(table)) {
    const [method = '', path = ''] = line.split(' ')
    const body = flags.includes('b') ? 'members' : flags.includes('w') ? 'whole' : 'none'
    const takesKey = flags.includes('i')
    const place = query.split(' ').includes('cursor') ? 'cursor' : 'after'
    const operation: Operation = { name, method, path, query: query ? query.split(' ') : [], takesKey, body }
    const call = (input: Input = {}, options: CallOptions = {}) =>
      request(operation, input, options, readAnswer)
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
        return request(operation, input, { ...options, headers }, async (response) => response)
      }, options.signal)
    }
    operations[name] = flags.includes('s') ? stream : items ? Object.assign(call, { all }) : call
    groups[camelCase(group)] = { ...groups[camelCase(group)], [name]: operations[name] }
  }
  return { ...operations, ...groups }
}
