/** Many rows at once. @module */
import type pg from 'pg'

/**
 * Puts rows into a table whose indexes, but those of its keys, are made anew afterwards, which takes a part of the time.
 * @returns the seconds that each index took
 */
export const withoutIndexes = async (
  client: pg.Client,
  table: string,
  fill: () => Promise<void>,
): Promise<ReadonlyMap<string, number>> => {
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
      WHERE indrelid = $1::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`,
    [table],
  )
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
  await client.query("SET synchronous_commit = off; SET maintenance_work_mem = '1GB'")
  await fill()
  const seconds = new Map<string, number>()
  for (const { name, definition } of indexes) {
    const began = performance.now()
    await client.query(definition)
    seconds.set(name, (performance.now() - began) / 1000)
  }
  return seconds
}
