/** What checking and spending leave in the log: one entry each, and claims that let a digest be spent once. @module */
import { iso } from '../../../clock.ts'
import { AppError } from '../../../errors.ts'
import type { Claim } from '../../../ledger/claim-kinds.ts'
import type { Entry, Tx } from '../../../ledger/decision.ts'
import { inside, type MemberProof, memberReason, type ValidProof } from '../checking.ts'
import { entryNames } from '../recording.ts'
import { verdictOf } from '../signals.ts'
import type { ReasonCode } from '../statement.ts'
import { revokedClaim, type SpendKey, spendClaim } from './spend-keys.ts'

/** A proof that is verified, and therefore known. */
export type VerifiedProof = MemberProof

/** @param at Unix ms of the first time */
export const doubleSpend = (digest: string, at: number): AppError =>
  new AppError('double_spend', { reason: 'DOUBLE_SPEND', extras: { digest, consumed_at: iso(at) } })

/** What keeps a proof from being verified although it was when it was looked at. */
export interface Overtaken {
  /** DOUBLE_SPEND, NULLIFIER_REVOKED, RESULT_REVOKED, or one of them of a member. */
  readonly reason: ReasonCode
  /** Unix ms: since when. */
  readonly at: number
}

const spentReason = (): ReasonCode => 'DOUBLE_SPEND'
const revokedReason = ([kind]: SpendKey): ReasonCode =>
  kind === 'nullifier' ? 'NULLIFIER_REVOKED' : 'RESULT_REVOKED'

/** Looks at these claims on a proof's keys, then on its members'. */
const findHeld = (
  tx: Tx,
  { spendKeys, members }: ValidProof,
  claimOf: (key: SpendKey) => Claim,
  reasonOf: (key: SpendKey) => ReasonCode,
): Overtaken | undefined => {
  for (const key of spendKeys) {
    const held = tx.holder(...claimOf(key))
    if (held) return { reason: reasonOf(key), at: held.at }
  }
  for (const [index, member] of members.entries()) {
    const theirs = findHeld(tx, member, claimOf, reasonOf)
    if (theirs) return { ...theirs, reason: memberReason(index, theirs.reason) }
  }
  return undefined
}

/** Whether a proof, or what it stands for, was spent or revoked since it was looked at. */
export const overtaken = (tx: Tx, checked: VerifiedProof): Overtaken | undefined =>
  findHeld(tx, checked, spendClaim, spentReason) ?? findHeld(tx, checked, revokedClaim, revokedReason)

const entryOf = (type: 'verify' | 'spend', checked: MemberProof): Entry => ({
  type,
  ...entryNames(checked),
  data: type === 'verify' ? { decision: verdictOf(checked.decision) } : { event: 'proof.spent' },
})

/** Logs that a proof was verified. */
export const logVerified = (tx: Tx, checked: VerifiedProof): void => {
  tx.append(entryOf('verify', checked))
}

/** Spends a proof and what it stands for, unless it was {@link overtaken}: an entry for each. */
export const spend = (tx: Tx, checked: VerifiedProof): void => {
  const all = inside([checked])
  for (const { spendKeys } of all) for (const key of spendKeys) tx.claim(...spendClaim(key))
  for (const proof of all) tx.append(entryOf('spend', proof))
}
