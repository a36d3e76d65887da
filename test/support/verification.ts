/** Verification through the app: requests, their answers, and organisations that live on free proofs. */
import type {
  BatchResult,
  RefusedItem,
  SignedResult,
  VerificationResult,
} from '../../src/domain/verification/schemas.ts'
import type { TestApp } from './app.ts'
import { type Client, demandSuccess, ok, type RequestOptions, type TestResponse } from './client.ts'
import { signIn, signUp } from './domain/accounts.ts'

export interface Failure {
  error: string
  message: string
  details?: { path: string; code: string; message: string }[]
}

export const DATA = { name: 'Ada', age: 36, member: true, address: { country: 'GB' } }
/** The `typ` that verifiers of verification results demand. */
export const RESULT_TYP = 'vr+jws'

/** `POST /verify`, whatever comes of it. */
export const postVerify = (
  app: TestApp,
  key: string,
  body: object = { data: DATA },
  headers: RequestOptions['headers'] = {},
): Promise<TestResponse<VerificationResult & Failure>> =>
  app.request('POST', '/verify', { key, body, headers })

/** `POST /verify`. @throws Error unless it answers 200 */
export const verified = async (app: TestApp, key: string, body?: object): Promise<VerificationResult> =>
  demandSuccess(await postVerify(app, key, body))

export const postBatch = (
  app: TestApp,
  key: string,
  items: readonly unknown[],
  headers: RequestOptions['headers'] = {},
): Promise<TestResponse<BatchResult & Failure>> =>
  app.request('POST', '/verify/batch', { key, body: { items }, headers })

export const isSigned = (result: SignedResult | RefusedItem): result is SignedResult =>
  result.verificationId !== null

/** A signed result without a proof, which takes a fraction of the time. */
export const signedResult = async (app: TestApp, key: string, item: object = DATA): Promise<SignedResult> => {
  const { body } = await postBatch(app, key, [item])
  const [result] = body.results
  if (result === undefined || !isSigned(result)) throw new Error(`not signed: ${JSON.stringify(body)}`)
  return result
}

export const hashOf = ({ qrUrl }: Pick<SignedResult, 'qrUrl'>): string => qrUrl.split('/').at(-1) ?? ''

/** An organisation as people sign up for it: no subscription, 100 free proofs. */
export const freeOrganisation = async (
  client: Client,
  scopes: readonly string[] = ['verify', 'pod', 'audit'],
): Promise<{ organisationId: string; apiKey: string }> => {
  const account = await signUp(client)
  const { headers } = await signIn(client, account)
  const body = { label: 'trial', scopes }
  const { apiKey } = await ok<{ apiKey: string }>(client, 'POST', '/console/api/keys', { body, headers })
  return { organisationId: account.organisationId, apiKey }
}

/** Ends or begins a subscription. */
export const setSubscription = async (
  app: TestApp,
  organisationId: string,
  subscription: 'active' | 'inactive',
): Promise<void> => {
  const path = `/console/api/organisations/${organisationId}`
  await ok(app, 'PATCH', path, { key: app.adminKey, body: { subscription } })
}
