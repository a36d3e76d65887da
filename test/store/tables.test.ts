import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Database } from '../../src/store/database.ts'
import type { DefinedTable } from '../../src/store/table.ts'
import { openTestDatabase } from '../support/servers/database.ts'

/** Tables without a definition, with the reason. */
const UNDEFINED: Readonly<Record<string, string>> = {
  migrations: 'is written and read by the migrations themselves',
  revoked_status_numbers: 'is a view of what is written to others',
  ledger_turns: 'is locked and held, and holds nothing else',
  ledger_followers: 'is read and written by statements that name its columns',
}

/** What a kind of column may be in the database. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  integer: ['smallint', 'integer', 'bigint'],
  boolean: ['boolean'],
  bytes: ['bytea'],
  json: ['jsonb'],
}

const SOURCE = new URL('../../src/', import.meta.url)

const isTable = (value: unknown): value is DefinedTable =>
  typeof value === 'object' && value !== null && 'definition' in value && 'row' in value

interface Found {
  readonly file: string
  /** Names that the text says are defined here. */
  readonly named: readonly string[]
  readonly tables: readonly DefinedTable[]
}

const findTables = (): Promise<Found[]> =>
  Promise.all(
    readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
      if (!file.endsWith('.ts')) return []
      const text = readFileSync(new URL(file, SOURCE), 'utf8')
      const named = [...text.matchAll(/ = table\(\s*'(\w+)',\s*\{/g)].map(([, name]) => name!)
      if (named.length === 0) return []
      return import(new URL(file, SOURCE).href).then((module: object) => ({
        file,
        named,
        tables: Object.values(module).filter(isTable),
      }))
    }),
  )

interface StoredColumn {
  readonly table: string
  readonly column: string
  readonly type: string
  readonly nullable: boolean
  readonly key: boolean
  readonly defaults: boolean
}

const COLUMNS = `SELECT c.table_name AS table, c.column_name AS column, c.data_type AS type, c.is_nullable = 'YES' AS nullable,
    c.column_default IS NOT NULL OR c.is_generated = 'ALWAYS' AS defaults, EXISTS (
      SELECT 1 FROM information_schema.table_constraints k JOIN information_schema.key_column_usage u
        USING (constraint_schema, constraint_name)
       WHERE k.constraint_type = 'PRIMARY KEY' AND u.table_schema = c.table_schema AND u.table_name = c.table_name
         AND u.column_name = c.column_name) AS key
  FROM information_schema.columns c WHERE c.table_schema = 'public' ORDER BY 1, 2`

/** The columns of each unique constraint and primary key, sorted. */
const UNIQUE = `SELECT conrelid::regclass::text AS table, array_to_string(array(
      SELECT attname::text FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY (conkey) ORDER BY 1), ',') AS columns
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u')`

describe('the definitions of tables', () => {
  let database: Database
  let found: Found[]
  const stored = new Map<string, StoredColumn[]>()
  before(async () => {
    database = await openTestDatabase()
    found = await findTables()
    const { rows } = await database.query<StoredColumn>(COLUMNS, [])
    for (const row of rows) stored.set(row.table, [...(stored.get(row.table) ?? []), row])
  })
  after(() => database.close())

  it('are all exported, where this test finds them', () => {
    for (const { file, named, tables } of found)
      expect(
        tables.map(({ name }) => name),
        file,
      ).to.have.members(named)
  })

  it('are there once for every table of the database that is not listed with a reason', () => {
    const names = found.flatMap(({ named }) => named)
    expect([...names, ...Object.keys(UNDEFINED)].sort()).to.deep.equal([...stored.keys()].sort())
  })

  it('have the columns of the database, with their types, null where they may be null, and the primary key', () => {
    for (const { name, definition } of found.flatMap(({ tables }) => tables)) {
      const defined = Object.entries(definition).map(([column, { kind, isNullable, isKey }]) => {
        const there = stored.get(name)?.find((candidate) => candidate.column === column)
        const type = there !== undefined && TYPES[kind]?.includes(there.type) ? there.type : kind
        return [column, { type, nullable: isNullable, key: isKey }]
      })
      const inDatabase = stored
        .get(name)
        ?.map(({ column, type, nullable, key }) => [column, { type, nullable, key }])
      expect(Object.fromEntries(defined), name).to.deep.equal(Object.fromEntries(inDatabase ?? []))
    }
  })

  it('say that the database fills a column only where it has a default', () => {
    for (const { name, definition } of found.flatMap(({ tables }) => tables))
      for (const { column, defaults } of stored.get(name) ?? [])
        if (definition[column]?.isFilled) expect(defaults, `${name}.${column}`).to.equal(true)
  })

  it('combine rows that meet by a key that is unique', async () => {
    const { rows } = await database.query<{ table: string; columns: string }>(UNIQUE, [])
    for (const { name, merge } of found.flatMap(({ tables }) => tables))
      if (merge !== undefined)
        expect(rows, name).to.deep.include({ table: name, columns: [...merge.key].sort().join(',') })
  })
})
