/** What an agent presents to be recognised, once it was looked at: the same for requests, JWS and agent cards. @module */
import type { PublicKey } from '../../../../keys/public-key.ts'
import type { AgentRecord } from '../../enrol/service.ts'
import type { EvidenceReason } from '../reasons.ts'

/** A signature's time may lie so far ahead of our clock. Behind it, none: what has expired has expired. */
export const MAX_CLOCK_AHEAD_SECONDS = 30
/** From created to expires, of who is enrolled. */
export const MAX_WINDOW_SECONDS = 480
/** Of bots that nobody enrolled: the most that draft-ietf-webbotauth-httpsig-protocol §5.2 recommends to them. */
export const MAX_BOT_WINDOW_SECONDS = 24 * 3600
export const MIN_NONCE_BYTES = 16
export const MAX_NONCE_BYTES = 192

/** A key of an agent, and whose it is. */
export interface AgentKey {
  readonly publicKey: PublicKey
  /** Absent where nobody enrolled it: it is published where the request says. */
  readonly agent?: AgentRecord
}

/**
 * Finds the key that a message names; what it names is not believed, only looked up.
 * @returns why there is none
 */
export type FindKey = (kid: unknown) => Promise<AgentKey | EvidenceReason>

/**
 * Finds a key that nobody enrolled, at the URL where a signed request says that it is published.
 * @returns why there is none
 */
export type FindPublishedKey = (kid: string, url: string) => Promise<AgentKey | EvidenceReason>

/** Times in Unix seconds. */
export interface Evidence {
  readonly method: 'http' | 'jws' | 'agent_card'
  /** Why it does not count; empty where it does. The state of the agent is not looked at yet. */
  readonly reasons: readonly EvidenceReason[]
  /** Who signed it, if anybody known did: the fields below are empty else, since nobody stands for them. */
  readonly signer?: AgentKey
  /** URL at which a signed request says that the key is published; nobody has looked. */
  readonly signatureAgent?: string
  readonly tag?: string
  readonly created?: number
  readonly expires?: number
  readonly nonce?: string
  /** What was signed: the payload of a JWS, the JSON object in the body of a request whose digest is covered. */
  readonly signed?: Readonly<Record<string, unknown>>
  /** SHA-256 over what was presented, lower-case hex. */
  readonly digest: string
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/

/** A random nonce of at least 128 bits. Whether it was used before is for the ledger to say. */
export const nonceFault = (nonce: unknown): EvidenceReason | undefined => {
  if (typeof nonce !== 'string' || nonce === '') return 'NONCE_MISSING'
  if (!BASE64.test(nonce) && !BASE64URL.test(nonce)) return 'NONCE_WEAK'
  const { length } = Buffer.from(nonce, 'base64')
  return length >= MIN_NONCE_BYTES && length <= MAX_NONCE_BYTES ? undefined : 'NONCE_WEAK'
}

const isSeconds = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** What speaks against the times of a signature. @param now Unix seconds */
export const timeFaults = (
  created: unknown,
  expires: unknown,
  now: number,
  maxWindowSeconds = MAX_WINDOW_SECONDS,
): EvidenceReason[] => {
  const faults: EvidenceReason[] = []
  if (!isSeconds(created)) faults.push('CREATED_MISSING')
  else if (created > now + MAX_CLOCK_AHEAD_SECONDS) faults.push('NOT_YET_VALID')
  if (!isSeconds(expires)) faults.push('EXPIRES_MISSING')
  else if (expires <= now) faults.push('SIGNATURE_EXPIRED')
  if (isSeconds(created) && isSeconds(expires)) {
    const window = expires - created
    if (window <= 0 || window > maxWindowSeconds) faults.push('WINDOW_INVALID')
  }
  return faults
}

const STATUS_REASONS = {
  pending: 'AGENT_PENDING',
  suspended: 'AGENT_SUSPENDED',
  revoked: 'AGENT_REVOKED',
  expired: 'AGENT_EXPIRED',
} as const satisfies Record<Exclude<AgentRecord['status'], 'active'>, EvidenceReason>

/** What speaks against the agent itself. */
export const statusFaults = ({ status }: Pick<AgentRecord, 'status'>): EvidenceReason[] =>
  status === 'active' ? [] : [STATUS_REASONS[status]]
