/** Migrations add columns while servers of an earlier version run: statements that were prepared before go on. */
import { expect } from 'chai'
import ts from 'typescript'
import { findFindingsOf } from '../../src/domain/aml/subscriptions/store.ts'
import { readNames } from '../../src/domain/chat/posts/store-lane.ts'
import { findEndpointsById } from '../../src/domain/webhooks/store.ts'
import type { Database } from '../../src/store/database.ts'
import { onSession, retried } from '../../src/store/transactions.ts'
import { onPostgres, openTestDatabase } from '../support/servers/database.ts'
import { filesBelow, read } from '../support/sources.ts'

/** Texts that return all columns of a table, and why that does no harm. */
const RETURN_ALL: Readonly<Record<string, string>> = {
  'src/keys/data-keys.ts data_keys': 'is not prepared by name',
  'src/domain/agents/keys/store.ts registered_keys': 'is not prepared by name',
  'src/domain/audit/store.ts ledger_entries': 'is not prepared by name',
  'src/bin/operations/logs.ts ledger_heads': 'is not prepared by name',
}

/** `alias.*`, or `*` and what follows it; of a count it is in parentheses. */
const ALL_COLUMNS = /(?:\b(\w+)\.)?\*\s*(?:,|$|FROM (\w+))/g

const SQL = /\b(?:SELECT|RETURNING)\b/

const textsOf = (file: string): string[] => {
  const texts: string[] = []
  const whole = read(file)
  if (!SQL.test(whole)) return []
  const source = ts.createSourceFile(file, whole, ts.ScriptTarget.Latest)
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) texts.push(node.text)
    else if (ts.isTemplateExpression(node)) texts.push(node.getText(source))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return texts.filter((text) => SQL.test(text))
}

/** Tables of which a text returns all columns. */
const returnedWhole = (text: string, tables: ReadonlySet<string>): string[] =>
  [...text.matchAll(ALL_COLUMNS)].flatMap(([, alias, from]) => {
    const named =
      alias === undefined
        ? (from ?? /\b(?:INTO|UPDATE|FROM) (\w+)/.exec(text)?.[1] ?? '')
        : (new RegExp(`\\b(?:FROM|JOIN) (\\w+) (?:AS )?${alias}\\b`).exec(text)?.[1] ?? alias)
    return tables.has(named) ? [named] : []
  })

describe('a column that is added', () => {
  it('is not returned by statements that are prepared by name: each names its columns', () => {
    const files = filesBelow('src', '.ts')
    const tables = new Set(
      files.flatMap((file) => [...read(file).matchAll(/ = table\(\s*'(\w+)'/g)].map(([, name = '']) => name)),
    )
    expect(tables.size).to.be.above(40)
    const found = files.flatMap((file) =>
      textsOf(file).flatMap((text) => returnedWhole(text, tables).map((table) => `${file} ${table}`)),
    )
    expect([...new Set(found)].sort()).to.deep.equal(Object.keys(RETURN_ALL).sort())
    for (const text of [
      'SELECT * FROM tokens',
      'SELECT t.*, 1 FROM unnest($1) JOIN tokens AS t ON true',
      'SELECT tokens.* FROM tokens',
      'INSERT INTO tokens VALUES ($1) RETURNING *',
    ])
      expect(returnedWhole(text, tables), text).to.deep.equal(['tokens'])
  })

  describe('under statements that are prepared', () => {
    let database: Database
    beforeEach(async () => {
      database = await openTestDatabase()
    })
    afterEach(() => database.close())

    it('changes nothing for those of the service that ask for whole rows', async () => {
      const ask = async () => [
        await findEndpointsById(database, ['whk_1']),
        await readNames(database, ['a']),
        await findFindingsOf(database, [{ organisation: 'org_1', subject: 'a', generation: 1 }]),
      ]
      const before = await ask()
      for (const table of ['webhook_endpoints', 'chat_names', 'aml_findings'])
        await database.knex.raw(`ALTER TABLE ${table} ADD COLUMN added text NOT NULL DEFAULT 'new'`)
      expect(await ask()).to.deep.equal(before)
    })

    onPostgres.describe('for all columns', () => {
      /** Slow enough that each of those that are asked at once has a connection to itself. */
      const ALL = 'SELECT *, pg_backend_pid() AS pid, pg_sleep(0.2)::text FROM test_rows'
      interface AskedRow {
        readonly a: number
        readonly added?: string
        readonly pid: number
      }
      const ways: Readonly<
        Record<string, { readonly connections: number; ask(): Promise<{ readonly rows: AskedRow[] }> }>
      > = {
        'a query': {
          connections: 10,
          ask: () => database.query<AskedRow>(ALL, [], 'test-all'),
        },
        'a timed query': {
          connections: 2,
          ask: () => database.queryWithin!<AskedRow>(9000, ALL, [], 'test-all'),
        },
        'a transaction': {
          connections: 4,
          ask: () =>
            retried(() =>
              onSession(database, async (session) => {
                const [, answer] = await Promise.all([
                  session.query('BEGIN'),
                  session.query<AskedRow>(ALL, [], 'test-all'),
                  session.query('COMMIT'),
                ])
                return answer
              }),
            ),
        },
      }
      for (const [way, { connections, ask }] of Object.entries(ways))
        it(`has ${way} run again, on new connections, as often as it is asked`, async () => {
          const askAll = async () =>
            (await Promise.all(Array.from({ length: connections }, ask))).map(({ rows: [row] }) => row!)
          await database.knex.raw('CREATE TABLE test_rows AS SELECT 1 AS a')
          const before = new Set((await askAll()).map(({ pid }) => pid))
          expect(before.size).to.equal(connections)
          await database.knex.raw("ALTER TABLE test_rows ADD COLUMN added text NOT NULL DEFAULT 'new'")
          for (let round = 0; round < 2; round++)
            for (const { a, added, pid } of await askAll()) {
              expect({ a, added }).to.deep.equal({ a: 1, added: 'new' })
              expect(before).not.to.include(pid)
            }
        })
    })
  })
})
