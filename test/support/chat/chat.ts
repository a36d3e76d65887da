/** What tests of the chat ask for again and again. */
import type { Message, MessagePage } from '../../../src/domain/chat/schemas.ts'
import type { TestApp } from '../app.ts'
import { demandSuccess, ok, type TestResponse } from '../client.ts'
import { type ErrorBody, postPlain } from '../domain/envelopes.ts'

/** Posts. @throws Error unless it is accepted */
export const posted = async (
  app: TestApp,
  fields: Record<string, unknown> = {},
  headers?: Record<string, string>,
): Promise<Message> => demandSuccess(await postPlain(app, fields, headers)).message

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
  return ok<MessagePage>(app, 'GET', `/api/messages?${text}`)
}

/** From an address of one's own choice. */
export const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address })

export const idsOf = (messages: readonly { readonly id: number }[]): number[] => messages.map(({ id }) => id)
