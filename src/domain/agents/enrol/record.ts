/** An agent as services see it. @module */
import type { Jwk } from '../../../keys/jwks.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import type { AgentStatus, TrustLevel } from './states.ts'
import type { AgentRow } from './store.ts'

/** How long a challenge is open. */
export const CHALLENGE_VALID_MS = 3_600_000

/** What an agent may do. A list that is undefined allows anything, an empty one nothing; no money without a limit of it. */
export interface AgentLimits {
  /** ISO 4217. */
  readonly currency: string
  /** Minor units of `currency`, as `perDayMinor`. */
  readonly perTransactionMinor?: number
  /** Of one UTC day. */
  readonly perDayMinor?: number
  readonly allowedPayees?: readonly string[]
  readonly allowedActions?: readonly string[]
  /** Unix ms. */
  readonly expiresAt?: number
}

/** For whom an agent acts. */
export interface Principal {
  /** Such as `person` or `organisation`. */
  readonly type: string
  /** The organisation's own name for them. */
  readonly reference: string
}

export interface AgentRecord {
  /** `agt_…` */
  readonly id: string
  readonly organisation: string
  readonly name: string
  readonly description?: string
  readonly url?: string
  readonly provider?: string
  /** As of now. */
  readonly status: AgentStatus
  /** Grows by one with each change of status or trust; time alone does not count. */
  readonly stateVersion: number
  readonly trustLevel: TrustLevel
  /** Why the trust level is no higher. */
  readonly trustReasons: readonly string[]
  /** RFC 7638 thumbprint of `jwk`, an Ed25519 or P-256 key. */
  readonly kid: string
  readonly jwk: Jwk
  /** Of the second key, ML-DSA, where there is one. */
  readonly pqKid?: string
  readonly pqJwk?: Jwk
  readonly capabilities: readonly string[]
  readonly principal?: Principal
  readonly limits?: AgentLimits
  readonly keyDirectoryUrl?: string
  readonly agentCardUrl?: string
  /** Unix ms, as all times here. */
  readonly createdAt: number
  /** When its state changed last. */
  readonly changedAt: number
}

const PURPOSE = 'agent-principal'
const place = (id: string) => ({ table: 'agents', column: 'sealed_principal', row: id })

/** Who an agent acts for may be a person's name, so it is kept sealed. */
export const sealPrincipal = (sealing: Sealing, id: string, principal: Principal): Uint8Array =>
  sealing.seal(PURPOSE, place(id), Buffer.from(JSON.stringify(principal)))

/** The status of a row at a time. @param now Unix ms */
export const statusAt = ({ status, created_at, expires_at }: AgentRow, now: number): AgentStatus => {
  if (status === 'revoked') return status
  if (expires_at !== null && expires_at <= now) return 'expired'
  return status === 'pending' && created_at + CHALLENGE_VALID_MS <= now ? 'expired' : status
}

/** @throws SealingError when the row was altered, or sealed under another master key */
export const toRecord = (sealing: Sealing, row: AgentRow, now: number): AgentRecord => ({
  id: row.id,
  organisation: row.organisation,
  name: row.name,
  description: row.description ?? undefined,
  url: row.url ?? undefined,
  provider: row.provider ?? undefined,
  status: statusAt(row, now),
  stateVersion: row.state_version,
  trustLevel: row.trust_level,
  trustReasons: row.trust_reasons,
  kid: row.kid,
  jwk: row.jwk as Jwk,
  pqKid: row.pq_kid ?? undefined,
  pqJwk: (row.pq_jwk as Jwk | null) ?? undefined,
  capabilities: row.capabilities,
  principal:
    row.sealed_principal === null
      ? undefined
      : JSON.parse(Buffer.from(sealing.open(PURPOSE, place(row.id), row.sealed_principal)).toString()),
  limits: row.limits ?? undefined,
  keyDirectoryUrl: row.key_directory_url ?? undefined,
  agentCardUrl: row.agent_card_url ?? undefined,
  createdAt: row.created_at,
  changedAt: row.changed_at,
})
