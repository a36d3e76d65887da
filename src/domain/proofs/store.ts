/** Proofs and revoked nullifiers. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'
import type { StoredContext } from './statement.ts'

export interface ProofRow {
  id: string
  organisation: string
  entry_index: number
  circuit_id: string
  /** Lower-case hex. */
  digest: string
  /** `zk1.…`. Its bytes can be made anew by anybody: they name nothing. */
  proof: string
  /** Canonical decimals. */
  public_signals: readonly string[]
  /** Null where it isn't known what the proof's `ctx` binds. */
  context: StoredContext | null
  created_at: number
  expires_at: number | null
}

export const proofs = table<ProofRow>('proofs', [
  'id',
  'organisation',
  'entry_index',
  'circuit_id',
  'digest',
  'proof',
  'public_signals',
  'context',
  'created_at',
  'expires_at',
])

interface RevokedNullifierRow {
  circuit_id: string
  /** Canonical decimal. */
  nullifier: string
  organisation: string
  revoked_at: number
}

/** Revoked again: the first time counts. */
export const revokedNullifiers = table<RevokedNullifierRow>(
  'revoked_nullifiers',
  ['circuit_id', 'nullifier', 'organisation', 'revoked_at'],
  { key: ['circuit_id', 'nullifier'], columns: { organisation: 'first', revoked_at: 'first' } },
)

interface IssuedNullifierRow {
  circuit_id: string
  /** Canonical decimal. */
  nullifier: string
  organisation: string
  /** `cns_…`, where it is that of a consent. */
  consent: string | null
  /** When the row is of no more use; null where it stays. */
  expires_at: number | null
}

export const issuedNullifiers = table<IssuedNullifierRow>('issued_nullifiers', [
  'circuit_id',
  'nullifier',
  'organisation',
  'consent',
  'expires_at',
])

/** Who issued what the nullifier belongs to, or undefined. @param nullifier canonical decimal */
export const findIssuedNullifier = async (
  { knex }: Database,
  circuit_id: string,
  nullifier: string,
): Promise<Pick<IssuedNullifierRow, 'organisation' | 'consent'> | undefined> =>
  knex<IssuedNullifierRow>('issued_nullifiers')
    .where({ circuit_id, nullifier })
    .first('organisation', 'consent')

/** Deletes some rows that are of no more use. @param at Unix ms @returns how many */
export const deleteExpiredNullifiers = async (
  { knex }: Database,
  at: number,
  maxRows: number,
): Promise<number> =>
  knex<IssuedNullifierRow>('issued_nullifiers')
    .whereIn(
      ['circuit_id', 'nullifier'],
      knex<IssuedNullifierRow>('issued_nullifiers')
        .select('circuit_id', 'nullifier')
        .where('expires_at', '<=', at)
        .orderBy('expires_at')
        .limit(maxRows)
        // Another server may be at it too.
        .forUpdate()
        .skipLocked(),
    )
    .delete()

/** One proof of the organisation, or undefined. */
export const findProof = async (
  { knex }: Database,
  organisation: string,
  id: string,
): Promise<ProofRow | undefined> => knex<ProofRow>('proofs').where({ organisation, id }).first()

/** The newest proof of the organisation that has one of these digests, rather one whose context is known; or undefined. */
export const findProofByDigest = async (
  { knex }: Database,
  organisation: string,
  digests: readonly string[],
): Promise<ProofRow | undefined> =>
  knex<ProofRow>('proofs')
    .where({ organisation })
    .whereIn('digest', [...digests])
    .orderByRaw('context IS NULL, id DESC')
    .first()

/** What the signed result said that a proof was made for: null where nothing was asked, undefined where there is none. */
export const findVerdict = async (
  { knex }: Database,
  organisation: string,
  proof_id: string,
): Promise<'YES' | 'NO' | null | undefined> =>
  (await knex('verifications').where({ organisation, proof_id }).first('decision'))?.decision

/** Whether a nullifier was revoked, by whichever organisation. @param nullifier canonical decimal */
export const isNullifierRevoked = async (
  { knex }: Database,
  circuit_id: string,
  nullifier: string,
): Promise<boolean> =>
  (await knex<RevokedNullifierRow>('revoked_nullifiers')
    .where({ circuit_id, nullifier })
    .first('revoked_at')) !== undefined
