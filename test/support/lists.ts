/** Lists of the console, page by page. */
import { expect } from 'chai'
import type { Database } from '../../src/store/database.ts'
import type { TestApp } from './app.ts'
import { ok } from './client.ts'
import { readsOf } from './query-plans.ts'

type Page<Name extends string, Row> = { readonly [N in Name]: readonly Row[] } & {
  readonly nextCursor: string | null
}

/** One list of an organisation. @param name of the member that holds the rows */
export const listOf = <Row, const Name extends string>(
  app: TestApp,
  key: string,
  path: string,
  name: Name,
) => {
  const page = (query = ''): Promise<Page<Name, Row>> => ok(app, 'GET', `${path}?${query}`, { key })
  return {
    page,

    rows: async (query = ''): Promise<readonly Row[]> => (await page(query))[name],

    /** All rows, `limit` at a time. */
    async all(limit: number, query = ''): Promise<Row[]> {
      const rows: Row[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const next: Page<Name, Row> = await page(
          `limit=${limit}&${query}${cursor === undefined ? '' : `&cursor=${cursor}`}`,
        )
        rows.push(...next[name])
        cursor = next.nextCursor
      }
      return rows
    },

    /** Status, error and place of the first fault. */
    async refused(query: string, asker = key) {
      const { status, body } = await app.request<{ error: string; details?: { path: string }[] }>(
        'GET',
        `${path}?${query}`,
        { key: asker },
      )
      return [status, body.error, body.details?.[0]?.path]
    },

    /** Checks that pages of twenty read about as many rows of a table, and a few of others for each. */
    async expectFlat(table: string, queries: readonly string[]): Promise<void> {
      for (const query of queries)
        await expectFlatPage(app.services.database, table, async () => {
          const rows = (await page(`limit=${FLAT_ROWS}&${query}`))[name]
          return { rows }
        })
    },
  }
}

const FLAT_ROWS = 20
/** Of each row that a page shows: itself, and those of other tables that belong to it. */
const READ_FOR_EACH = 5

/**
 * Checks that a page reads about as many rows as it has.
 * @param find makes a page of a list that has more, through the database that it is given
 */
export const expectFlatPage = async (
  database: Database,
  table: string,
  find: (
    page: { after: undefined; limit: number },
    watched: Database,
  ) => Promise<{ rows: readonly unknown[] }>,
): Promise<void> => {
  const reads = await readsOf(database, async (watched) => {
    expect((await find({ after: undefined, limit: FLAT_ROWS }, watched)).rows).to.have.length(FLAT_ROWS)
  })
  const fromTable = new RegExp(`from "?${table}\\b`, 'i')
  const own = reads.filter(({ text }) => fromTable.test(text))
  expect(own).to.have.length(1)
  expect(own[0]?.rows, `${own[0]?.text}: ${own[0]?.indexes}`).to.be.at.most(FLAT_ROWS * READ_FOR_EACH + 2)
}

/** Many more than a page has. */
export const MANY_ROWS = 3_000

/** The id of one that {@link amongMany} makes. @param place from 1, the oldest */
export const idOfCopy = (prefix: string, place: number): string =>
  `${prefix}_${String(place).padStart(26, '0')}`

/**
 * Copies a row, and does something while it is the newest of many.
 * @param set columns in which the copies differ, in SQL: `i` is the place of the copy
 */
export const amongMany = async (
  { knex }: Database,
  table: string,
  id: string,
  set: Readonly<Record<string, string>>,
  work: () => Promise<void>,
): Promise<void> => {
  const [prefix = ''] = id.split('_')
  const row = await knex(table).where({ id }).first()
  const copied = Object.keys(row).map((column) => [column, set[column] ?? `"${column}"`] as const)
  const values = new Map([...copied, ['id', `'${prefix}_' || lpad(i::text, 26, '0')`]])
  await knex.raw(
    `INSERT INTO ${table} (${[...values.keys()].map((column) => `"${column}"`)})
      SELECT ${[...values.values()]} FROM ${table}, generate_series(1, ?) AS i WHERE id = ?`,
    [MANY_ROWS, id],
  )
  try {
    await knex.raw(`ANALYZE ${table}`)
    await work()
  } finally {
    await knex(table)
      .whereBetween('id', [idOfCopy(prefix, 1), idOfCopy(prefix, MANY_ROWS)])
      .delete()
  }
}
