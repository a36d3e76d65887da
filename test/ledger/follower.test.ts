import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { type LoggedEntry, readEntries } from '../../src/ledger/entries.ts'
import { createFollower, type Follower, type FollowerOptions } from '../../src/ledger/follower.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { Database } from '../../src/store/database.ts'
import { integer, type Row, table, text } from '../../src/store/table.ts'
import { eventually } from '../support/eventually.ts'
import { callerOf, claiming, ledgerOn, openTestLedger, type TestLedger, together } from '../support/ledger.ts'
import { type BreakingLedger, openBreakingLedger } from '../support/servers/breaking-ledger.ts'
import type { Break } from '../support/servers/breaking-proxy.ts'
import { onPostgres } from '../support/servers/database.ts'

const consumed = table('test_consumed', { idx: integer(), id: text(), by: text() })
const FAST = { pollMs: 15, batchEntries: 7 }
const GIVE_UP_MS = 10_000

let serial = 0
const append = (ledger: Ledger, count: number) =>
  ledger.append(callerOf('org_1'), together(Array.from({ length: count }, () => claiming(`key ${serial++}`))))

describe('followers of the log', () => {
  let store: TestLedger
  let database: Database
  let name: string
  const open: Follower[] = []
  before(async () => {
    store = await openTestLedger()
    database = store.database
    await database.knex.raw(
      'CREATE TABLE test_consumed (idx bigint NOT NULL, id text NOT NULL, "by" text NOT NULL)',
    )
  })
  beforeEach(async () => {
    name = `follower ${serial++}`
    await database.knex('test_consumed').delete()
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((follower) => follower.close()))
  })
  after(() => store.close())

  const rowsOf = (entries: readonly LoggedEntry[], by: string): Row[] =>
    entries.map(({ index, id }) => consumed.row({ idx: index, id, by }))

  const follow = (by: string, more: Partial<FollowerOptions> = {}): Follower => {
    const follower = createFollower({
      database,
      name,
      logger: { warn: () => {} },
      consume: async (entries) => rowsOf(entries, by),
      ...FAST,
      ...more,
    })
    open.push(follower)
    return follower
  }

  /** Waits until as many entries were consumed as the log holds. @returns what was consumed */
  const settled = async (): Promise<{ idx: number; id: string; by: string }[]> => {
    const { size } = await store.ledger.head()
    const deadline = performance.now() + GIVE_UP_MS
    for (;;) {
      const rows = await database.knex('test_consumed').orderBy('idx')
      if (rows.length >= size || performance.now() > deadline) return rows
      await pause(5)
    }
  }

  const expectEachOnce = async (): Promise<void> => {
    const rows = await settled()
    const entries: { idx: number; id: string }[] = await database.knex('ledger_entries').orderBy('idx')
    expect(rows.map(({ idx, id }) => ({ idx, id }))).to.deep.equal(
      entries.map(({ idx, id }) => ({ idx, id })),
    )
  }

  it('consume every entry once and in order, whatever was there before and comes later', async () => {
    await append(store.ledger, 20)
    const seen: number[] = []
    follow('a', {
      async consume(entries) {
        seen.push(...entries.map(({ index }) => index))
        return rowsOf(entries, 'a')
      },
    })
    for (let round = 0; round < 5; round++) await append(store.ledger, 3)
    await expectEachOnce()
    expect(seen).to.deep.equal([...seen.keys()])
  })

  it('hear of commits of their server at once', async () => {
    const follower = follow('a', { pollMs: 3_600_000 })
    await settled()
    const end = store.ledger.onCommit(() => follower.wake())
    await append(store.ledger, 2)
    await expectEachOnce()
    end()
  })

  it('see what other servers commit', async () => {
    const other = await ledgerOn(database)
    follow('a')
    await append(other, 5)
    await expectEachOnce()
    await other.close()
  })

  it('go on where they ended', async () => {
    await append(store.ledger, 3)
    await follow('a').close()
    follow('b')
    await expectEachOnce()
    await append(store.ledger, 4)
    await open.at(-1)?.close()
    follow('c')
    await expectEachOnce()
  })

  it('write nothing of a batch whose making fails, back off, and make it again', async () => {
    await append(store.ledger, 10)
    let failures = 2
    const warnings: object[] = []
    follow('a', {
      logger: { warn: (details) => warnings.push(details) },
      async consume(entries) {
        if (failures-- > 0) throw new Error('not now')
        return rowsOf(entries, 'a')
      },
    })
    await expectEachOnce()
    expect(warnings).to.have.length(2)
    expect(warnings.map((details) => (details as { backOffMs: number }).backOffMs)).to.deep.equal([250, 500])
  })

  it('of two servers take turns, and together consume each entry once', async () => {
    follow('a')
    follow('b')
    for (let round = 0; round < 30; round++) await append(store.ledger, 5)
    await expectEachOnce()
  })

  it('that were taken over in the middle of a batch write nothing of it', async () => {
    await append(store.ledger, 5)
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let begun = (): void => {}
    const started = new Promise<void>((resolve) => {
      begun = resolve
    })
    const slow = follow('slow', {
      async consume(entries) {
        begun()
        await held
        return rowsOf(entries, 'slow')
      },
    })
    await started
    // As if its server had been away for longer than the lease.
    await database.knex('ledger_followers').where({ name }).update({ held_until: 0 })
    follow('quick')
    const rows = await settled()
    release()
    await slow.close()
    expect(new Set(rows.map(({ by }) => by))).to.deep.equal(new Set(['quick']))
    await expectEachOnce()
  })

  it('write nothing when their cursor is gone, and begin again with a new one', async () => {
    await append(store.ledger, 5)
    const warnings: object[] = []
    let removed = false
    follow('a', {
      logger: { warn: (details) => warnings.push(details) },
      async consume(entries) {
        if (!removed) await database.knex('ledger_followers').where({ name }).delete()
        removed = true
        return rowsOf(entries, 'a')
      },
    })
    await expectEachOnce()
    expect(warnings).to.have.length(1)
    // Also when it goes while there is nothing to do.
    await database.knex('test_consumed').delete()
    await database.knex('ledger_followers').where({ name }).delete()
    await expectEachOnce()
  })

  it('rest after a full batch is written, until somebody is in a hurry or they are closed', async () => {
    await append(store.ledger, 15)
    const follower = follow('a', { rest: () => 3_600_000 })
    const count = async (): Promise<number> => (await database.knex('test_consumed')).length
    const reached = async (size: number): Promise<void> => {
      const deadline = performance.now() + GIVE_UP_MS
      while ((await count()) < size && performance.now() < deadline) await pause(5)
    }
    await reached(1)
    await pause(50)
    follower.wake()
    await pause(50)
    expect(await count()).to.equal(FAST.batchEntries)
    follower.hurry()
    await reached(2 * FAST.batchEntries)
    await pause(50)
    expect(await count()).to.equal(2 * FAST.batchEntries)
    await follower.close()
  })

  it('consume commits of 100 ms together, and at once what somebody waits for', async () => {
    const begun: number[] = []
    const follower = follow('a', {
      pollMs: 3_600_000,
      batchEntries: 100,
      async consume(entries) {
        begun.push(performance.now())
        return rowsOf(entries, 'a')
      },
    })
    const gaps = (): number[] => begun.slice(1).map((at, i) => at - (begun[i] ?? at))
    const commit = async (signal: 'wake' | 'hurry'): Promise<void> => {
      await append(store.ledger, 1)
      follower[signal]()
      await pause(10)
    }
    await settled()
    begun.length = 0
    for (let i = 0; i < 25; i++) await commit('wake')
    await settled()
    // A round looks for its cursor first; timers may be a millisecond early.
    expect(Math.min(...gaps())).to.be.greaterThan(50)
    expect(begun.length).to.be.greaterThan(1)
    begun.length = 0
    for (let i = 0; i < 25; i++) await commit('hurry')
    await settled()
    expect(Math.min(...gaps())).to.be.below(50)
  })

  it('skip what nobody wants, deaf to commits, and consume all from the commit on by which somebody does', async () => {
    await database.knex.raw('CREATE TABLE test_wanted (id bigint NOT NULL)')
    const slow = { pollMs: 3_600_000, unwanted: 'NOT EXISTS (SELECT FROM test_wanted)' }
    const cursorAt = async (size: number): Promise<void> => {
      const deadline = performance.now() + GIVE_UP_MS
      for (;;) {
        const row = await database.knex('ledger_followers').where({ name }).first('cursor')
        if (row?.cursor === size) return
        if (performance.now() > deadline) throw new Error(`the cursor is at ${row?.cursor}, not ${size}`)
        await pause(5)
      }
    }
    try {
      await append(store.ledger, 20)
      const { size } = await store.ledger.head()
      const follower = follow('a', slow)
      await cursorAt(size)
      // A server that held it before can't take this for a commit of its own.
      const { holder } = await database.knex('ledger_followers').where({ name }).first('holder')
      expect(holder).to.be.a('string')
      await append(store.ledger, 5)
      follower.wake()
      await pause(50)
      await cursorAt(size)
      const wanting = await store.ledger.transact(callerOf('org_1'), async (trx) => {
        await trx('test_wanted').insert({ id: 1 })
        return { entry: { type: 'account', data: {} } as const, result: null }
      })
      expect(wanting).to.equal(null)
      follower.reconsider()
      await append(store.ledger, 9)
      const { size: end } = await store.ledger.head()
      follower.wake()
      await cursorAt(end)
      const taken = await database.knex('test_consumed').orderBy('idx').pluck('idx')
      expect(taken.slice(-10)).to.deep.equal(Array.from({ length: 10 }, (_, i) => end - 10 + i))
      expect(taken[0]).to.be.within(size, end - 10)
    } finally {
      await database.knex.raw('DROP TABLE test_wanted')
    }
  })

  it('end cleanly while there is still work', async () => {
    await append(store.ledger, 100)
    const follower = follow('a')
    await follower.close()
    const { cursor } = await database.knex('ledger_followers').where({ name }).first()
    expect(await database.knex('test_consumed').orderBy('idx').pluck('idx')).to.deep.equal([
      ...Array(cursor).keys(),
    ])
  })

  it('leave the database alone while nothing happens', async () => {
    follow('a')
    await settled()
    await pause(50)
    const heldUntil = () => database.knex('ledger_followers').where({ name }).first('held_until')
    const before = await heldUntil()
    await pause(100)
    expect(await heldUntil()).to.deep.equal(before)
  })

  it('read a bounded number of entries', async () => {
    const { size } = await store.ledger.head()
    expect((await readEntries(database, 0, size - 3, 2)).map(({ index }) => index)).to.deep.equal([
      size - 3,
      size - 2,
    ])
    expect(await readEntries(database, 0, size, 1)).to.deep.equal([])
    for (const limit of [0, 1_001, Number.NaN]) {
      expect(await readEntries(database, 0, 0, limit).catch((error: Error) => error.name)).to.equal(
        'RangeError',
      )
    }
  })
})

