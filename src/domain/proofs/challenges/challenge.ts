/** A challenge: what an organisation asks somebody to prove who keeps a credential, and whom it has vouch for it. @module */
import { randomBytes } from 'node:crypto'
import { contextOf } from '../binding.ts'
import type { SentContext } from '../proof.ts'
import type { ChallengeRow } from './store.ts'

/** Wrong answers that a challenge takes, with the right one. */
export const MAX_TRIES = 5

/** Whoever has a challenge's id can answer it and use its tries up, so that no id leads to another: 130 random bits. */
const ID_DIGITS = 26
const BASE_32 = '0123456789abcdefghjkmnpqrstvwxyz'

/** `chl_…` */
export const newChallengeId = (): string => {
  const digits = Array.from(randomBytes(ID_DIGITS), (byte) => BASE_32[byte % BASE_32.length])
  return `chl_${digits.join('')}`
}

/** A challenge as proofs are held against it. */
export interface StandingChallenge {
  /** `chl_…` */
  readonly challengeId: string
  /** `prf_…`: under which its answer will be on record. */
  readonly proofId: string
  /** Of the key that asked; null where it wasn't one. */
  readonly keyId: string | null
  /** What an answer's `ctx` must be the hash of. */
  readonly context: SentContext
  /** Ids of the organisations of which one must have issued what is proved of. */
  readonly issuers: readonly string[]
  readonly isAnswered: boolean
}

/** The challenges of organisations, as whatever checks proofs looks for them. */
export interface OpenChallenges {
  /** The organisation's challenge of this nonce, answered and expired ones too; undefined: there is none. */
  byNonce(organisation: string, nonce: string): Promise<StandingChallenge | undefined>
}

export const contextOfChallenge = (row: ChallengeRow): SentContext =>
  contextOf(row.audience, {
    organisation: row.organisation,
    circuitId: row.circuit_id,
    statement: row.statement,
    nonce: row.nonce,
    expiresAt: row.expires_at,
  })

export const standing = (row: ChallengeRow, isAnswered: boolean): StandingChallenge => ({
  challengeId: row.id,
  proofId: row.proof_id,
  keyId: row.key_id,
  context: contextOfChallenge(row),
  issuers: row.issuers,
  isAnswered,
})

/** What may become of a challenge; it ends for good in all but the first. A later answer may come with the asker's own key alone. */
export type ChallengeState = 'open' | 'verified' | 'failed' | 'expired'

/** @param now Unix ms */
export const stateOf = (row: ChallengeRow, isAnswered: boolean, now: number): ChallengeState => {
  if (isAnswered) return 'verified'
  if (row.tries >= MAX_TRIES) return 'failed'
  return row.expires_at <= now ? 'expired' : 'open'
}
