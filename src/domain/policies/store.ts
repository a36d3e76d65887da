/** Policies, every version of them. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { integer, json, type RowOf, table, text } from '../../store/table.ts'

export const policies = table('policies', {
  organisation: text().key(),
  name: text().key(),
  /** From 1. */
  version: integer().key(),
  /** As they were written. */
  rules: json<readonly object[]>(),
  entry_index: integer(),
  created_at: integer(),
})

export type PolicyRow = RowOf<typeof policies>

/** The newest version of a policy. */
export const findPolicy = (
  { knex }: Database,
  organisation: string,
  name: string,
): Promise<PolicyRow | undefined> =>
  knex<PolicyRow>('policies').where({ organisation, name }).orderBy('version', 'desc').first()
