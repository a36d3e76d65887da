/** What reads of the log look at: no more rows of it than they need, however many there are. */
import { expect } from 'chai'
import { countBySubject, findEntries, findEntryByDigest } from '../../../src/domain/audit/store.ts'
import type { Database } from '../../../src/store/database.ts'
import { MAX_SEARCHED_ROWS } from '../../../src/store/pages.ts'
import { openTestLedger, type TestLedger } from '../../support/ledger.ts'
import { readsOf } from '../../support/query-plans.ts'

const ENTRIES = 6000
const LIMIT = 20
const TYPES = ['gate', 'payment', 'spend', 'verify']
/** Of one type in a hundred entries. */
const SELDOM = 'revoke'
const BEGIN = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000

const rowsReadOf = async (database: Database, work: () => Promise<unknown>): Promise<number> =>
  (await readsOf(database, work)).reduce((sum, { rows }) => sum + rows, 0)

describe('reads of the log', () => {
  let store: TestLedger
  let database: Database
  before(async () => {
    store = await openTestLedger()
    database = store.database
    await database.knex.raw(
      `INSERT INTO ledger_entries (idx, id, organisation, type, at, digest, leaf_hash, entry, subject)
        SELECT i, 'ent_' || i, 'org_' || i % 3, CASE WHEN i % 100 = 0 THEN '${SELDOM}' ELSE (ARRAY['${TYPES.join("','")}'])[1 + i % 4] END,
          ${BEGIN} + i * 60000::bigint, CASE WHEN i % 2 = 0 THEN 'digest-' || i / 4 END, sha256(i::text::bytea), '{}', 'subject-' || i % 7
        FROM generate_series(0, ${ENTRIES - 1}) AS i`,
    )
    await database.knex.raw('ANALYZE ledger_entries')
  })
  after(() => store.close())

  const rowsRead = async (work: () => Promise<unknown>): Promise<number> => rowsReadOf(database, work)

  const all = Array.from({ length: ENTRIES }, (_, i) => i)
  const ofFirst = all.filter((i) => i % 3 === 0).reverse()

  it('find an organisation’s newest entries of all types, in the order of the log', async () => {
    const { rows, next } = await findEntries(database, { log: 0, organisation: 'org_0', limit: LIMIT })
    expect(rows.map(({ idx }) => idx)).to.deep.equal(ofFirst.slice(0, LIMIT))
    expect(next).to.equal(ofFirst[LIMIT - 1])
    const more = await findEntries(database, { log: 0, organisation: 'org_0', before: next, limit: LIMIT })
    expect(more.rows.map(({ idx }) => idx)).to.deep.equal(ofFirst.slice(LIMIT, 2 * LIMIT))
    const since = BEGIN + 100 * 60_000
    const until = BEGIN + 130 * 60_000
    const within = await findEntries(database, { log: 0, organisation: 'org_0', since, until, limit: LIMIT })
    expect(within.rows.map(({ idx }) => idx)).to.deep.equal(ofFirst.filter((i) => i >= 100 && i < 130))
    expect(await findEntries(database, { log: 0, organisation: 'nobody', limit: LIMIT })).to.deep.equal({
      rows: [],
      next: undefined,
    })
  })

  it('look at a page of each type at most, and at one page of a seldom type', async () => {
    const page = (filter: object) => () => findEntries(database, { log: 0, limit: LIMIT, ...filter })
    // What joins the types looks at each row again, and finding them at one of each.
    const each = 3 * LIMIT * (TYPES.length + 1)
    expect(each).to.be.below(ofFirst.length / 6)
    expect(await rowsRead(page({ organisation: 'org_0' }))).to.be.at.most(each)
    expect(await rowsRead(page({ organisation: 'org_0', type: SELDOM }))).to.be.at.most(2 * LIMIT + 2)
    expect(await rowsRead(page({}))).to.be.at.most(2 * LIMIT + 2)
    const since = BEGIN + (ENTRIES - 100) * 60_000
    expect(await rowsRead(page({ organisation: 'org_0', since }))).to.be.at.most(2 * each)
  })

  it('find the first entry of a digest by an index of hashes, and by nothing else', async () => {
    // 1 of 4 entries with one digest is the first, of another organisation than the second.
    const first = await findEntryByDigest(database, 'digest-300', 'org_0')
    expect(first?.idx).to.equal(1200)
    expect((await findEntryByDigest(database, 'digest-300', 'org_2'))?.idx).to.equal(1202)
    expect(await findEntryByDigest(database, 'digest-300', 'org_1')).to.equal(undefined)
    const reads = await readsOf(database, () => findEntryByDigest(database, 'digest-300', 'org_0'))
    expect(reads.flatMap(({ indexes }) => indexes)).to.deep.equal(['ledger_entries_by_digest'])
    // By index and table each one.
    expect(reads[0]?.rows).to.be.at.most(4)
  })

  it('count each entry of a window once, type by type', async () => {
    const window = { log: 0, organisation: 'org_0', since: BEGIN + 10 * HOUR_MS, until: BEGIN + 20 * HOUR_MS }
    const cells = (await countBySubject(database, { window, byHour: true, maxEntries: ENTRIES })) ?? []
    expect(cells.reduce((sum, { entries }) => sum + entries, 0)).to.equal(200)
    expect(new Set(cells.map(({ type }) => type))).to.deep.equal(new Set([...TYPES, SELDOM]))
    expect(await countBySubject(database, { window, byHour: true, maxEntries: 199 })).to.equal(undefined)
    const everybody = await countBySubject(database, {
      window: { log: 0 },
      byHour: false,
      maxEntries: ENTRIES,
    })
    expect(everybody?.reduce((sum, { entries }) => sum + entries, 0)).to.equal(ENTRIES)
  })
})

