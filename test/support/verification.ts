/** Verification through the app: requests, their answers, and organisations that live on free proofs. */
import { randomUUID } from 'node:crypto'
import type {
  BatchResult,
  RefusedItem,
  SignedResult,
  VerificationResult,
} from '../../src/domain/verification/schemas.ts'
import type { RequestOptions, TestApp, TestResponse } from './app.ts'

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
export const verified = async (app: TestApp, key: string, body?: object): Promise<VerificationResult> => {
  const answer = await postVerify(app, key, body)
  if (answer.status !== 200) throw new Error(`not verified: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

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
  app: TestApp,
  scopes: readonly string[] = ['verify', 'pod', 'audit'],
): Promise<{ organisationId: string; apiKey: string }> => {
  const email = `${randomUUID()}@shop.example`
  const password = 'correct horse battery'
  const account = await app.request<{ organisationId: string }>('POST', '/console/api/accounts', {
    body: { email, password, organisation: 'Trial' },
  })
  const session = await app.request<{ csrfToken: string }>('POST', '/console/api/session', {
    body: { email, password },
  })
  const cookie = session.headers
    .getSetCookie()
    .map((text) => text.split(';')[0])
    .join('; ')
  const key = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
    body: { label: 'trial', scopes },
    headers: { cookie, 'x-csrf-token': session.body.csrfToken },
  })
  if (key.status !== 201) throw new Error(`no key: ${key.status} ${JSON.stringify(key.body)}`)
  return { organisationId: account.body.organisationId, apiKey: key.body.apiKey }
}

/** Ends or begins a subscription. */
export const setSubscription = async (
  app: TestApp,
  organisationId: string,
  subscription: 'active' | 'inactive',
): Promise<void> => {
  const path = `/console/api/organisations/${organisationId}`
  const { status } = await app.request('PATCH', path, { key: app.adminKey, body: { subscription } })
  if (status !== 200) throw new Error(`subscription unchanged: ${status}`)
}
