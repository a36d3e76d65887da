/** Consents through the app: requests and their answers. */
import type {
  ConsentLogged,
  ConsentStanding,
  ConsentVerdict,
  ConsentWithdrawn,
} from '../../../src/domain/consent/schemas.ts'
import { type Client, demandSuccess, type RequestOptions, type TestResponse } from '../client.ts'
import type { Failure } from './tokens.ts'

type Answer<T> = Promise<TestResponse<T & Failure>>

export const CONTROLLER = 'https://shop.example'

/** The consent routes as one organisation calls them. */
export const consentRoutesOf = (app: Client, key: string) => {
  const post = <T>(path: string, body: object, headers?: RequestOptions['headers']): Answer<T> =>
    app.request('POST', `/api/consent/${path}`, { key, body, headers })
  const log = (body: object = {}, headers?: RequestOptions['headers']) =>
    post<ConsentLogged>(
      'log',
      { subjectId: 'ada', controller: CONTROLLER, purposes: ['newsletter'], ...body },
      headers,
    )
  return {
    log,
    verify: (body: object) => post<ConsentVerdict>('verify', body),
    revoke: (consentId: string, reason?: string, headers?: RequestOptions['headers']) =>
      post<ConsentWithdrawn>('revoke', { consentId, reason }, headers),
    status: (consentId: string): Answer<ConsentStanding> =>
      app.request('GET', `/api/consent/${consentId}/status`, { key }),
    /** @throws Error unless it answers 201 */
    async logged(body: object = {}): Promise<ConsentLogged> {
      return demandSuccess(await log(body))
    },
    /** Why a consent does not hold; undefined where it does. @throws Error unless it answers 200 */
    async reason(body: object): Promise<string | undefined> {
      const answer = await post<ConsentVerdict>('verify', body)
      if (answer.status !== 200 || answer.body.valid !== (answer.body.reason === undefined))
        throw new Error(`no verdict: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body.reason
    },
  }
}
