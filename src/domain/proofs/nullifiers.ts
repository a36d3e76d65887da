/** Nullifiers that nobody may use any more. @module */
import type { ErrorCode } from '../../errors.ts'
import type { Claim } from '../../ledger/item.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { Row } from '../../store/table.ts'
import { findSpentAt, nullifierKey, revokedClaim, spendClaim } from './spend-keys.ts'
import type { IssuerLookup } from './statement.ts'
import { findNullifierIssuer, issuedNullifiers, revokedNullifiers } from './store.ts'

export interface RevokedNullifier {
  readonly circuitId: string
  readonly nullifier: bigint
  /** Who revoked it; it counts for everybody. */
  readonly organisation: string
  /** Unix ms. */
  readonly at: number
}

/** The row by which a proof leads to whoever issued what it is about, and to nothing else of that: written as it is issued. */
export const issuedNullifierRow = ({
  circuitId,
  nullifier,
  organisation,
}: Omit<RevokedNullifier, 'at'>): Row =>
  issuedNullifiers.row({ circuit_id: circuitId, nullifier: nullifier.toString(), organisation })

/** By the row above. */
export const createIssuerLookup =
  (database: Database): IssuerLookup =>
  (circuitId, nullifier) =>
    findNullifierIssuer(database, circuitId, nullifier.toString())

/** The row that keeps proofs with this nullifier from being verified or spent. Written again: the first time counts. */
export const revokedNullifierRow = ({ circuitId, nullifier, organisation, at }: RevokedNullifier): Row =>
  revokedNullifiers.row({
    circuit_id: circuitId,
    nullifier: nullifier.toString(),
    organisation,
    revoked_at: at,
  })

/** The claim that goes with that row: a proof that was checked before it can't be verified or spent after it. */
export const revokedNullifierClaim = ({
  circuitId,
  nullifier,
}: Pick<RevokedNullifier, 'circuitId' | 'nullifier'>): Claim =>
  revokedClaim(nullifierKey(circuitId, nullifier))

/** Spends a nullifier without a proof: whoever presents a proof that has it comes too late, and the other way round. */
export const nullifierClaim = (
  { circuitId, nullifier }: Pick<RevokedNullifier, 'circuitId' | 'nullifier'>,
  code: ErrorCode,
): Claim => spendClaim(nullifierKey(circuitId, nullifier), code)

/** When the organisation spent this nullifier, with a proof or without (Unix ms), or undefined. */
export const nullifierSpentAt = (
  ledger: Pick<Ledger, 'findClaim'>,
  organisation: string,
  { circuitId, nullifier }: Pick<RevokedNullifier, 'circuitId' | 'nullifier'>,
): Promise<number | undefined> => findSpentAt(ledger, organisation, [nullifierKey(circuitId, nullifier)])
