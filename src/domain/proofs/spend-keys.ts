/** What can be spent of a proof, as claims in the ledger: whoever holds one has spent it, and nobody can hold it twice. @module */
import type { ErrorCode } from '../../errors.ts'
import type { Claim } from '../../ledger/item.ts'
import type { Ledger } from '../../ledger/ledger.ts'

/** Its digest (lower-case hex), or the circuit and decimal of its nullifier. */
export type SpendKey = readonly [kind: 'digest' | 'nullifier', key: string]

export const nullifierKey = (circuitId: string, nullifier: bigint | string): SpendKey => [
  'nullifier',
  `${circuitId}/${nullifier}`,
]

const kindOf = ([kind]: SpendKey): string => `proof.spent.${kind}`

/** @param code what the second one fails with */
export const spendClaim = (key: SpendKey, code: ErrorCode): Claim => ({
  kind: kindOf(key),
  key: key[1],
  code,
})

/** When the first of these was spent (Unix ms), or undefined. */
export const findSpentAt = async (
  ledger: Pick<Ledger, 'findClaim'>,
  organisation: string,
  keys: readonly SpendKey[],
): Promise<number | undefined> => {
  const held = await Promise.all(keys.map((key) => ledger.findClaim(organisation, kindOf(key), key[1])))
  const times = held.flatMap((claim) => (claim === undefined ? [] : [claim.at]))
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Kind of the claim that a revoked nullifier leaves: proofs that are under way look for it when they are committed. */
export const REVOKED_NULLIFIER = 'proof.revoked.nullifier'

export const revokedClaim = ([, key]: SpendKey): Claim => ({ kind: REVOKED_NULLIFIER, key, code: 'conflict' })
