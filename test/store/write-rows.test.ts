import { expect } from 'chai'
import type { Database } from '../../src/store/database.ts'
import { integer, type Row, type Table, table, text } from '../../src/store/table.ts'
import { createRowTexts, createRowWriter, MAX_PREPARED_TEXTS } from '../../src/store/write-rows.ts'
import { openTestDatabase } from '../support/servers/database.ts'

interface AllTypes {
  id: string
  number: number | null
  big: bigint
  flag: boolean
  bytes: Uint8Array
  time: Date
  object: object
}
const allTypes: Table = {
  name: 'all_types',
  columns: ['id', 'number', 'big', 'flag', 'bytes', 'time', 'object'],
}
const ofAllTypes = (values: AllTypes): Row<AllTypes> => ({ table: allTypes, values })

const sums = table('sums', {
  key: text().key(),
  total: integer().merge('sum'),
  highest: integer().merge('max'),
  lowest: text().merge('min'),
  newest: text().null().merge('last'),
  oldest: text().merge('first'),
})
const sum = (key: string, total: number, text: string): Row =>
  sums.row({ key, total, highest: total, lowest: text, newest: text, oldest: text })

describe('rows as one query', () => {
  let database: Database
  before(async () => {
    database = await openTestDatabase()
    await database.knex.raw(`CREATE TABLE all_types (id text PRIMARY KEY, number double precision, big bigint,
      flag boolean, bytes bytea, time timestamptz, object jsonb)`)
    await database.knex.raw(`CREATE TABLE sums (key text PRIMARY KEY, total bigint NOT NULL, highest bigint,
      lowest text COLLATE "C", newest text, oldest text)`)
  })
  after(() => database.close())

  const write = async (...rows: Row[]): Promise<number> => {
    const writer = createRowWriter()
    for (const row of rows) writer.add(row)
    const { text, values, name } = writer.query('SELECT $1::text AS word', ['done'])
    const session = await database.session()
    try {
      const result = await session.query<{ word: string }>(text, values, name)
      expect(result.rows).to.deep.equal([{ word: 'done' }])
      return values.length - 1
    } finally {
      session.release()
    }
  }

  it('brings back every type as it was given', async () => {
    const row: AllTypes = {
      id: `quotes ' " \\ and \u{1f4b3}`,
      number: 0.1,
      big: 9_007_199_254_740_991n,
      flag: true,
      bytes: Uint8Array.of(0, 255, 92),
      time: new Date(1_763_683_200_123),
      object: { list: [1, 'two', null] },
    }
    await write(ofAllTypes(row), ofAllTypes({ ...row, id: 'nothing', number: null }))
    const [kept, nothing] = await database.knex('all_types').orderBy('id', 'desc')
    expect({ ...kept, bytes: [...kept.bytes] }).to.deep.equal({
      ...row,
      big: 9_007_199_254_740_991,
      bytes: [0, 255, 92],
    })
    expect(nothing.number).to.equal(null)
  })

  it('writes any number of rows of several tables with one parameter a table', async () => {
    const rows = Array.from({ length: 500 }, (_, index) => sum(`many ${index}`, 1, 'x'))
    const base = { number: 1, big: 1n, flag: false, bytes: new Uint8Array(), time: new Date(0), object: {} }
    expect(await write(...rows, ofAllTypes({ ...base, id: 'with sums' }))).to.equal(2)
    expect(await database.knex('sums').where('key', 'like', 'many %').count('* as n').first()).to.deep.equal({
      n: 500,
    })
  })

  it('combines rows of accumulating tables inside a batch and with what is stored, alike', async () => {
    await write(sum('both', 5, 'm'), sum('both', 3, 'Z'), sum('both', 4, 'b'))
    const inside = await database.knex('sums').where({ key: 'both' }).first()
    await write(sum('one by one', 5, 'm'))
    await write(sum('one by one', 3, 'Z'))
    await write(sum('one by one', 4, 'b'))
    const stored = await database.knex('sums').where({ key: 'one by one' }).first()
    const expected = { total: 12, highest: 5, lowest: 'Z', newest: 'b', oldest: 'm' }
    expect(inside).to.deep.equal({ key: 'both', ...expected })
    expect(stored).to.deep.equal({ key: 'one by one', ...expected })
  })

  it('refuses a row that lacks a column, has a foreign one, or holds what JSON would turn into null', () => {
    const writer = createRowWriter()
    const { columns, name } = sums
    const loose = { name, columns }
    expect(() => writer.add({ table: loose, values: { key: 'a' } })).to.throw(TypeError, 'lacks total')
    const whole = { key: 'a', total: 1, highest: 1, lowest: '', newest: '', oldest: '' }
    expect(() => writer.add({ table: loose, values: { ...whole, extra: 1 } })).to.throw(
      TypeError,
      'no column extra',
    )
    expect(() => writer.add({ table: loose, values: { ...whole, total: Number.NaN } })).to.throw(
      TypeError,
      'NaN',
    )
  })
})

