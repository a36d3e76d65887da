/** Signed results and their revocations. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'
import type { Asked } from './asked.ts'

interface VerificationRow {
  id: string
  organisation: string
  entry_index: number
  leaf_hash: Uint8Array
  /** Null where nothing was asked. */
  decision: 'YES' | 'NO' | null
  reason: 'missing_data' | null
  /** Lower-case hex. */
  digest: string
  circuit_id: string
  /** Null where no proof was made. */
  proof_id: string | null
  jws: string
  /** SHA-256 of `jws`, 32 bytes. */
  jws_hash: Uint8Array
  issued_at: number
  expires_at: number | null
  /** As far as it may be shown; null also for policies, whose owners say what they ask. */
  asked: Asked | null
}

export const verifications = table<VerificationRow>('verifications', [
  'id',
  'organisation',
  'entry_index',
  'leaf_hash',
  'decision',
  'reason',
  'digest',
  'circuit_id',
  'proof_id',
  'jws',
  'jws_hash',
  'issued_at',
  'expires_at',
  'asked',
])

interface RevocationRow {
  verification: string
  organisation: string
  entry_index: number
  revoked_at: number
}

export const verificationRevocations = table<RevocationRow>('verification_revocations', [
  'verification',
  'organisation',
  'entry_index',
  'revoked_at',
])

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
