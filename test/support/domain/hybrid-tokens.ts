/** Hybrid tokens through the app: requests, their answers, and keys of agents that sign them. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import type {
  HybridTokenIssued,
  HybridTokenPrepared,
  HybridTokenVerdict,
} from '../../../src/domain/hybrid-tokens/schemas.ts'
import { type Jwk, thumbprint } from '../../../src/keys/jwks.ts'
import {
  HYBRID_TOKEN_CONTEXT,
  type HybridContent,
  hybridSigningBytes,
} from '../../../src/protocol/hybrid-token.ts'
import type { TestApp, TestOrganisation } from '../app.ts'
import { type Client, demandSuccess, ok, type RequestOptions, type TestResponse } from '../client.ts'
import { agentRoutesOf } from './agents.ts'
import type { Failure } from './tokens.ts'

type Answer<T> = Promise<TestResponse<T & Failure>>

/** The hybrid token routes as one organisation calls them. */
export const hybridRoutesOf = (app: Client, key: string) => {
  const generate = (body: object, headers?: RequestOptions['headers']): Answer<HybridTokenIssued> =>
    app.request('POST', '/v1/tokens/generate-quantum-safe', { key, body, headers })
  return {
    generate,
    prepare: (body: object): Answer<HybridTokenPrepared> =>
      app.request('POST', '/v1/tokens/generate-quantum-safe?prepare=1', { key, body }),
    validate: (body: object, headers?: RequestOptions['headers']): Answer<HybridTokenVerdict> =>
      app.request('POST', '/v1/tokens/validate-quantum-safe', { key, body, headers }),
    /** @throws Error unless it answers 201 */
    async issued(body: object = {}): Promise<HybridTokenIssued> {
      return demandSuccess(await generate({ subject: 'member-7', alg_pq: 'Dilithium2', ...body }))
    },
  }
}

/** A key that signs hybrid tokens. */
export interface HybridKey {
  readonly kid: string
  readonly jwk: Jwk
  /** Base64url; ML-DSA under the context of hybrid tokens, unless another is given. */
  sign(message: Uint8Array, context?: Uint8Array): string
}

const classicalKey = (kind: 'Ed25519' | 'ECDSA_P256'): HybridKey => {
  const { privateKey, publicKey } =
    kind === 'Ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicKey.export({ format: 'jwk' }) as Jwk
  const digest = kind === 'Ed25519' ? null : 'sha256'
  return {
    jwk,
    kid: thumbprint(jwk),
    sign: (message) =>
      sign(digest, message, { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url'),
  }
}

const pqKey = (kind: 'Dilithium2' | 'Dilithium3'): HybridKey => {
  const scheme = kind === 'Dilithium2' ? ml_dsa44 : ml_dsa65
  const { publicKey, secretKey } = scheme.keygen(new Uint8Array(randomBytes(32)))
  const alg = kind === 'Dilithium2' ? 'ML-DSA-44' : 'ML-DSA-65'
  const jwk = { kty: 'AKP', alg, pub: Buffer.from(publicKey).toString('base64url') }
  return {
    jwk,
    kid: thumbprint(jwk),
    sign: (message, context = HYBRID_TOKEN_CONTEXT) =>
      Buffer.from(scheme.sign(message, secretKey, { context })).toString('base64url'),
  }
}

export const newHybridKey = (kind: 'Ed25519' | 'ECDSA_P256' | 'Dilithium2' | 'Dilithium3'): HybridKey =>
  kind === 'Ed25519' || kind === 'ECDSA_P256' ? classicalKey(kind) : pqKey(kind)

/** Both keys of one signer. */
export interface SigningKeys {
  readonly classical: HybridKey
  readonly pq: HybridKey
}

export interface SigningAgent extends SigningKeys {
  readonly agentId: string
}

/** An active agent of the organisation with two keys. */
export const signingAgent = async (
  app: TestApp,
  { apiKey }: TestOrganisation,
  [classicalKind, pqKind]: readonly ['Ed25519' | 'ECDSA_P256', 'Dilithium2' | 'Dilithium3'] = [
    'Ed25519',
    'Dilithium2',
  ],
): Promise<SigningAgent> => {
  const [classical, pq] = [newHybridKey(classicalKind), newHybridKey(pqKind)]
  const { enrol } = agentRoutesOf(app, apiKey)
  const { body } = await enrol({ name: 'Signer', public_key: classical.jwk, public_key_pq: pq.jwk })
  const { agent_id, challenge } = body
  const signed = await enrol({
    agent_id,
    proof_of_possession: {
      nonce: challenge?.nonce,
      signature: classical.sign(Buffer.from(challenge?.message ?? '')),
      signature_pq: pq.sign(new Uint8Array(Buffer.from(challenge?.message_pq ?? '')), new Uint8Array(0)),
    },
  })
  if (signed.body.status !== 'active') throw new Error(`no agent: ${JSON.stringify([body, signed.body])}`)
  return { agentId: agent_id as string, classical, pq }
}

/** A device of the organisation with two keys. */
export const signingDevice = async (
  app: TestApp,
  { apiKey }: TestOrganisation,
): Promise<SigningKeys & { readonly deviceId: string }> => {
  const [classical, pq] = [newHybridKey('Ed25519'), newHybridKey('Dilithium2')]
  const body = { name: 'Signer', public_key: classical.jwk, public_key_pq: pq.jwk }
  const { device_id } = await ok<{ device_id: string }>(app, 'POST', '/v1/devices', { key: apiKey, body })
  return { deviceId: device_id, classical, pq }
}

/** The two signatures over what was prepared, or over a changed content. */
export const signaturesOf = ({ classical, pq }: SigningKeys, content: HybridContent) => {
  const bytes = hybridSigningBytes(content)
  return { sig_classical: classical.sign(bytes), sig_pq: pq.sign(bytes) }
}

/** A token as cookies, as docs/hybrid-tokens.md makes them. */
export const cookiesOf = (token: object, partCharacters = 3800): string[] =>
  (encodeURIComponent(JSON.stringify(token)).match(new RegExp(`.{1,${partCharacters}}`, 'g')) ?? []).map(
    (part, number) => `assay_ht_${number}=${part}`,
  )
