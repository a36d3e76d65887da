/** Organisations as a list for operators: newest first, by subscription or the beginning of the name. @module */
import type { Knex } from 'knex'

const QUERIES = [
  'CREATE INDEX organisations_subscription ON organisations (subscription, id)',
  'CREATE INDEX organisations_name ON organisations (lower(name) text_pattern_ops)',
] as const

export const organisationsListedMigration = {
  name: '0019-organisations-listed',
  async up(knex: Knex): Promise<void> {
    for (const query of QUERIES) await knex.raw(query)
  },
}
