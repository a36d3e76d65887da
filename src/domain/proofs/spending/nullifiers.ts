/** Nullifiers that nobody may use any more. @module */
import { poseidon } from '../../../circuits/field.ts'
import type { Clock } from '../../../clock.ts'
import { POSEIDON_TAGS } from '../../../core/poseidon-tags.ts'
import type { Claim } from '../../../ledger/claim-kinds.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Database } from '../../../store/database.ts'
import type { Row } from '../../../store/table.ts'
import type { IssuerLookup } from '../statement.ts'
import {
  deleteExpiredNullifiers,
  findIssuedNullifier,
  issuedNullifiers,
  revokedNullifiers,
} from '../store.ts'
import { findSpentAt, nullifierKey, revokedClaim, spendClaim } from './spend-keys.ts'

/** Rows of what has expired are swept this often, and so many at a time; when there were more, again with the next call. */
const SWEEP_PAUSE_MS = 3_600_000
const SWEEP_ROWS = 500
/** Clocks differ, and the `now` of a proof may lie back. */
const SWEEP_GRACE_MS = 86_400_000

export interface RevokedNullifier {
  readonly circuitId: string
  /** What a proof spends: the nullifier, or the status of a credential, a token or a consent. */
  readonly nullifier: bigint
  /** Who revoked it; it counts for everybody. */
  readonly organisation: string
  /** Unix ms. */
  readonly at: number
}

/** What proofs of something that is issued spend. */
export interface IssuedNullifier extends Omit<RevokedNullifier, 'at'> {
  /** `cns_…`, where it is a consent: later records may take its place, so that its proofs have to lead to it. */
  readonly consent?: string
  /** Unix ms: when no proof says YES of it any more, and nobody asks for the row. Absent: it stays. */
  readonly expiresAt?: number
}

/**
 * The row by which a proof leads to whoever issued what it is about, and to nothing else of that but a consent: written as it
 * is issued.
 */
export const issuedNullifierRow = ({
  circuitId,
  nullifier,
  organisation,
  consent,
  expiresAt,
}: IssuedNullifier): Row =>
  issuedNullifiers.row({
    circuit_id: circuitId,
    nullifier: nullifier.toString(),
    organisation,
    consent: consent ?? null,
    expires_at: expiresAt === undefined ? null : expiresAt + SWEEP_GRACE_MS,
  })

/** Writes that row by itself, for what is signed anew; one that is there stays. */
export const insertIssued = async ({ knex }: Database, { values }: Row): Promise<void> => {
  await knex('issued_nullifiers').insert(values).onConflict().ignore()
}

/** What tokens and consents were known by to version 1 of their circuits: Poseidon[NULLIFIER](secret, 0). */
export const formerNullifier = (secret: bigint): bigint => poseidon(POSEIDON_TAGS.NULLIFIER, [secret, 0n])

/** By the row above. */
export const createIssuerLookup =
  (database: Database): IssuerLookup =>
  async (circuitId, nullifier) => {
    const row = await findIssuedNullifier(database, circuitId, nullifier.toString())
    if (row === undefined) return undefined
    const { organisation, consent, expires_at } = row
    return { organisation, consent, expiresAt: expires_at === null ? null : expires_at - SWEEP_GRACE_MS }
  }

/**
 * Deletes the rows above of what expired a day ago, from time to time when it is called. A nullifier without its row is nobody's, so
 * that it is refused where somebody has to vouch for it: none can come back.
 */
export const createNullifierSweep = (database: Database, clock: Clock) => {
  let sweepAfter = 0
  return async (): Promise<void> => {
    const now = clock.now()
    if (now < sweepAfter) return
    sweepAfter = now + SWEEP_PAUSE_MS
    const swept = await deleteExpiredNullifiers(database, now, SWEEP_ROWS)
    // There are more.
    if (swept === SWEEP_ROWS) sweepAfter = now
  }
}

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
export const nullifierClaim = ({
  circuitId,
  nullifier,
}: Pick<RevokedNullifier, 'circuitId' | 'nullifier'>): Claim => spendClaim(nullifierKey(circuitId, nullifier))

/** When the organisation spent this nullifier, with a proof or without (Unix ms), or undefined. */
export const nullifierSpentAt = (
  ledger: Pick<Ledger, 'findClaims'>,
  organisation: string,
  { circuitId, nullifier }: Pick<RevokedNullifier, 'circuitId' | 'nullifier'>,
): Promise<number | undefined> => findSpentAt(ledger, organisation, [nullifierKey(circuitId, nullifier)])
