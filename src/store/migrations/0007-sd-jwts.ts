/**
 * Credentials about people for wallets. What is revoked is a view from now on: such a credential ends with the check that it is of,
 * in the commit that replaces the check or erases the person.
 * @module
 */
import type { Knex } from 'knex'

export const sdJwtsMigration = {
  name: '0007-sd-jwts',
  async up(knex: Knex): Promise<void> {
    await knex.raw(`CREATE TABLE kyc_sd_jwts (
      status bigint PRIMARY KEY,
      organisation text COLLATE "C" NOT NULL,
      subject text COLLATE "C" NOT NULL,
      generation integer NOT NULL,
      entry_index bigint NOT NULL
    )`)
    await knex.raw(`CREATE VIEW revoked_status_numbers AS
      SELECT status FROM revoked_statuses
      UNION ALL
      SELECT status FROM kyc_sd_jwts JOIN kyc_subjects USING (organisation, subject, generation)
       WHERE erased_at IS NOT NULL OR conclusive_entry IS DISTINCT FROM kyc_sd_jwts.entry_index`)
  },
}
