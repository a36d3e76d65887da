/** What can be spent of a proof, as claims in the ledger: whoever holds one has spent it, and nobody can hold it twice. @module */
import type { ErrorCode } from '../../../errors.ts'
import type { Claim } from '../../../ledger/item.ts'
import type { Ledger } from '../../../ledger/ledger.ts'

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

/** Kinds of the claims that revocations leave: proofs that are under way look for them when they are committed. */
const REVOKED = { digest: 'proof.revoked.digest', nullifier: 'proof.revoked.nullifier' } as const

export const revokedClaim = ([kind, key]: SpendKey): Claim => ({ kind: REVOKED[kind], key, code: 'conflict' })

/** The claim that a withdrawn result leaves: its proof can't be verified or spent after it. @param digest lower-case hex */
export const revokedDigestClaim = (digest: string): Claim => revokedClaim(['digest', digest])

/** Why a proof doesn't count because of a claim that somebody holds. */
export const reasonOfClaim = ({ kind }: Claim): 'DOUBLE_SPEND' | 'NULLIFIER_REVOKED' | 'RESULT_REVOKED' => {
  if (kind === REVOKED.nullifier) return 'NULLIFIER_REVOKED'
  return kind === REVOKED.digest ? 'RESULT_REVOKED' : 'DOUBLE_SPEND'
}

/** Whether the result that a proof was made for was withdrawn. */
export const isResultRevoked = async (
  ledger: Pick<Ledger, 'findClaim'>,
  organisation: string,
  digest: string,
): Promise<boolean> => (await ledger.findClaim(organisation, REVOKED.digest, digest)) !== undefined
