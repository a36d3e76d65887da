/** Tokens through the app: requests, their answers, and texts that somebody made up. */

import type {
  TokenIssued,
  TokenRevoked,
  TokenStanding,
  TokenVerdict,
} from '../../../src/domain/tokens/schemas.ts'
import type { SigningPurpose } from '../../../src/keys/signers.ts'
import type { TestApp } from '../app.ts'
import { type Client, demandSuccess, type RequestOptions, type TestResponse } from '../client.ts'

export interface Failure {
  error: string
  reason?: string
  consumed_at?: string
  details?: { path: string; code: string; message: string }[]
}

type Answer<T> = Promise<TestResponse<T & Failure>>

/** The token routes as one organisation calls them. */
export const tokenRoutesOf = (app: Client, key: string) => {
  const post = <T>(path: string, body: object, headers?: RequestOptions['headers']): Answer<T> =>
    app.request('POST', `/api/tokens/${path}`, { key, body, headers })
  return {
    generate: (body: object) => post<TokenIssued>('generate', body),
    validate: (body: object, headers?: RequestOptions['headers']) =>
      post<TokenVerdict>('validate', body, headers),
    revoke: (tokenId: string, reason?: string) => post<TokenRevoked>('revoke', { tokenId, reason }),
    status: (tokenId: string): Answer<TokenStanding> =>
      app.request('GET', `/api/tokens/${tokenId}/status`, { key }),
    /** @throws Error unless it answers 201 */
    async issued(body: object = {}): Promise<TokenIssued> {
      return demandSuccess(await post<TokenIssued>('generate', { subject: 'member-7', ...body }))
    },
  }
}

export const base64url = (value: object | Uint8Array): string =>
  (value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(JSON.stringify(value))).toString(
    'base64url',
  )

export const payloadOf = (jws: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString())

/** A text signed by one of the service's own keys. @param header over alg, kid and typ of a token */
export const signedBy = async (
  app: TestApp,
  purpose: SigningPurpose,
  alg: 'Ed25519' | 'ES256',
  payload: object,
  header: object = {},
): Promise<string> => {
  const { kid, sign } = await app.services.signers.current(purpose, alg)
  const covered = `${base64url({ alg: 'EdDSA', kid, typ: 'vt+jwt', ...header })}.${base64url(payload)}`
  return `${covered}.${base64url(sign(Buffer.from(covered)))}`
}
