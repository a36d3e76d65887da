/** An agent as services see it. @module */
import type { Sealing } from '../../../keys/sealing.ts'
import type { AgentStatus } from './states.ts'
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

/** An agent at a time: its row, with whom it acts for. */
export type AgentRecord = Omit<AgentRow, 'status' | 'sealed_principal'> & {
  /** As of then. */
  readonly status: AgentStatus
  readonly principal: Principal | null
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
export const toRecord = (sealing: Sealing, row: AgentRow, now: number): AgentRecord => {
  const { sealed_principal, ...shown } = row
  return {
    ...shown,
    status: statusAt(row, now),
    principal:
      sealed_principal === null
        ? null
        : JSON.parse(Buffer.from(sealing.open(PURPOSE, place(row.id), sealed_principal)).toString()),
  }
}