describe('texts of rows', () => {
  const LAST = 'SELECT 1'
  const TABLES = Array.from({ length: 10 }, (_, number) => table(`part_${number}`, { number: integer() }))
  /** Each set of them, by its number. */
  const setOf = (number: number) => TABLES.filter((_, bit) => (number >> bit) % 2 === 1)
  const SETS = 2 ** TABLES.length

  it('are prepared when they come often, and stand for one name each', () => {
    const texts = createRowTexts()
    const names: (string | undefined)[] = []
    // Between others that come twice.
    for (let round = 0; round < 20; round++) {
      names.push(texts.of(setOf(1), LAST, 0).name)
      for (let other = 0; other < 20; other++)
        expect(texts.of(setOf(2 + ((round * 20 + other) % 200)), LAST, 0).name).to.equal(undefined)
    }
    const [first, ...later] = names.filter((name) => name !== undefined)
    expect(first).to.be.a('string')
    expect(later.length).to.be.greaterThan(10)
    expect(new Set(later)).to.deep.equal(new Set([first]))
    expect(texts.of(setOf(1), 'SELECT 2', 0).name).to.not.equal(first)
  })

  it('are sent without a name where each comes now and then, however long that goes on', () => {
    const texts = createRowTexts()
    for (let round = 0; round < 20; round++)
      for (let number = 0; number < SETS; number++)
        expect(texts.of(setOf(number), LAST, 0).name).to.equal(undefined)
  })

  it('get no more names than a connection may keep', () => {
    const texts = createRowTexts()
    const named = new Map<string, string>()
    for (let number = 0; number < SETS; number++)
      for (let times = 0; times < 20; times++) {
        const { name, text } = texts.of(setOf(number), LAST, 0)
        if (name === undefined) continue
        expect(named.get(name) ?? text).to.equal(text)
        named.set(name, text)
      }
    expect(named.size).to.equal(MAX_PREPARED_TEXTS)
  })

  it('write the same, prepared or not', async () => {
    const database = await openTestDatabase()
    const session = await database.session()
    try {
      await session.query(
        'CREATE TEMPORARY TABLE part_0 (number int); CREATE TEMPORARY TABLE part_1 (number int)',
      )
      const texts = createRowTexts()
      for (let number = 0; number < 20; number++) {
        const writer = createRowWriter(texts)
        for (const part of setOf(number % 10 === 0 ? 3 : 1)) writer.add(part.row({ number }))
        const { text, values, name } = writer.query(LAST, [])
        await session.query(text, values, name)
      }
      const { rows } = await session.query<{ count: number }>(
        'SELECT count(*) AS count FROM part_0 UNION ALL SELECT count(*) FROM part_1',
      )
      expect(rows.map(({ count }) => count)).to.deep.equal([20, 2])
      const kept = await session.query<{ statement: string }>(
        "SELECT statement FROM pg_prepared_statements WHERE name LIKE 'rows-%'",
      )
      expect(kept.rows.map(({ statement }) => statement)).to.deep.equal([texts.of(setOf(1), LAST, 0).text])
    } finally {
      session.release()
      await database.close()
    }
  })
})