describe('reads of a log in which most entries are alike', () => {
  const SIZE = 2.5 * MAX_SEARCHED_ROWS
  const OF_ONE_DIGEST = 5000
  let store: TestLedger
  before(async () => {
    store = await openTestLedger()
    await store.database.knex.raw(
      `INSERT INTO ledger_entries (idx, id, organisation, type, at, digest, leaf_hash, entry)
        SELECT i, 'ent_' || i, 'org_' || i % 3, CASE i WHEN 1 THEN '${SELDOM}' ELSE 'verify' END, ${BEGIN} + i,
          CASE WHEN i < 3 * ${OF_ONE_DIGEST} THEN 'checked often' ELSE 'digest-' || i END, sha256(i::text::bytea), '{}'
        FROM generate_series(0, ${SIZE - 1}) AS i`,
    )
    await store.database.knex.raw('ANALYZE ledger_entries')
  })
  after(() => store.close())

  it('look for a type of all organisations among ten thousand entries a page, and say where that ended', async () => {
    const { database } = store
    const found: number[] = []
    const places: (number | undefined)[] = []
    do {
      const before = places.at(-1)
      const page = () => findEntries(database, { log: 0, type: SELDOM, limit: LIMIT, before })
      expect(await rowsReadOf(database, page)).to.be.at.most(MAX_SEARCHED_ROWS + LIMIT)
      const { rows, next } = await page()
      found.push(...rows.map(({ idx }) => idx))
      places.push(next)
    } while (places.at(-1) !== undefined && places.length < 9)
    expect(found).to.deep.equal([1])
    expect(places).to.deep.equal([SIZE - MAX_SEARCHED_ROWS, SIZE - 2 * MAX_SEARCHED_ROWS, undefined])
  })

  it('find the first entry of a digest without looking at all that have it', async () => {
    const { database } = store
    for (const organisation of ['org_0', 'org_1', 'org_2']) {
      const find = () => findEntryByDigest(database, 'checked often', organisation)
      expect((await find())?.idx).to.equal(Number(organisation.at(-1)))
      expect(await rowsReadOf(database, find)).to.be.at.most(LIMIT)
    }
    expect(await findEntryByDigest(database, 'checked often', 'org_3')).to.equal(undefined)
  })
})