onPostgres.describe('a follower on a connection that breaks', () => {
  let opened: BreakingLedger
  let follower: Follower | undefined
  before(async () => {
    opened = await openBreakingLedger()
    await opened.database.knex.raw(
      'CREATE TABLE test_consumed (idx bigint NOT NULL, id text NOT NULL, "by" text NOT NULL)',
    )
  })
  afterEach(() => follower?.close())
  after(() => opened.close())

  /** Follows what is appended, and has the first commit of it break. @returns what is told as it goes on */
  const breakAt = async (when: Break) => {
    const { ledger, database, proxy } = opened
    const { size: from } = await ledger.head()
    await append(ledger, 5)
    const { broken } = proxy
    const made: number[][] = []
    const told: number[][] = []
    follower = createFollower({
      database,
      name: `breaking ${serial++}`,
      from,
      pollMs: 15,
      logger: { warn: () => {} },
      async consume(entries) {
        if (made.length === 0) proxy.breakAt('COMMIT', when)
        made.push(entries.map(({ index }) => index))
        return entries.map(({ index, id }) => consumed.row({ idx: index, id, by: when }))
      },
      written: (rows) => told.push(rows.map(({ values }) => (values as { idx: number }).idx)),
    })
    await eventually('a connection that broke', () => proxy.broken > broken)
    const first = Array.from({ length: 5 }, (_, i) => from + i)
    return { first, made, told, rows: () => database.knex('test_consumed').where({ by: when }).pluck('idx') }
  }

  it('tells of what was committed although its answer was lost, and makes it once', async () => {
    const { first, made, told, rows } = await breakAt('after')
    await eventually('what was committed', () => told.length > 0)
    const next = first.map((index) => index + 5)
    await append(opened.ledger, 5)
    await eventually('what came later', () => told.length > 1)
    expect(told).to.deep.equal([first, next])
    expect(made).to.deep.equal([first, next])
    expect(await rows()).to.deep.equal([...first, ...next])
  })

  it('tells of nothing that was not committed, and makes it again', async () => {
    const { first, made, told, rows } = await breakAt('before')
    await eventually('what was committed', () => told.length > 0)
    expect(told).to.deep.equal([first])
    expect(made).to.deep.equal([first, first])
    expect(await rows()).to.deep.equal(first)
  })

  it('leaves to another server what that one has taken over since', async () => {
    const { first, told } = await breakAt('after')
    const followers = opened.database.knex('ledger_followers').where('name', 'like', 'breaking %')
    await followers.update({ holder: 'another server', held_until: 0 })
    await append(opened.ledger, 5)
    await eventually('what came later', () => told.length > 0)
    expect(told).to.deep.equal([first.map((index) => index + 5)])
  })

  it('tells of it when it is closed before it looked', async () => {
    const { first, told } = await breakAt('after')
    await follower?.close()
    expect(told).to.deep.equal([first])
  })
})
