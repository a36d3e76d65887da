/** Revokes a token of any kind for good. @module */
import { iso } from '../../clock.ts'
import type { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Decide, Tx } from '../../ledger/decision.ts'
import type { TokenRevoked } from './schemas.ts'

interface Revocation {
  readonly tokenId: string
  /** Kind of the claim, and how the entry calls what happened. */
  readonly event: (typeof CLAIM_KINDS)['tokenRevoked' | 'hybridTokenRevoked']
  readonly subject: string
  /** Of the token, as its own entry has it. */
  readonly digest: Uint8Array
  /** Keeps the revocation, and lets no proof of the token count any more. */
  write(tx: Tx, place: { readonly entry_index: number; readonly revoked_at: number }): void
}

/** Revokes a token; whoever comes later gets the first answer. */
export const revocation = ({ tokenId, event, subject, digest, write }: Revocation): Decide<TokenRevoked> => {
  const answer = (at: number): TokenRevoked => ({
    success: true,
    tokenId,
    status: 'revoked',
    revokedAt: iso(at),
  })
  return (tx) => {
    const first = tx.holder(event, tokenId)
    if (first) return answer(first.at)
    tx.claim(event, tokenId)
    const { at } = tx
    const { index } = tx.append({
      type: 'revoke',
      subject: ['token-subject', subject],
      digest: Buffer.from(digest).toString('hex'),
      data: { event },
    })
    write(tx, { entry_index: index, revoked_at: at })
    return answer(at)
  }
}
