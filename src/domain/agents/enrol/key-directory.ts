/**
 * Whether an agent's domain publishes its key: the key directory of Web Bot Auth
 * (draft-meunier-http-message-signatures-directory), a JWK set at a well-known path, which only who runs the host can write.
 * @module
 */
import { AppError } from '../../../errors.ts'
import { readPublicKey } from '../../../keys/public-key.ts'
import { EgressError } from '../../../net/egress-error.ts'
import type { SafeFetch } from '../../../net/safe-fetch.ts'
import type { TrustLevel } from './states.ts'

const DIRECTORY_PATH = '/.well-known/http-message-signatures-directory'
const DIRECTORY_TYPE = 'application/http-message-signatures-directory+json'
const MAX_DIRECTORY_BYTES = 64 * 1024
const MAX_DIRECTORY_KEYS = 64
const DEADLINE_MS = 5000
const HEADERS = { accept: `${DIRECTORY_TYPE}, application/json`, 'user-agent': 'Assay-Agents/1.0' }
const STATUS_OK = 200

/** What is known of an agent's key, and why not more. */
export interface Trust {
  readonly level: TrustLevel
  readonly reasons: readonly string[]
}

const refuse = (field: string, code: string, message: string): never => {
  throw new AppError('validation_failed', { details: [{ path: `/${field}`, code, message }] })
}

/**
 * Reads a URL of an agent.
 * @returns the URL as parsers write it, without a fragment
 * @throws AppError validation_failed unless it is https, without a user
 */
export const readUrl = (field: string, text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : refuse(field, 'url', `${field} must be an absolute URL`)
  if (url.protocol !== 'https:') refuse(field, 'url', `${field} must begin with https:`)
  if (url.username !== '' || url.password !== '')
    refuse(field, 'url', `${field} must not contain a user or password`)
  url.hash = ''
  return url.href
}

/**
 * Reads the URL of a key directory. On any other path whoever may put a file on the host would speak for it.
 * @throws AppError validation_failed
 */
export const readDirectoryUrl = (text: string): string => {
  const url = new URL(readUrl('key_directory_url', text))
  if (url.pathname === '/') url.pathname = DIRECTORY_PATH
  if (url.pathname !== DIRECTORY_PATH || url.search !== '')
    refuse('key_directory_url', 'url', `key_directory_url must have the path ${DIRECTORY_PATH} or none`)
  return url.href
}

const keysIn = (body: Buffer): readonly unknown[] | undefined => {
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch {
    return undefined
  }
  const keys = typeof value === 'object' && value !== null && 'keys' in value ? value.keys : undefined
  return Array.isArray(keys) ? keys : undefined
}

interface Asked {
  readonly kid: string
  readonly keyDirectoryUrl?: string
  readonly agentCardUrl?: string
}

export type KeyDirectories = ReturnType<typeof createKeyDirectories>

/** @param deps.openToAll whether everybody's directories may be at what the operator opened */
export const createKeyDirectories = (deps: {
  readonly safeFetch: SafeFetch
  readonly openToAll: boolean
}) => {
  /** Why a directory does not show the key; undefined when it does. */
  const askDirectory = async (
    url: string,
    kid: string,
    privateEgress: boolean,
  ): Promise<string | undefined> => {
    const answer = await deps
      .safeFetch(url, {
        method: 'GET',
        headers: HEADERS,
        maxBytes: MAX_DIRECTORY_BYTES,
        deadlineMs: DEADLINE_MS,
        // Another host's word would not be this one's.
        redirects: 0,
        allowListed: privateEgress || deps.openToAll,
      })
      .catch((error: unknown) => {
        if (error instanceof EgressError) return error
        throw error
      })
    if (answer instanceof EgressError) return `directory_${answer.kind}`
    if (answer.status !== STATUS_OK) return 'directory_status'
    const keys = keysIn(answer.body)
    if (keys === undefined) return 'directory_invalid'
    if (keys.length > MAX_DIRECTORY_KEYS) return 'directory_too_large'
    for (const key of keys) if ((await readPublicKey(key))?.kid === kid) return undefined
    return 'key_not_in_directory'
  }

  return {
    /**
     * What can be said of a key whose possession was shown: a directory that gives no usable answer is a reason, never an error.
     * @param privateEgress whether the ranges of EGRESS_ALLOW_CIDRS are open to the caller
     */
    async trust({ kid, keyDirectoryUrl, agentCardUrl }: Asked, privateEgress: boolean): Promise<Trust> {
      const url =
        keyDirectoryUrl ?? (agentCardUrl && readDirectoryUrl(new URL(agentCardUrl).origin)) ?? undefined
      if (url === undefined) return { level: 'key_verified', reasons: ['no_domain'] }
      const reason = await askDirectory(url, kid, privateEgress)
      return reason === undefined
        ? { level: 'domain_verified', reasons: [] }
        : { level: 'key_verified', reasons: [reason] }
    },
  }
}
