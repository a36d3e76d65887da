/** Revokes a token of any kind for good. @module */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import type { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Decide } from '../../ledger/decision.ts'
import type { Row } from '../../store/table.ts'
import type * as Nullifiers from '../proofs/spending/nullifiers.ts'
import type { TokenRevoked } from './schemas.ts'

export type RevokesNullifiers = Pick<typeof Nullifiers, 'revokedNullifierClaim' | 'revokedNullifierRow'>

interface Revocation {
  readonly tokenId: string
  /** Kind of the claim, and how the entry calls what happened. */
  readonly event: (typeof CLAIM_KINDS)['tokenRevoked' | 'hybridTokenRevoked']
  readonly subject: string
  /** Of the token, as its own entry has it. */
  readonly digest: Uint8Array
  /** Whose proofs the token can have, and what they show of it: none of them counts any more. */
  readonly circuitId: string
  readonly nullifier: bigint
  /** Keeps the revocation. */
  row(place: { readonly entry_index: number; readonly revoked_at: number }): Row
}

/** Revokes a token; whoever comes later gets the first answer. */
export const revocation = (
  nullifiers: RevokesNullifiers,
  { organisation }: Caller,
  { tokenId, event, subject, digest, circuitId, nullifier, row }: Revocation,
): Decide<TokenRevoked> => {
  const answer = (at: number): TokenRevoked => ({
    success: true,
    tokenId,
    status: 'revoked',
    revokedAt: iso(at),
  })
  const ofNullifier = nullifiers.revokedNullifierClaim({ circuitId, nullifier })
  return (tx) => {
    const first = tx.holder(event, tokenId) ?? tx.holder(...ofNullifier)
    if (first) return answer(first.at)
    tx.claim(event, tokenId)
    tx.claim(...ofNullifier)
    const { at } = tx
    const { index } = tx.append({
      type: 'revoke',
      subject: ['token-subject', subject],
      digest: Buffer.from(digest).toString('hex'),
      data: { event },
    })
    tx.write(row({ entry_index: index, revoked_at: at }))
    tx.write(nullifiers.revokedNullifierRow({ circuitId, nullifier, organisation, at }))
    return answer(at)
  }
}
