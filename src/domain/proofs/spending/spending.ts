/** What checking and spending leave in the log: one entry each, and claims that let a digest be spent once. @module */
import { iso } from '../../../clock.ts'
import { AppError, fail } from '../../../errors.ts'
import type { Claim, Entry, Item } from '../../../ledger/item.ts'
import { inside, type MemberProof, memberReason, type ValidProof } from '../checking.ts'
import { entryNames } from '../recording.ts'
import { verdictOf } from '../signals.ts'
import type { ReasonCode } from '../statement.ts'
import { reasonOfClaim, revokedClaim, spendClaim } from './spend-keys.ts'

/** A proof that is verified, and therefore known. */
export type VerifiedProof = MemberProof

/** @param at Unix ms of the first time */
export const doubleSpend = (digest: string, at: number): AppError =>
  new AppError('double_spend', { reason: 'DOUBLE_SPEND', extras: { digest, consumed_at: iso(at) } })

/**
 * What keeps a proof from being verified although it was when it was looked at: DOUBLE_SPEND, NULLIFIER_REVOKED,
 * RESULT_REVOKED, or one of them of a member.
 */
export type Overtaken = ReasonCode

const spendClaims = ({ spendKeys }: ValidProof): Claim[] =>
  spendKeys.map((key) => spendClaim(key, 'double_spend'))

/** Looks for what was revoked: a nullifier, or the result that the proof was made for. */
const revocations = ({ spendKeys }: ValidProof): Claim[] =>
  spendKeys.map((key) => ({ ...revokedClaim(key), look: true }))

/** @returns undefined where the claim is neither the proof's nor one of a member's */
const findOvertaken = ({ spendKeys, members }: ValidProof, claim: Claim): Overtaken | undefined => {
  if (spendKeys.some(([, key]) => key === claim.key)) return reasonOfClaim(claim)
  for (const [index, member] of members.entries()) {
    const theirs = findOvertaken(member, claim)
    if (theirs !== undefined) return memberReason(index, theirs)
  }
  return undefined
}

const overtakenBy = (checked: VerifiedProof, claim: Claim): Overtaken =>
  findOvertaken(checked, claim) ?? fail('internal')

/** Why {@link consumeItems} failed although the proof was not spent; undefined where it was, or something else went wrong. */
export const overtakenReason = (error: unknown): Overtaken | undefined =>
  error instanceof SpendOvertaken ? error.overtaken : undefined

class SpendOvertaken extends Error {
  readonly overtaken: Overtaken
  constructor(overtaken: Overtaken) {
    super(`A proof was overtaken while it was spent: ${overtaken}.`)
    this.name = 'SpendOvertaken'
    this.overtaken = overtaken
  }
}

const entryOf = (type: 'verify' | 'spend', checked: MemberProof): Entry => ({
  type,
  ...entryNames(checked),
  data: type === 'verify' ? { decision: verdictOf(checked.decision) } : { event: 'proof.spent' },
})

/** Spends a proof and what it stands for, all or nothing: an entry for each. */
const spends = (checked: VerifiedProof): Pick<Item<unknown>, 'claims' | 'entry' | 'more'> => ({
  claims: [...inside([checked]).flatMap(spendClaims), ...inside([checked]).flatMap(revocations)],
  entry: entryOf('spend', checked),
  more: inside([checked])
    .slice(1)
    .map((member) => entryOf('spend', member)),
})

/**
 * Logs that a proof was verified, unless it has been spent or revoked since it was looked at.
 * @param answer what the caller gets @param overtaken what he gets in that case
 */
export const verifyItem = <R>(
  checked: VerifiedProof,
  answer: () => R,
  overtaken: (reason: Overtaken) => R,
): Item<R> => ({
  claims: [
    ...inside([checked])
      .flatMap(spendClaims)
      .map((claim) => ({ ...claim, look: true })),
    ...inside([checked]).flatMap(revocations),
  ],
  entry: entryOf('verify', checked),
  result: answer,
  lost: ({ claim }) => ({ settled: overtaken(overtakenBy(checked, claim)) }),
})

/**
 * Logs that a proof was verified and that it is spent, with all that it stands for, or nothing of it.
 * @returns items that give the time, Unix ms
 */
export const consumeItems = (checked: VerifiedProof): Item<number>[] => {
  const { digest } = checked
  return [
    { entry: entryOf('verify', checked), result: ({ at }) => at },
    {
      ...spends(checked),
      result: ({ at }) => at,
      lost: ({ claim, at }) => {
        const reason = overtakenBy(checked, claim)
        throw reason === 'DOUBLE_SPEND' ? doubleSpend(digest, at) : new SpendOvertaken(reason)
      },
    },
  ]
}

/**
 * Logs that a proof is spent, together with whatever else is committed: it fails nothing else.
 * @param answers what the caller gets; `at` is Unix ms
 */
export const spendItem = <R>(
  checked: VerifiedProof,
  answers: { readonly spent: (at: number) => R; readonly overtaken: (reason: Overtaken, at: number) => R },
): Item<R> => ({
  ...spends(checked),
  result: ({ at }) => answers.spent(at),
  lost: ({ claim, at }) => ({ settled: answers.overtaken(overtakenBy(checked, claim), at) }),
})
