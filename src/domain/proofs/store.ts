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
/** By name: a text that is prepared must answer the same when a later version adds a column. */
const COLUMNS = proofs.columns.join(', ')

/** Revoked again: the first time counts. */
export const revokedNullifiers = table('revoked_nullifiers', {
  circuit_id: text().key(),
  /** Canonical decimal. */
  nullifier: text().key(),
  organisation: text().merge('first'),
  revoked_at: integer().merge('first'),
})

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

/** Who issued what the nullifier belongs to, and when its row goes, or undefined. @param nullifier canonical decimal */
export const findIssuedNullifier = async (
  { knex }: Database,
  circuit_id: string,
  nullifier: string,
): Promise<Pick<IssuedNullifierRow, 'organisation' | 'consent' | 'expires_at'> | undefined> =>
  knex<IssuedNullifierRow>('issued_nullifiers')
    .where({ circuit_id, nullifier })
    .first('organisation', 'consent', 'expires_at')

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
  { query }: Database,
  organisation: string,
  id: string,
): Promise<ProofRow | undefined> => {
  const { rows } = await query<ProofRow>(
    `SELECT ${COLUMNS} FROM proofs WHERE id = $1 AND organisation = $2`,
    [id, organisation],
    'proofs-find',
  )
  return rows[0]
}

/** LATERAL with LIMIT keeps the planner at the index, whatever it believes of the table. */
const FIND_BY_DIGEST = `SELECT p.* FROM unnest($2::text[]) AS asked (digest)
  CROSS JOIN LATERAL (SELECT ${COLUMNS} FROM proofs AS kept WHERE kept.organisation = $1 AND kept.digest = asked.digest
    ORDER BY kept.context IS NULL, kept.id DESC LIMIT 1) AS p
  ORDER BY p.context IS NULL, p.id DESC LIMIT 1`

/** The newest proof of the organisation that has one of these digests, rather one whose context is known; or undefined. */
export const findProofByDigest = async (
  { query }: Database,
  organisation: string,
  digests: readonly string[],
): Promise<ProofRow | undefined> => {
  const { rows } = await query<ProofRow>(FIND_BY_DIGEST, [organisation, digests], 'proofs-find-digest')
  return rows[0]
}

/** What the signed result said that a proof was made for: null where nothing was asked, undefined where there is none. */
export const findVerdict = async (
  { query }: Database,
  organisation: string,
  proofId: string,
): Promise<'YES' | 'NO' | null | undefined> => {
  const { rows } = await query<{ decision: 'YES' | 'NO' | null }>(
    'SELECT decision FROM verifications WHERE proof_id = $1 AND organisation = $2 LIMIT 1',
    [proofId, organisation],
    'proofs-verdict',
  )
  return rows[0]?.decision
}

/** Whether a nullifier was revoked, by whichever organisation. @param nullifier canonical decimal */
export const isNullifierRevoked = async (
  { query }: Database,
  circuit_id: string,
  nullifier: string,
): Promise<boolean> => {
  const { rows } = await query(
    'SELECT revoked_at FROM revoked_nullifiers WHERE circuit_id = $1 AND nullifier = $2',
    [circuit_id, nullifier],
    'proofs-revoked-nullifier',
  )
  return rows.length > 0
}

/** Those of these that were revoked, by whichever organisation. @param keys circuit id, `/`, canonical decimal */
export const revokedNullifierKeys = async (
  { query }: Database,
  keys: readonly string[],
): Promise<readonly string[]> => {
  if (keys.length === 0) return []
  const parts = keys.map((key) => key.split('/'))
  const { rows } = await query<{ key: string }>(
    `SELECT circuit_id || '/' || nullifier AS key
      FROM unnest($1::text[], $2::text[]) AS asked (circuit_id, nullifier)
      JOIN revoked_nullifiers USING (circuit_id, nullifier)`,
    [parts.map(([circuit]) => circuit), parts.map(([, nullifier]) => nullifier)],
    'proofs-revoked-nullifiers',
  )
  return rows.map(({ key }) => key)
}
