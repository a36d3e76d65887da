/** What agents present, signed by outside libraries where there are any, and the routes that judge it. */
import { hash, randomBytes } from 'node:crypto'
import { httpbis } from 'http-message-signatures'
import type { AgentAuditPage } from '../../../src/domain/agents/trust/schemas-audit.ts'
import type { AgentAuthorisation } from '../../../src/domain/agents/trust/schemas-authorise.ts'
import type { AgentVerdict } from '../../../src/domain/agents/trust/schemas-verify.ts'
import type { TestApp, TestOrganisation } from '../app.ts'
import type { Client, RequestOptions } from '../client.ts'
import { type AgentKey, agentRoutesOf, type ErrorBody, newAgentKey } from './agents.ts'

const NONCE_BYTES = 16

export const freshNonce = (): string => randomBytes(NONCE_BYTES).toString('base64url')

/** Unix seconds. */
export const secondsNow = (): number => Math.floor(Date.now() / 1000)

export const contentDigest = (body: string): string => `sha-256=:${hash('sha256', body, 'base64')}:`

/** The routes as one organisation calls them. */
export const agentTrustOf = (app: Client, key: string) => {
  const post = <T>(path: string, body: object, headers?: RequestOptions['headers']) =>
    app.request<T & ErrorBody>('POST', `/ext/v1/agent-trust/${path}`, { key, body, headers })
  return {
    verify: (body: object, headers?: RequestOptions['headers']) =>
      post<AgentVerdict>('verify', body, headers),
    authorise: (body: object, headers?: RequestOptions['headers']) =>
      post<AgentAuthorisation>('authorise', body, headers),
    audit: (body: object) => post<AgentAuditPage>('audit', body),
  }
}

/** An organisation of its own with an active agent. @param enrolment more of what the agent is enrolled with */
export const newTrustedAgent = async (app: TestApp, enrolment: object = {}) => {
  const owner: TestOrganisation = await app.organisation()
  const agents = agentRoutesOf(app, owner.apiKey)
  const key: AgentKey = await newAgentKey()
  const { agent_id: agentId } = await agents.active(key, enrolment)
  return { owner, agents, key, agentId, trust: agentTrustOf(app, owner.apiKey) }
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A compact JWS of an agent. @param header over alg, kid and typ @param claims over those that are needed */
export const agentJws = (
  key: AgentKey,
  audience: string,
  claims: object = {},
  header: object = {},
): string => {
  const iat = secondsNow()
  const alg = key.jwk.kty === 'EC' ? 'ES256' : key.jwk.kty === 'AKP' ? key.jwk.alg : 'EdDSA'
  const head = part({ alg, kid: key.kid, typ: 'agent-proof+jws', ...header })
  const covered = `${head}.${part({ aud: audience, iat, exp: iat + 60, nonce: freshNonce(), ...claims })}`
  return `${covered}.${key.sign(covered)}`
}

/** Signs what is to be authorised. */
export const agentRequestJws = (key: AgentKey, audience: string, claims: object): string =>
  agentJws(key, audience, claims, { typ: 'agent-request+jws' })

export interface HttpOptions {
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly fields?: readonly string[]
  /** Undefined values leave a parameter out. */
  readonly params?: Readonly<Record<string, string | number | undefined>>
}

/** A request signed by http-message-signatures. */
export const signedHttp = async (key: AgentKey, options: HttpOptions) => {
  const { method = options.body === undefined ? 'GET' : 'POST', url, body } = options
  const headers: Record<string, string> = {
    ...(body !== undefined && {
      'content-digest': contentDigest(body),
      'content-length': String(Buffer.byteLength(body)),
    }),
    ...options.headers,
  }
  const now = secondsNow()
  const given = {
    created: now,
    expires: now + 60,
    keyid: key.kid,
    nonce: freshNonce(),
    tag: 'web-bot-auth',
    ...options.params,
  }
  const params = Object.entries(given).filter(([, value]) => value !== undefined)
  const fields = options.fields ?? [
    '@method',
    '@authority',
    '@path',
    ...(body === undefined ? [] : ['content-digest']),
  ]
  const asValue = ([name, value]: [string, string | number | undefined]) =>
    [name, name === 'created' || name === 'expires' ? new Date(Number(value) * 1000) : value] as const
  const signed = await httpbis.signMessage(
    {
      key: { sign: async (data) => Buffer.from(key.sign(data), 'base64url') },
      name: 'sig1',
      fields: [...fields],
      params: params.map(([name]) => name),
      paramValues: Object.fromEntries(params.map(asValue)),
    },
    { method, url, headers },
  )
  return {
    method,
    url,
    headers: signed.headers as Record<string, string>,
    ...(body !== undefined && { body }),
  }
}

/** An agent, and what it signed, as the examples of the routes want it. */
export const makeSigningAgent = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const key = await newAgentKey()
  const limits = { currency: 'GBP', per_day: 100 }
  const { agent_id } = await agentRoutesOf(app, apiKey).active(key, { limits })
  const wanted = { action: 'order.pay', amount: 12.5, currency: 'GBP', payee: 'shop.example' }
  return {
    agentId: agent_id,
    agentProof: agentJws(key, app.url),
    agentRequest: agentRequestJws(key, app.url, wanted),
  }
}
