/** What can be spent of a proof, as claims in the ledger: whoever holds one has spent it, and nobody can hold it twice. @module */
import { CLAIM_KINDS, type Claim } from '../../../ledger/claim-kinds.ts'
import type { Ledger } from '../../../ledger/ledger.ts'

/** Its digest (lower-case hex), or the circuit and decimal of its nullifier. */
export type SpendKey = readonly [kind: 'digest' | 'nullifier', key: string]

export const nullifierKey = (circuitId: string, nullifier: bigint | string): SpendKey => [
  'nullifier',
  `${circuitId}/${nullifier}`,
]

/** Kinds of the claims that spending leaves. */
const SPENT = {
  digest: CLAIM_KINDS.proofDigestSpent,
  nullifier: CLAIM_KINDS.proofNullifierSpent,
} as const

export const spendClaim = ([kind, key]: SpendKey): Claim => [SPENT[kind], key]

/** When the first of these was spent (Unix ms), or undefined. */
export const findSpentAt = async (
  ledger: Pick<Ledger, 'findClaim'>,
  organisation: string,
  keys: readonly SpendKey[],
): Promise<number | undefined> => {
  const held = await Promise.all(keys.map((key) => ledger.findClaim(organisation, ...spendClaim(key))))
  const times = held.flatMap((claim) => (claim === undefined ? [] : [claim.at]))
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Kinds of the claims that revocations leave: proofs that are under way look for them when they are committed. */
const REVOKED = {
  digest: CLAIM_KINDS.proofDigestRevoked,
  nullifier: CLAIM_KINDS.proofNullifierRevoked,
} as const

export const revokedClaim = ([kind, key]: SpendKey): Claim => [REVOKED[kind], key]

/** The claim that a withdrawn result leaves: its proof can't be verified or spent after it. @param digest lower-case hex */
export const revokedDigestClaim = (digest: string): Claim => revokedClaim(['digest', digest])

/** Whether the result that a proof was made for was withdrawn. */
export const isResultRevoked = async (
  ledger: Pick<Ledger, 'findClaim'>,
  organisation: string,
  digest: string,
): Promise<boolean> => (await ledger.findClaim(organisation, ...revokedDigestClaim(digest))) !== undefined
