/**
 * The keys of the issuer, whose signatures circuits verify. Columns that end in `_at` and `valid_until` are Unix
 * milliseconds. Frozen: later changes are migrations of their own.
 * @module
 */
import type { Knex } from 'knex'

export const issuerMigration = {
  name: '0012-issuer',
  async up(knex: Knex): Promise<void> {
    await knex.raw(
      `CREATE TABLE issuer_keys (
        kid text COLLATE "C" PRIMARY KEY,
        version integer NOT NULL UNIQUE,
        x text COLLATE "C" NOT NULL,
        y text COLLATE "C" NOT NULL,
        sealed_private bytea NOT NULL,
        created_at bigint NOT NULL,
        valid_until bigint
      )`,
    )
  },
}
