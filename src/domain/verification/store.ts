/** Signed results and their revocations. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { bytes, integer, json, type RowOf, table, text } from '../../store/table.ts'
import type { Asked } from './asked.ts'

export const verifications = table('verifications', {
  id: text().key(),
  organisation: text(),
  entry_index: integer(),
  leaf_hash: bytes(),
  /** Null where nothing was asked. */
  decision: text<'YES' | 'NO'>().null(),
  reason: text<'missing_data'>().null(),
  /** Lower-case hex. */
  digest: text(),
  circuit_id: text(),
  /** Null where no proof was made. */
  proof_id: text().null(),
  jws: text(),
  /** SHA-256 of `jws`, 32 bytes. */
  jws_hash: bytes(),
  issued_at: integer(),
  expires_at: integer().null(),
  /** As far as it may be shown; null also for policies, whose owners say what they ask. */
  asked: json<Asked>().null(),
})

type VerificationRow = RowOf<typeof verifications>

export const verificationRevocations = table('verification_revocations', {
  verification: text().key(),
  organisation: text(),
  entry_index: integer(),
  revoked_at: integer(),
})

/** A result with what became of it. */
export type VerificationStanding = VerificationRow & {
  revoked_at: number | null
  /** `zk1.…`; null where none was made, or kept. */
  proof: string | null
}

const standing = ({ knex }: Database) =>
  knex<VerificationRow>('verifications')
    .leftJoin('verification_revocations', 'verification_revocations.verification', 'verifications.id')
    .leftJoin('proofs', 'proofs.id', 'verifications.proof_id')
    .select('verifications.*', 'verification_revocations.revoked_at', 'proofs.proof')

/** A result by the SHA-256 of its JWS. */
export const findByHash = (
  database: Database,
  jwsHash: Uint8Array,
): Promise<VerificationStanding | undefined> =>
  standing(database).where({ jws_hash: jwsHash }).first<VerificationStanding | undefined>()

/** One result of the organisation, or undefined. */
export const findVerification = (
  database: Database,
  organisation: string,
  id: string,
): Promise<VerificationStanding | undefined> =>
  standing(database)
    .where({ 'verifications.id': id, 'verifications.organisation': organisation })
    .first<VerificationStanding | undefined>()
