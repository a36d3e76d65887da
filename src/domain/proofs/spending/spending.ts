/** What checking and spending leave in the log: one entry each, and claims that let a digest be spent once. @module */
import { iso } from '../../../clock.ts'
import { AppError } from '../../../errors.ts'
import { CLAIM_KINDS, type Claim } from '../../../ledger/claim-kinds.ts'
import { type Entry, hasMoved, type Tx } from '../../../ledger/decision.ts'
import { inside, type MemberProof, memberReason, type ShownProof, type ValidProof } from '../checking.ts'
import { alreadyRecorded, entryNames, proofRow, recordClaim } from '../recording.ts'
import { verdictOf } from '../signals.ts'
import { falseStatement, type ReasonCode } from '../statement.ts'
import type { LateRevocations } from './late-revocations.ts'
import { type RevocableKey, revokedClaim, spendClaim } from './spend-keys.ts'

/** A proof that is verified, and therefore known. */
export type VerifiedProof = ValidProof & { readonly proofId: string }

/** @param at Unix ms of the first time */
export const doubleSpend = (digest: string, at: number): AppError =>
  new AppError('double_spend', { reason: 'DOUBLE_SPEND', extras: { digest, consumed_at: iso(at) } })

/** What keeps a proof from being verified although it was when it was looked at. */
export interface Overtaken {
  /** DOUBLE_SPEND, NULLIFIER_REVOKED, CREDENTIAL_REVOKED, RESULT_REVOKED, CONSENT_SUPERSEDED, or one of them of a member; CHALLENGE_ANSWERED. */
  readonly reason: ReasonCode
  /** Unix ms: since when; of what others revoked, when it was seen. */
  readonly at: number
}

const REVOKED_REASONS: Readonly<Record<RevocableKey[0], ReasonCode>> = {
  digest: 'RESULT_REVOKED',
  nullifier: 'NULLIFIER_REVOKED',
  status: 'CREDENTIAL_REVOKED',
}

/** What a proof's own keys say. */
type Find = (proof: ShownProof) => Overtaken | undefined

const findSpent =
  (tx: Tx, others: Pick<LateRevocations, 'spentAt'>): Find =>
  (proof) => {
    const holders = proof.spendKeys.map((key) => tx.holder(...spendClaim(key)))
    const at = holders.find((holder) => holder !== undefined)?.at ?? others.spentAt(proof)
    return at === undefined ? undefined : { reason: 'DOUBLE_SPEND', at }
  }

const findRevoked =
  (tx: Tx, others: Pick<LateRevocations, 'has'>): Find =>
  ({ revocableKeys }) => {
    for (const key of revocableKeys) {
      const at = tx.holder(...revokedClaim(key))?.at ?? (others.has(key) ? tx.at : undefined)
      if (at !== undefined) return { reason: REVOKED_REASONS[key[0]], at }
    }
    return undefined
  }

const findSuperseded =
  (tx: Tx, others: Pick<LateRevocations, 'isSuperseded'>): Find =>
  ({ superseding }) => {
    if (superseding === undefined) return undefined
    const { otherIssuer, counter, stood, reason } = superseding
    const isSuperseded =
      otherIssuer === undefined ? hasMoved(counter, stood)(tx) : others.isSuperseded(superseding)
    return isSuperseded ? { reason, at: tx.at } : undefined
  }

/**
 * A YES is recorded of nothing that was revoked, or superseded for what it shows: whoever sends signals by name isn't held against
 * what became of them, and what is known may be revoked while it is proved. Whatever is proved here is of the caller's own
 * issuing, whose claims and counters the commit sees.
 * @throws AppError not_provable, reason STATEMENT_FALSE
 */
