/** Key directories of Web Bot Auth, signed by an outside library. */
import { hash } from 'node:crypto'
import { httpbis } from 'http-message-signatures'
import type { TargetScript } from '../servers/target-server.ts'
import type { AgentKey } from './agents.ts'

export const DIRECTORY_PATH = '/.well-known/http-message-signatures-directory'
const DIRECTORY_TYPE = 'application/http-message-signatures-directory+json'

/** A script that answers a directory without a signature. */
export const directory =
  (value: unknown, type = DIRECTORY_TYPE): TargetScript =>
  (_, response) => {
    response.writeHead(200, { 'content-type': type }).end(JSON.stringify(value))
  }

interface SignedDirectory {
  /** Default: the key's own. */
  readonly keys?: readonly object[]
  /** Unix seconds. */
  readonly created?: number
  readonly expires?: number
  /** The host that the signature is for, where it isn't the one that is asked. */
  readonly authority?: string
  readonly fields?: readonly string[]
  /** Sent in place of what was signed. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A script that answers a directory as its appendix on domain binding has it, signed by the key. */
export const signedDirectory =
  (key: AgentKey, options: SignedDirectory = {}): TargetScript =>
  async ({ headers, path }, response) => {
    const {
      keys = [key.jwk],
      authority = headers.host,
      fields = ['@authority;req', 'content-digest'],
    } = options
    const body = JSON.stringify({ keys })
    const created = options.created ?? Math.floor(Date.now() / 1000)
    const signed = await httpbis.signMessage(
      {
        key: { sign: async (data) => Buffer.from(key.sign(data), 'base64url') },
        name: 'binding0',
        fields: [...fields],
        params: ['created', 'expires', 'keyid', 'tag'],
        paramValues: {
          created: new Date(created * 1000),
          expires: new Date((options.expires ?? created + 300) * 1000),
          keyid: key.kid,
          tag: 'http-message-signatures-directory',
        },
      },
      {
        status: 200,
        headers: {
          'content-type': DIRECTORY_TYPE,
          'content-digest': `sha-256=:${hash('sha256', body, 'base64')}:`,
          ...options.headers,
        },
      },
      { method: 'GET', url: `https://${authority}${path}`, headers: {} },
    )
    response.writeHead(200, signed.headers as Record<string, string>).end(options.body ?? body)
  }
