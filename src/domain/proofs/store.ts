/** Proofs and revoked nullifiers. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { integer, json, type RowOf, table, text } from '../../store/table.ts'
import type { StoredContext } from './statement.ts'

export const proofs = table('proofs', {
  id: text().key(),
  organisation: text(),
  entry_index: integer(),
  circuit_id: text(),
  /** Lower-case hex. */
  digest: text(),
  /** `zk1.…`. Its bytes can be made anew by anybody: they name nothing. */
  proof: text(),
  /** Canonical decimals. */
  public_signals: json<readonly string[]>(),
  /** Null where it isn't known what the proof's `ctx` binds. */
  context: json<StoredContext>().null(),
  created_at: integer(),
  expires_at: integer().null(),
})

export type ProofRow = RowOf<typeof proofs>

/** Revoked again: the first time counts. */
export const revokedNullifiers = table('revoked_nullifiers', {
  circuit_id: text().key(),
  /** Canonical decimal. */
  nullifier: text().key(),
  organisation: text().merge('first'),
  revoked_at: integer().merge('first'),
})

type RevokedNullifierRow = RowOf<typeof revokedNullifiers>

export const issuedNullifiers = table('issued_nullifiers', {
  circuit_id: text().key(),
  /** Canonical decimal. */
  nullifier: text().key(),
  organisation: text(),
  /** `cns_…`, where it is that of a consent. */
  consent: text().null(),
  /** When the row is of no more use; null where it stays. */
  expires_at: integer().null(),
})

type IssuedNullifierRow = RowOf<typeof issuedNullifiers>

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
