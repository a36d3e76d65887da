/** The ledger item that revokes a token of any kind for good. @module */
import type { Caller } from '../../caller.ts'
import { iso } from '../../clock.ts'
import type { Item } from '../../ledger/item.ts'
import type { Row } from '../../store/table.ts'
import type * as Nullifiers from '../proofs/spending/nullifiers.ts'
import type { TokenRevoked } from './schemas.ts'

export type RevokesNullifiers = Pick<typeof Nullifiers, 'revokedNullifierClaim' | 'revokedNullifierRow'>

interface Revocation {
  readonly tokenId: string
  /** Of the claim, and how the entry calls what happened. */
  readonly event: string
  readonly subject: string
  /** Of the token, as its own entry has it. */
  readonly digest: Uint8Array
  /** Whose proofs the token can have, and what they show of it: none of them counts any more. */
  readonly circuitId: string
  readonly nullifier: bigint
  /** Keeps the revocation. */
  row(place: { readonly entry_index: number; readonly revoked_at: number }): Row
}

/** @returns the item; whoever comes later gets the first answer */
export const revocationItem = (
  nullifiers: RevokesNullifiers,
  { organisation }: Caller,
  { tokenId, event, subject, digest, circuitId, nullifier, row }: Revocation,
): Item<TokenRevoked> => {
  const answer = (at: number): TokenRevoked => ({
    success: true,
    tokenId,
    status: 'revoked',
    revokedAt: iso(at),
  })
  return {
    claims: [
      { kind: event, key: tokenId, code: 'conflict' },
      nullifiers.revokedNullifierClaim({ circuitId, nullifier }),
    ],
    entry: {
      type: 'revoke',
      subject: ['token-subject', subject],
      digest: Buffer.from(digest).toString('hex'),
      data: { event },
    },
    rows: ({ index, at }) => [
      row({ entry_index: index, revoked_at: at }),
      nullifiers.revokedNullifierRow({ circuitId, nullifier, organisation, at }),
    ],
    result: ({ at }) => answer(at),
    lost: ({ at }) => ({ settled: answer(at) }),
  }
}
