/** Results are looked up by the proofs that were made for them. Frozen: later changes are migrations of their own. @module */
import type { Knex } from 'knex'

export const resultProofsMigration = {
  name: '0028-result-proofs',
  async up(knex: Knex): Promise<void> {
    await knex.raw('CREATE INDEX verifications_proof ON verifications (proof_id) WHERE proof_id IS NOT NULL')
  },
}
