/**
 * Results that were withdrawn before: their proofs are known since, and must not count either. The claim is that of
 * `revokedDigestClaim`. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

export const revokedResultsMigration = {
  name: '0027-revoked-results',
  async up(knex: Knex): Promise<void> {
    await knex.raw(
      `INSERT INTO ledger_claims (organisation, kind, key, at)
        SELECT v.organisation, 'proof.revoked.digest', v.digest, min(r.revoked_at)
        FROM verification_revocations r JOIN verifications v ON v.id = r.verification
        GROUP BY v.organisation, v.digest
      ON CONFLICT DO NOTHING`,
    )
  },
}
