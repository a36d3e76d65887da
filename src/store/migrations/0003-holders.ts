/**
 * What circuits 2.0.0 of credentials, tokens and consents need no longer: a credential is known by its status. What was issued before
 * is signed anew when it is first asked for.
 * @module
 */
import type { Knex } from 'knex'

export const holdersMigration = {
  name: '0003-holders',
  async up(knex: Knex): Promise<void> {
    await knex.schema.dropTable('kyc_credentials')
  },
}
