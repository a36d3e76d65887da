/** KYC through the app: requests, their answers, and the data of people whom there isn't. */
import type {
  KycData,
  PersonCredential,
  PersonErased,
  PersonHeld,
  PersonStanding,
  PersonVerified,
} from '../../../src/domain/kyc/schemas.ts'
import type { TestApp } from '../app.ts'
import type { RequestOptions, TestResponse } from '../client.ts'
import type { Failure } from './tokens.ts'

type Answer<T> = Promise<TestResponse<T & Failure & { message?: string }>>

/** Complete and plausible: born in 1974, in Sweden. */
export const ANNA = {
  givenName: 'Anna Maria',
  familyName: 'Eriksson',
  dateOfBirth: '1974-08-12',
  address: { line1: 'Storgatan 1', city: 'Uppsala', postalCode: '753 31', country: 'SE' },
  document: { type: 'passport', number: 'L898902C3', country: 'SE', expiresAt: '2099-04-15' },
} as const satisfies KycData

/** The same with other fields of the document. */
export const annaWith = (document: Partial<NonNullable<KycData['document']>>): KycData => ({
  ...ANNA,
  document: { ...ANNA.document, ...document },
})

/** The KYC routes as one organisation calls them. */
export const kycRoutesOf = (app: TestApp, key: string) => {
  const path = (userId: string, rest = ''): string => `/api/kyc/${encodeURIComponent(userId)}${rest}`
  const verify = (body: object, headers?: RequestOptions['headers']): Answer<PersonVerified> =>
    app.request('POST', '/api/kyc/verify', { key, body, headers })
  return {
    verify,
    standing: (userId: string): Answer<PersonStanding> => app.request('GET', path(userId), { key }),
    held: (userId: string): Answer<PersonHeld> => app.request('GET', path(userId, '/data'), { key }),
    credential: (userId: string): Answer<PersonCredential> =>
      app.request('GET', path(userId, '/credential'), { key }),
    erase: (userId: string, headers?: RequestOptions['headers']): Answer<PersonErased> =>
      app.request('DELETE', path(userId), { key, headers }),
    /** @throws Error unless the person is verified */
    async verified(userId: string, data: KycData = ANNA): Promise<PersonVerified> {
      const { status, body } = await verify({ userId, data })
      if (status !== 200 || body.status !== 'verified')
        throw new Error(`not verified: ${status} ${JSON.stringify(body)}`)
      return body
    },
  }
}

/** Names of the checks with this result. */
export const namesOf = ({ checks }: PersonVerified, result: string): string[] =>
  checks.filter((check) => check.result === result).map(({ name }) => name)
