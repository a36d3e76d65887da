/** Watch lists that could not be loaded, and when each of the others was. @module */
import type { Knex } from 'knex'

export const watchListProblems = {
  name: '0006-watch-list-problems',
  async up(knex: Knex): Promise<void> {
    await knex.raw("ALTER TABLE aml_snapshots ADD COLUMN problems jsonb NOT NULL DEFAULT '[]'")
    // Lists that were loaded before are as old as the version that names them.
    await knex.raw(`UPDATE aml_snapshots SET lists = coalesce((
      SELECT jsonb_agg(list || jsonb_build_object('publishedAt', NULL, 'loadedAt', loaded_at) ORDER BY place)
      FROM jsonb_array_elements(lists) WITH ORDINALITY AS stored (list, place)
    ), '[]')`)
  },
}
