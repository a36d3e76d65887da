/** What can be spent of a proof, as claims in the ledger: whoever holds one has spent it, and nobody can hold it twice. @module */
import { CLAIM_KINDS, type Claim } from '../../../ledger/claim-kinds.ts'
import type { Held } from '../../../ledger/decision.ts'
import type { Ledger } from '../../../ledger/ledger.ts'

/** Its digest (lower-case hex), or the circuit and decimal of what it spends besides. */
export type SpendKey = readonly [kind: 'digest' | 'nullifier', key: string]
/** What of a proof can be revoked: that, or the status (decimal) of what was issued. */
export type RevocableKey = SpendKey | readonly [kind: 'status', key: string]

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

const earliestOf = (held: readonly (Held | undefined)[]): number | undefined => {
  const times = held.flatMap((claim) => (claim === undefined ? [] : [claim.at]))
  return times.length === 0 ? undefined : Math.min(...times)
}

/** When the first of these was spent (Unix ms), or undefined. */
export const findSpentAt = async (
  ledger: Pick<Ledger, 'findClaims'>,
  organisation: string,
  keys: readonly SpendKey[],
): Promise<number | undefined> => earliestOf(await ledger.findClaims(organisation, keys.map(spendClaim)))

/** Kinds of the claims that revocations leave: proofs that are under way look for them when they are committed. */
const REVOKED = {
  digest: CLAIM_KINDS.proofDigestRevoked,
  nullifier: CLAIM_KINDS.proofNullifierRevoked,
  status: CLAIM_KINDS.statusRevoked,
} as const

export const revokedClaim = ([kind, key]: RevocableKey): Claim => [REVOKED[kind], key]

/** The claim that a withdrawn result leaves: its proof can't be verified or spent after it. @param digest lower-case hex */
export const revokedDigestClaim = (digest: string): Claim => revokedClaim(['digest', digest])

/** What can be spent of a proof, and by whom. */
export interface Spendable {
  readonly spendKeys: readonly SpendKey[]
  /** Whose spending of it counts beside that of the organisation that has it; undefined: nobody's. */
  readonly otherSpender: string | undefined
}

/** When another organisation spent it first, where that counts (Unix ms), or undefined. */
export const findSpentElsewhere = async (
  ledger: Pick<Ledger, 'findClaims'>,
  { spendKeys, otherSpender }: Spendable,
): Promise<number | undefined> =>
  otherSpender === undefined ? undefined : findSpentAt(ledger, otherSpender, spendKeys)

/**
 * What ended a proof of an organisation.
 * @returns when it was spent first (Unix ms; by others only where not by that organisation), and whether the result that it was made for was withdrawn
 */
export const findEnd = async (
  ledger: Pick<Ledger, 'findClaims'>,
  organisation: string,
  { digest, ...spendable }: Spendable & { readonly digest: string },
): Promise<{ readonly spentAt: number | undefined; readonly isRevoked: boolean }> => {
  const claims = [revokedDigestClaim(digest), ...spendable.spendKeys.map(spendClaim)]
  const [[revoked, ...spent], elsewhere] = await Promise.all([
    ledger.findClaims(organisation, claims),
    findSpentElsewhere(ledger, spendable),
  ])
  return { spentAt: earliestOf(spent) ?? elsewhere, isRevoked: revoked !== undefined }
}