export const demandStanding = (
  tx: Tx,
  {
    decision,
    revocableKeys,
    superseding,
  }: Pick<ShownProof, 'revocableKeys' | 'superseding'> & { decision: number },
): void => {
  if (decision !== 1) return
  // Its own digest is new.
  const isRevoked = revocableKeys.some((key) => key[0] !== 'digest' && tx.holder(...revokedClaim(key)))
  const isSuperseded = superseding && hasMoved(superseding.counter, superseding.stood)(tx)
  if (isRevoked || isSuperseded) throw falseStatement('What it is about was revoked, withdrawn or replaced.')
}

/** Looks at a proof, then at its members. */
const findInside = (proof: ShownProof, find: Find): Overtaken | undefined => {
  const own = find(proof)
  if (own) return own
  for (const [index, member] of proof.members.entries()) {
    const theirs = findInside(member, find)
    if (theirs) return { ...theirs, reason: memberReason(index, theirs.reason) }
  }
  return undefined
}

/** Whether a challenge has its answer. */
const answeredClaim = (challengeId: string): Claim => [CLAIM_KINDS.challengeAnswered, challengeId]

const findAnswered = (tx: Tx, { adoption }: ValidProof): Overtaken | undefined => {
  const held = adoption?.challenge && tx.holder(...answeredClaim(adoption.challenge.challengeId))
  return held && { reason: 'CHALLENGE_ANSWERED', at: held.at }
}

/** A proof that was recorded since it was looked at is that record: one of many is not looked at again for that. */
export const asRecorded = (tx: Tx, checked: VerifiedProof): VerifiedProof => {
  const first = checked.adoption && tx.holder(...recordClaim(checked.circuitId, checked.digest))
  // The holder is what is claimed with it below.
  return first ? { ...checked, adoption: undefined, proofId: String(first.holder) } : checked
}

/**
 * Whether a proof, or what it stands for, was spent or revoked since it was looked at, or its challenge answered.
 * @param others what other organisations revoked or used up
 * @throws AppError conflict where it was recorded since; `recordedId` knows the record
 */
export const overtaken = (
  tx: Tx,
  checked: VerifiedProof,
  others: Pick<LateRevocations, 'has' | 'spentAt' | 'isSuperseded'>,
): Overtaken | undefined => {
  const first = checked.adoption && tx.holder(...recordClaim(checked.circuitId, checked.digest))
  // The holder is what is claimed with it below.
  if (first) throw alreadyRecorded(String(first.holder))
  return (
    findAnswered(tx, checked) ??
    findInside(checked, findSpent(tx, others)) ??
    findInside(checked, findRevoked(tx, others)) ??
    findInside(checked, findSuperseded(tx, others))
  )
}

const entryOf = (type: 'verify' | 'spend', checked: MemberProof): Entry => {
  const { challenge } = checked.adoption ?? {}
  return {
    type,
    ...entryNames(checked),
    // Whose endpoints hear of an answer: those of the key that asked.
    ...(challenge?.keyId && { keyId: challenge.keyId }),
    data:
      type === 'verify'
        ? { decision: verdictOf(checked.decision), ...(checked.adoption && { made_by: 'elsewhere' }) }
        : { event: 'proof.spent' },
  }
}

/** Logs that a proof was verified. One that somebody else made is on record from then on, and its challenge is answered. */
export const logVerified = (tx: Tx, checked: VerifiedProof): void => {
  const { adoption, circuitId, digest, proofId } = checked
  const { index } = tx.append(entryOf('verify', checked))
  if (adoption === undefined) return
  tx.claim(...recordClaim(circuitId, digest), proofId)
  if (adoption.challenge) tx.claim(...answeredClaim(adoption.challenge.challengeId), proofId)
  tx.write(proofRow(adoption, { ...checked, ...adoption }, index))
}

/** Spends a proof and what it stands for, unless it was {@link overtaken}: an entry for each. */
export const spend = (tx: Tx, checked: VerifiedProof): void => {
  const all = inside([checked])
  for (const { spendKeys } of all) for (const key of spendKeys) tx.claim(...spendClaim(key))
  for (const proof of all) tx.append(entryOf('spend', proof))
}
