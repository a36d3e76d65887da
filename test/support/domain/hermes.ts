/** Hermes for tests: targets, routes to them, and questions. @module */
import type { TextAnswer, TypedAnswer } from '../../../src/domain/hermes/schemas.ts'
import type { ProxyCreated } from '../../../src/domain/hermes/schemas-proxies.ts'
import { type Client, demandSuccess, type TestResponse } from '../client.ts'
import { atEndOfRun } from '../run.ts'
import { json, startTargetServer, type TargetServer } from '../servers/target-server.ts'

/** Whose routes tests make, unless they say otherwise. */
export const USER_ID = 'user-1'

export interface Failure {
  readonly error: string
  readonly message: string
  readonly details?: readonly { readonly path: string; readonly code: string }[]
  readonly retry_after?: number
}

export const MEMBERS = [
  { id: 1, name: 'Ada', age: 36, status: 'active', tags: ['eu', 'new'], address: { country: 'GB' } },
  { id: 2, name: 'Bob', age: 17, status: 'inactive', tags: ['us'], address: { country: 'US' } },
]

let shared: Promise<TargetServer> | undefined

const startShared = async (): Promise<TargetServer> => {
  const target = await startTargetServer()
  target.on('/members', json({ members: MEMBERS }))
  return target
}

/** A target for all tests of this process; `/members` answers {@link MEMBERS}. Closed for them. */
export const sharedTarget = (): Promise<TargetServer> => {
  shared ??= startShared()
  return shared
}

atEndOfRun(async () => (await shared)?.close())

type ProxyInput = {
  readonly destinationUrl: string
  readonly userId?: string
  readonly requireToken?: boolean
}

export const postProxy = (
  client: Client,
  body: object,
  key?: string,
): Promise<TestResponse<ProxyCreated & Failure>> => client.request('POST', '/proxy', { key, body })

/** A route. @throws Error unless it is made */
export const createProxy = async (client: Client, input: ProxyInput, key?: string): Promise<ProxyCreated> =>
  demandSuccess(await postProxy(client, { userId: USER_ID, ...input }, key))

interface AskOptions {
  /** API key or token. */
  readonly bearer?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** `POST /hermes/{slug}`, whatever comes of it. */
export const ask = (
  client: Client,
  slug: string,
  body: object,
  options: AskOptions = {},
): Promise<TestResponse<TypedAnswer & Failure>> =>
  client.request('POST', `/hermes/${slug}`, { ...options, body })

/** `GET /hermes/{slug}`, whatever comes of it. */
export const askByQuery = (
  client: Client,
  slug: string,
  query: string,
  options: AskOptions = {},
): Promise<TestResponse<TextAnswer & Failure>> => client.request('GET', `/hermes/${slug}?${query}`, options)
