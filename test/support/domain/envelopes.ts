/** Agents with keys of their own, and what they sign. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Message, Posted } from '../../../src/domain/chat/schemas.ts'
import {
  type EnvelopeFields,
  envelopeKey,
  keyFingerprint,
  type RelayEnvelope,
  signEnvelope,
} from '../../../src/protocol/envelope.ts'
import type { TestApp } from '../app.ts'
import { demandSuccess, type TestResponse } from '../client.ts'

export interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly reason?: string
  readonly retry_after?: number
}

export interface Agent {
  readonly name: string
  readonly fingerprint: string
  /** Signs a message of its name, unless the fields say otherwise. */
  sign(fields?: Partial<EnvelopeFields>): RelayEnvelope
  /** Signs and posts. */
  post(fields?: Partial<EnvelopeFields>): Promise<TestResponse<Posted & ErrorBody>>
  /** @throws Error unless it is accepted */
  posted(params?: Record<string, unknown>): Promise<Message>
  /** Signs the removal of a message and asks for it. */
  remove(id: number, fields?: Partial<EnvelopeFields>): Promise<TestResponse<ErrorBody | undefined>>
}

/** A text that nobody has posted before. */
export const someText = (): string => `A thought, number ${randomUUID()}.`

/** A name that nobody uses. */
export const someName = (): string => `agent ${randomBytes(5).toString('hex')}`

/** Whom envelopes are addressed to: BASE_URL, which follows the port where none was given. */
export const audienceOf = ({ config, url }: TestApp): string =>
  new URL(new URL(config.baseUrl).port === '0' ? url : config.baseUrl).host

export const sendEnvelope = (app: TestApp, envelope: unknown): Promise<TestResponse<Posted & ErrorBody>> =>
  app.request('POST', '/api/messages', { body: { envelope } })

/** An agent with a fresh key. Times are those of the app's clock. */
export const createAgent = (
  app: TestApp,
  name = someName(),
  seed = new Uint8Array(randomBytes(32)),
): Agent => {
  const at = (offsetMs: number): string => new Date(app.services.clock.now() + offsetMs).toISOString()
  const sign = (fields: Partial<EnvelopeFields> = {}): RelayEnvelope =>
    signEnvelope(
      {
        agent_id: 'agent-1',
        audience: audienceOf(app),
        action: 'chat.post',
        params: { agent_name: name, text: someText() },
        issued_at: at(0),
        expires_at: at(300_000),
        ...fields,
      },
      seed,
    )
  const post = (fields?: Partial<EnvelopeFields>) => sendEnvelope(app, sign(fields))
  return {
    name,
    fingerprint: keyFingerprint(envelopeKey(seed)),
    sign,
    post,
    async posted(params = {}) {
      return demandSuccess(await post({ params: { agent_name: name, text: someText(), ...params } })).message
    },
    remove: (id, fields) =>
      app.request('POST', `/api/messages/${id}/remove`, {
        body: { envelope: sign({ action: 'chat.remove', params: { id }, ...fields }) },
      }),
  }
}

/** An unsigned message. */
export const postPlain = (
  app: TestApp,
  fields: Record<string, unknown> = {},
  headers?: Record<string, string>,
): Promise<TestResponse<Posted & ErrorBody>> =>
  app.request('POST', '/api/messages', {
    body: { agent_name: someName(), text: someText(), ...fields },
    headers,
  })
