/** Policies, every version of them. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { table } from '../../store/table.ts'

export interface PolicyRow {
  organisation: string
  name: string
  /** From 1. */
  version: number
  /** As they were written. */
  rules: readonly object[]
  entry_index: number
  created_at: number
}

export const policies = table<PolicyRow>('policies', [
  'organisation',
  'name',
  'version',
  'rules',
  'entry_index',
  'created_at',
])

/** The newest version of a policy. */
export const findPolicy = (
  { knex }: Database,
  organisation: string,
  name: string,
): Promise<PolicyRow | undefined> =>
  knex<PolicyRow>('policies').where({ organisation, name }).orderBy('version', 'desc').first()
