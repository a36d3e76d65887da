/** Agents with keys of their own, enrolled through the real routes. */
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import type { AgentEnrolled } from '../../../src/domain/agents/enrol/schemas.ts'
import type { BadgeIssued } from '../../../src/domain/agents/trust/badge/schemas-badge.ts'
import { type Jwk, thumbprint } from '../../../src/keys/jwks.ts'
import { type Client, demandSuccess, type TestResponse } from '../client.ts'

export interface ErrorBody {
  readonly error?: string
  readonly message?: string
  readonly details?: { readonly path: string; readonly code: string; readonly message: string }[]
}

/** A key that signs. */
export interface AgentKey {
  readonly kid: string
  readonly jwk: Jwk
  /** Absent for ML-DSA. */
  readonly privateKey?: KeyObject
  /** @returns base64url */
  sign(message: string | Uint8Array): string
}

export const agentKeyOf = async (privateKey: KeyObject): Promise<AgentKey> => {
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as Jwk
  const digest = privateKey.asymmetricKeyType === 'ec' ? 'sha256' : null
  return {
    kid: await thumbprint(jwk),
    jwk,
    privateKey,
    sign: (message) =>
      sign(digest, Buffer.from(message), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString(
        'base64url',
      ),
  }
}

export const newAgentKey = (kind: 'Ed25519' | 'P-256' = 'Ed25519'): Promise<AgentKey> =>
  agentKeyOf(
    kind === 'Ed25519'
      ? generateKeyPairSync('ed25519').privateKey
      : generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  )

export const newMlDsaKey = async (): Promise<AgentKey> => {
  const { publicKey, secretKey } = ml_dsa44.keygen(new Uint8Array(randomBytes(32)))
  const jwk = { kty: 'AKP', alg: 'ML-DSA-44', pub: Buffer.from(publicKey).toString('base64url') }
  return {
    kid: await thumbprint(jwk),
    jwk,
    sign: (message) =>
      Buffer.from(ml_dsa44.sign(new Uint8Array(Buffer.from(message)), secretKey)).toString('base64url'),
  }
}

type Enrolled = AgentEnrolled & ErrorBody

export const agentRoutesOf = (app: Client, apiKey: string) => {
  const enrol = (body: object): Promise<TestResponse<Enrolled>> =>
    app.request<Enrolled>('POST', '/ext/v1/agent-trust/enrol', { key: apiKey, body })
  /** A pending agent. */
  const pending = async (key: AgentKey, input: object = {}): Promise<Enrolled> => {
    const { status, body } = await enrol({ name: 'Shopping assistant', public_key: key.jwk, ...input })
    if (status !== 201 || body.status !== 'pending')
      throw new Error(`not pending: ${status} ${JSON.stringify(body)}`)
    return body
  }
  /** Answers the challenge of a pending agent. */
  const answer = ({ agent_id, challenge }: Enrolled, key: AgentKey, pqKey?: AgentKey) =>
    enrol({
      agent_id,
      proof_of_possession: {
        nonce: challenge?.nonce,
        signature: key.sign(challenge?.message ?? ''),
        ...(pqKey && { signature_pq: pqKey.sign(challenge?.message_pq ?? '') }),
      },
    })
  return {
    enrol,
    pending,
    answer,
    /** An active agent that has shown that it holds its key. */
    active: async (key: AgentKey, input: object = {}): Promise<Enrolled> =>
      demandSuccess(await answer(await pending(key, input), key)),
    create: <T = Record<string, unknown>>(body: object) =>
      app.request<T & ErrorBody>('POST', '/v1/agents', { key: apiKey, body }),
    step: (agentId: string, step: 'suspend' | 'resume' | 'revoke' | 'check-domain') =>
      app.request<Enrolled>('POST', `/console/api/agents/${agentId}/${step}`, { key: apiKey }),
    read: (agentId: string) =>
      app.request<Enrolled>('GET', `/console/api/agents/${agentId}`, { key: apiKey }),
    badge: (body: object) =>
      app.request<BadgeIssued & ErrorBody>('POST', '/ext/v1/agent-trust/badge', { key: apiKey, body }),
  }
}
