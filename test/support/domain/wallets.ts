/** A wallet as it asks for credentials about people, shows them, and is checked, by libraries that the service doesn't have. */
import { createHash } from 'node:crypto'
import { splitSDJWT, verifySDJWT } from '@meeco/sd-jwt'
import {
  type CryptoKey,
  compactVerify,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTVerifyGetKey,
  SignJWT,
} from 'jose'
import type { CredentialNonce, SdJwtIssued } from '../../../src/domain/kyc/sd-jwt/schemas.ts'
import type { Client, RequestOptions, TestResponse } from '../client.ts'
import type { Failure } from './tokens.ts'

/** How long a nonce counts. */
const VALID_SECONDS = 300

export interface Wallet {
  readonly jwk: { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  readonly privateKey: CryptoKey
}

export const createWallet = async (): Promise<Wallet> => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const { x = '', y = '' } = await exportJWK(publicKey)
  return { jwk: { kty: 'EC', crv: 'P-256', x, y }, privateKey }
}

/** A proof of possession as OpenID4VCI has it. @param payload @param header over the right ones */
export const possessionProof = (
  { jwk, privateKey }: Wallet,
  { nonce, audience, expires_at }: CredentialNonce,
  payload: object = {},
  header: object = {},
): Promise<string> =>
  new SignJWT({
    aud: audience,
    iat: Math.floor(Date.parse(expires_at) / 1000) - VALID_SECONDS,
    nonce,
    ...payload,
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'openid4vci-proof+jwt', jwk, ...header })
    .sign(privateKey)

type Answer<T> = Promise<TestResponse<T & Failure & { message?: string }>>

/** The routes of credentials for wallets as one organisation calls them. */
export const sdJwtRoutesOf = (app: Client, key: string) => {
  const path = (userId: string): string => `/api/kyc/${encodeURIComponent(userId)}/credential`
  const nonce = async (userId: string): Promise<CredentialNonce> =>
    (await app.request<CredentialNonce>('POST', `${path(userId)}/nonce`, { key })).body
  const issue = (userId: string, body: object, headers?: RequestOptions['headers']): Answer<SdJwtIssued> =>
    app.request('POST', path(userId), { key, body: { format: 'dc+sd-jwt', ...body }, headers })
  return {
    nonce,
    issue,
    /** @throws Error unless it answers 201 */
    async issued(userId: string, wallet: Wallet): Promise<SdJwtIssued> {
      const proof = await possessionProof(wallet, await nonce(userId))
      const { status, body } = await issue(userId, { holder_jwk: wallet.jwk, proof_of_possession: proof })
      if (status !== 201) throw new Error(`not issued: ${status} ${JSON.stringify(body)}`)
      return body
    },
  }
}

const isBound = async (kbJwt: string, jwk: object): Promise<boolean> => {
  await compactVerify(kbJwt, await importJWK(jwk as JWK, 'ES256'), { algorithms: ['ES256'] })
  return true
}

/** What a verifier learns, by @meeco/sd-jwt and jose. @throws Error when a signature, digest or key binding is wrong */
export const verifiedClaims = (
  sdJwt: string,
  issuerKey: JWTVerifyGetKey | CryptoKey,
): Promise<Record<string, unknown>> =>
  verifySDJWT(
    sdJwt,
    async (jwt) => {
      await compactVerify(jwt, issuerKey as CryptoKey, { algorithms: ['ES256'] })
      return true
    },
    async () => (text) => createHash('sha256').update(text).digest('base64url'),
    sdJwt.endsWith('~') ? {} : { kb: { verifier: isBound } },
  ) as Promise<Record<string, unknown>>

/** Name of a disclosure → its text. */
export const disclosuresOf = (sdJwt: string): Record<string, string> =>
  Object.fromEntries(
    splitSDJWT(sdJwt).disclosures.map((text) => [
      JSON.parse(Buffer.from(text, 'base64url').toString())[1],
      text,
    ]),
  )

/** A credential as its holder shows it: some attributes, bound to a verifier's question (RFC 9901 §4.3). */
export const shown = async (
  sdJwt: string,
  names: readonly string[],
  { privateKey }: Wallet,
  question: { readonly aud: string; readonly nonce: string; readonly iat?: number },
): Promise<string> => {
  const all = disclosuresOf(sdJwt)
  const chosen = `${[splitSDJWT(sdJwt).jwt, ...names.map((name) => all[name])].join('~')}~`
  const sd_hash = createHash('sha256').update(chosen).digest('base64url')
  const kbJwt = await new SignJWT({ iat: Math.floor(Date.now() / 1000), ...question, sd_hash })
    .setProtectedHeader({ alg: 'ES256', typ: 'kb+jwt' })
    .sign(privateKey)
  return chosen + kbJwt
}
