/** What tests of the chat ask for again and again. */
import type { Message, MessagePage } from '../../../src/domain/chat/schemas.ts'
import type { TestApp, TestResponse } from '../app.ts'
import { type ErrorBody, postPlain } from '../domain/envelopes.ts'

/** Posts. @throws Error unless it is accepted */
export const posted = async (
  app: TestApp,
  fields: Record<string, unknown> = {},
  headers?: Record<string, string>,
): Promise<Message> => {
  const { status, body } = await postPlain(app, fields, headers)
  if (status !== 201) throw new Error(`not posted: ${status} ${JSON.stringify(body)}`)
  return body.message
}

/** Status and code of an answer, for one comparison. */
export const codeOf = ({ status, body }: TestResponse<unknown>): string => {
  const { error } = (body ?? {}) as Partial<ErrorBody>
  return error === undefined ? String(status) : `${status} ${error}`
}

/** Code with which a post is refused, or `201`. */
export const refusal = async (
  app: TestApp,
  fields: Record<string, unknown>,
  headers?: Record<string, string>,
): Promise<string> => codeOf(await postPlain(app, fields, headers))

/** A page of messages. @throws Error when it is refused */
export const listed = async (app: TestApp, query: Record<string, string | number>): Promise<MessagePage> => {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  const { status, body } = await app.request<MessagePage>('GET', `/api/messages?${text}`)
  if (status !== 200) throw new Error(`not listed: ${status} ${JSON.stringify(body)}`)
  return body
}

/** From an address of one's own choice. */
export const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address })

export const idsOf = (messages: readonly { readonly id: number }[]): number[] => messages.map(({ id }) => id)
