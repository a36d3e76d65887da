/** What checking and spending leave in the log: one entry each, and claims that let a digest be spent once. @module */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { Claim, Entry, Item } from '../../ledger/item.ts'
import type { ValidProof } from './checking.ts'
import { entryNames } from './recording.ts'
import { verdictOf } from './signals.ts'
import { REVOKED_NULLIFIER, revokedClaim, spendClaim } from './spend-keys.ts'

/** A proof that is verified, and therefore known. */
export type VerifiedProof = ValidProof & { readonly proofId: string }

/** @param at Unix ms of the first time */
export const doubleSpend = (digest: string, at: number): AppError =>
  new AppError('double_spend', { reason: 'DOUBLE_SPEND', extras: { digest, consumed_at: iso(at) } })

const NULLIFIER_REVOKED = 'NULLIFIER_REVOKED'

/** What keeps a proof from being verified although it was when it was looked at. */
export type Overtaken = 'DOUBLE_SPEND' | typeof NULLIFIER_REVOKED

const overtakenBy = ({ kind }: Claim): Overtaken =>
  kind === REVOKED_NULLIFIER ? NULLIFIER_REVOKED : 'DOUBLE_SPEND'

/** Whether {@link consumeItems} failed because a nullifier was revoked meanwhile. */
export const isRevoked = (error: unknown): boolean =>
  error instanceof AppError && error.reason === NULLIFIER_REVOKED

const spendClaims = ({ spendKeys }: ValidProof): Claim[] =>
  spendKeys.map((key) => spendClaim(key, 'double_spend'))

/** Looks for nullifiers that were revoked. */
const revocations = ({ spendKeys }: ValidProof): Claim[] =>
  spendKeys.filter(([kind]) => kind === 'nullifier').map((key) => ({ ...revokedClaim(key), look: true }))

const entryOf = (caller: Caller, type: 'verify' | 'spend', checked: VerifiedProof): Entry => ({
  type,
  ...entryNames(caller, checked),
  data: type === 'verify' ? { decision: verdictOf(checked.decision) } : { event: 'proof.spent' },
})

/**
 * Logs that a proof was verified, unless it has been spent or revoked since it was looked at.
 * @param answer what the caller gets @param overtaken what he gets in that case
 */
export const verifyItem = <R>(
  caller: Caller,
  checked: VerifiedProof,
  answer: () => R,
  overtaken: (reason: Overtaken) => R,
): Item<R> => ({
  claims: [...spendClaims(checked).map((claim) => ({ ...claim, look: true })), ...revocations(checked)],
  entry: entryOf(caller, 'verify', checked),
  result: answer,
  lost: ({ claim }) => ({ settled: overtaken(overtakenBy(claim)) }),
})

/** Logs that a proof was verified and that it is spent, both or neither. @returns items that give the time, Unix ms */
export const consumeItems = (caller: Caller, checked: VerifiedProof): Item<number>[] => {
  const { digest } = checked
  return [
    { entry: entryOf(caller, 'verify', checked), result: ({ at }) => at },
    {
      claims: [...spendClaims(checked), ...revocations(checked)],
      entry: entryOf(caller, 'spend', checked),
      result: ({ at }) => at,
      lost: ({ claim, at }) => {
        const reason = overtakenBy(claim)
        throw reason === 'DOUBLE_SPEND' ? doubleSpend(digest, at) : new AppError('conflict', { reason })
      },
    },
  ]
}

/**
 * Logs that a proof is spent, together with whatever else is committed: it fails nothing else.
 * @param answers what the caller gets; `at` is Unix ms
 */
export const spendItem = <R>(
  caller: Caller,
  checked: VerifiedProof,
  answers: { readonly spent: (at: number) => R; readonly overtaken: (reason: Overtaken, at: number) => R },
): Item<R> => ({
  claims: [...spendClaims(checked), ...revocations(checked)],
  entry: entryOf(caller, 'spend', checked),
  result: ({ at }) => answers.spent(at),
  lost: ({ claim, at }) => ({ settled: answers.overtaken(overtakenBy(claim), at) }),
})
