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

/** A policy as it is listed. */
export type ListedRow = Pick<PolicyRow, 'name' | 'version' | 'created_at'> & { readonly rule_count: number }

/** Goes from name to name by the primary key, however many versions each has. */
const FIND_NAMES = `WITH RECURSIVE named (name, place) AS (
    (SELECT name, 1 FROM policies WHERE organisation = :organisation AND name > :after ORDER BY name LIMIT 1)
    UNION ALL
    SELECT following.name, named.place + 1 FROM named CROSS JOIN LATERAL (
      SELECT name FROM policies WHERE organisation = :organisation AND name > named.name ORDER BY name LIMIT 1
    ) AS following WHERE named.place < :limit)
  SELECT newest.* FROM named CROSS JOIN LATERAL (
    SELECT name, version, created_at, jsonb_array_length(rules) AS rule_count FROM policies
      WHERE organisation = :organisation AND policies.name = named.name ORDER BY version DESC LIMIT 1
  ) AS newest ORDER BY newest.name`

/** The newest versions of an organisation's policies, by name. @param after the last name of the page before */
export const findPolicies = async (
  { knex }: Database,
  organisation: string,
  { after = '', limit }: { readonly after?: string; readonly limit: number },
): Promise<ListedRow[]> => {
  const { rows } = await knex.raw<{ rows: ListedRow[] }>(FIND_NAMES, { organisation, after, limit })
  return rows
}

/** A version of a policy, by default the newest. */
export const findPolicy = (
  { knex }: Database,
  organisation: string,
  name: string,
  version?: number,
): Promise<PolicyRow | undefined> =>
  knex<PolicyRow>('policies')
    .where({ organisation, name, ...(version !== undefined && { version }) })
    .orderBy('version', 'desc')
    .first()
