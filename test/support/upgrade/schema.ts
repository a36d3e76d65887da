/** What a database says of its own schema, as lines that can be compared, and how many rows its tables have. @module */
import type { Database } from '../../../src/store/database.ts'

const QUERIES = {
  column: `SELECT concat_ws(' ', c.table_name || '.' || c.column_name, c.data_type, 'collate ' || c.collation_name,
      CASE c.is_nullable WHEN 'NO' THEN 'not null' END, 'default ' || c.column_default) AS line
    FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'`,
  constraint: `SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) AS line
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'`,
  index: `SELECT indexdef AS line FROM pg_indexes WHERE schemaname = 'public'`,
  'options of': `SELECT relname || ' ' || reloptions::text AS line
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND reloptions IS NOT NULL`,
} as const

/** Columns, constraints, indexes and storage options, sorted; the order of columns in a table is nobody's concern. */
export const readSchema = async ({ knex }: Pick<Database, 'knex'>): Promise<string[]> => {
  const lines: string[] = []
  for (const [kind, query] of Object.entries(QUERIES)) {
    const { rows } = await knex.raw<{ rows: { line: string }[] }>(query)
    lines.push(...rows.map(({ line }) => `${kind} ${line}`))
  }
  return lines.sort()
}

/** Rows by table. */
export const countRows = async ({ knex }: Pick<Database, 'knex'>): Promise<Record<string, number>> => {
  const { rows } = await knex.raw<{ rows: { name: string }[] }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of rows) {
    const counted = await knex(name).count({ rows: '*' }).first()
    counts[name] = Number(counted?.rows)
  }
  return counts
}
