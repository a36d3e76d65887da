/** What queries read to find what they return. @module */
import type { Database } from '../../src/store/database.ts'

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Index Name'?: string
  readonly Plans?: readonly PlanNode[]
}

export interface QueryRead {
  readonly text: string
  /** Rows of tables and indexes that were looked at, those that a condition then left out among them. */
  readonly rows: number
  readonly indexes: readonly string[]
}

const nodesOf = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

const readBy = (text: string, plan: PlanNode): QueryRead => {
  const scans = nodesOf(plan).filter((node) => node['Node Type'].includes('Scan'))
  const rows = scans.map(
    (node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
  )
  return {
    text,
    rows: rows.reduce((sum, count) => sum + count, 0),
    indexes: scans.flatMap((node) => node['Index Name'] ?? []),
  }
}

/**
 * Runs `work`, then each query that it made once more, to see what it reads: all that went through knex, and those that went
 * through `query` of the database that it is given.
 */
export const readsOf = async (
  database: Database,
  work: (watched: Database) => Promise<unknown>,
): Promise<QueryRead[]> => {
  const { knex } = database
  const made: { sql: string; bindings: readonly unknown[] }[] = []
  const note = (query: (typeof made)[number]) => made.push(query)
  knex.on('query', note)
  try {
    await work({
      ...database,
      query: (sql, bindings, name) => {
        note({ sql, bindings })
        return database.query(sql, bindings, name)
      },
    })
  } finally {
    knex.off('query', note)
  }
  const reads: QueryRead[] = []
  for (const { sql, bindings } of made) {
    const text = sql.replace(/\$\d+/g, '?')
    const { rows } = await knex.raw(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...bindings] as string[])
    const [{ 'QUERY PLAN': plans }] = rows
    reads.push(readBy(text, (typeof plans === 'string' ? JSON.parse(plans) : plans)[0].Plan))
  }
  return reads
}
