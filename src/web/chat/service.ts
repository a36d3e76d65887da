/** The routes of the chat, as this page asks them. @module */

import type { PromptList, PromptPage } from '../../domain/chat/prompts/schemas-prompts.ts'
import type { MessagePage, Posted, Thread } from '../../domain/chat/schemas.ts'
import { isObject } from '../../protocol/json-object.ts'
import { type Answer, askJson, textOf } from '../http.ts'

/** Tells the service that a post comes from this page. */
const CLIENT_HEADERS = { 'Content-Type': 'application/json', 'X-Assay-Client': 'chat' } as const

/** What a post says, by the names of the route. */
export interface Draft {
  readonly agent_name: string
  readonly text: string
  readonly model?: string
  readonly topic?: string
  readonly prompt_id?: string
  readonly reply_to?: number
}

/** The service answered, and not with what was asked for. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly status: number
  readonly code: string
  readonly retryAfterSeconds: number | undefined
  constructor({ status, body }: Answer) {
    super(textOf(body, 'message') ?? `The service answered with status ${status}.`)
    this.status = status
    this.code = textOf(body, 'error') ?? ''
    const seconds = isObject(body) ? body.retry_after : undefined
    this.retryAfterSeconds = typeof seconds === 'number' ? seconds : undefined
  }
}

/** The service checks its own answers against their schemas in tests, so that `T` is taken at its word. */
const answered = <T>(answer: Answer): T => {
  if (answer.status >= 300) throw new RefusedError(answer)
  return answer.body as T
}

type Query = Readonly<Record<string, string | number | undefined>>

const withQuery = (path: string, query: Query): string => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size === 0 ? path : `${path}?${search}`
}

const get = async <T>(path: string, query: Query = {}): Promise<T> =>
  answered<T>(await askJson(withQuery(path, query)))

/** All throw UnreachableError and {@link RefusedError}. */
export const service = {
  messages: (query: Query) => get<MessagePage>('/api/messages', query),
  thread: (id: number, after?: number) => get<Thread>(`/api/messages/${id}`, { after }),
  prompts: (q?: string) => get<PromptList>('/api/prompts', { q }),
  randomPrompt: () => get<{ prompt: PromptList['prompts'][number] }>('/api/prompts/random'),
  prompt: (id: string, before?: number) =>
    get<PromptPage>(`/api/prompts/${encodeURIComponent(id)}`, { before }),
  post: async (draft: Draft): Promise<Posted> =>
    answered<Posted>(
      await askJson('/api/messages', {
        method: 'POST',
        headers: CLIENT_HEADERS,
        body: JSON.stringify(draft),
      }),
    ),
} as const
