/** The time of entries, when clocks of servers differ. */
import { expect } from 'chai'
import type { Knex } from 'knex'
import { firstIndexFrom, lastIndexBefore } from '../../src/ledger/entries.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { callerOf, claiming, emptyLog, ledgerOn, openTestLedger, type TestLedger } from '../support/ledger.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

describe('the order of time in the log', () => {
  let store: TestLedger
  const ledgers: Ledger[] = []
  const skews: { aheadMs: number; corrected: boolean }[] = []
  let serial = 0
  before(async () => {
    store = await openTestLedger()
  })
  beforeEach(async () => {
    skews.length = 0
    await emptyLog(store.database)
    await store.database.knex('ledger_head').update({ updated_at: 0 })
  })
  afterEach(() => Promise.all(ledgers.splice(0).map((ledger) => ledger.close())))
  after(() => store.close())

  const server = async (now: number): Promise<Ledger> => {
    const ledger = await ledgerOn(store.database, {
      clock: { now: () => now },
      onClockSkew: (skew) => skews.push(skew),
    })
    ledgers.push(ledger)
    return ledger
  }
  const append = (ledger: Ledger) =>
    ledger.append(callerOf('org_1'), claiming(`key ${serial++}`)).then(({ at }) => at)
  const change = (ledger: Ledger) =>
    ledger.transact(callerOf('org_1'), async () => ({
      entry: { type: 'account', data: { n: serial++ } },
      result: null,
    }))
  const times = (): Promise<number[]> => store.database.knex('ledger_entries').orderBy('idx').pluck('at')

  it('is that of indexes, however slow a server\u2019s clock is', async () => {
    const t = Date.now() - 24 * HOUR_MS
    const quick = await server(t)
    expect(await append(quick)).to.equal(t)
    for (const slow of [await server(t - MINUTE_MS), await server(t - HOUR_MS)]) {
      expect(await append(slow)).to.equal(t)
      await change(slow)
    }
    expect(await append(await server(t + 1))).to.equal(t + 1)
    expect(await times()).to.deep.equal([t, t, t, t, t, t + 1])
    expect(skews).to.deep.equal([{ aheadMs: HOUR_MS, corrected: false }])
    const { entry } = await store.database.knex('ledger_entries').where({ idx: 3 }).first()
    expect(JSON.parse(entry).ts).to.equal(t)
  })

  it('does not stand still until a time that one server\u2019s clock has made up', async () => {
    const t = Date.now()
    await append(await server(t + 60 * 24 * HOUR_MS))
    const right = await server(t)
    expect(await append(right)).to.equal(t)
    expect(await append(right)).to.equal(t)
    expect(skews).to.deep.equal([{ aheadMs: 60 * 24 * HOUR_MS, corrected: true }])
  })

  /** Adds entries of these minutes. @param from index of the first */
  const stamped = async (knex: Knex, from: number, times: number[]): Promise<void> => {
    await knex.raw(
      `INSERT INTO ledger_entries (idx, id, organisation, type, at, leaf_hash, entry)
        SELECT ? + i - 1, 'ent_' || (? + i), 'org_1', 'account', at * ${MINUTE_MS}, sha256((? + i)::text::bytea), '{}'
        FROM unnest(?::bigint[]) WITH ORDINALITY AS stamped (at, i)`,
      [from, from, from, times],
    )
  }

  /** An entry a minute, so that each one's minute is where it belongs. @param ahead minutes that a clock is ahead of the time, by minute */
  const fill = async (minutes: number, ahead: (minute: number) => number): Promise<number[]> => {
    const times = Array.from({ length: minutes }, (_, minute) => minute + ahead(minute))
    await stamped(store.database.knex, 0, times)
    return times
  }

  it('is looked at once more where an earlier entry came in between', async () => {
    await fill(10, () => 0)
    await store.database.knex.transaction(async (trx) => {
      let isNext = true
      trx.on('query-response', (_: unknown, { sql }: { sql: string }) => {
        if (!isNext || !sql.includes('ANY')) return
        isNext = false
        // Before the next query of the same connection.
        void stamped(trx, 10, [10, 11]).catch(() => undefined)
      })
      expect(await firstIndexFrom({ knex: trx }, 0, 11 * MINUTE_MS)).to.equal(11)
      expect(isNext).to.equal(false)
    })
  })

  it('is looked at no more than a few times for a moment to come', async () => {
    await fill(10, () => 0)
    await store.database.knex.transaction(async (trx) => {
      let next = 10
      trx.on('query-response', (_: unknown, { sql }: { sql: string }) => {
        if (sql.includes('ANY')) void stamped(trx, next, [next++]).catch(() => undefined)
      })
      expect(await firstIndexFrom({ knex: trx }, 0, 1_000 * MINUTE_MS)).to.equal(undefined)
      expect(next - 10).to.be.within(2, 20)
    })
  })

  for (const [name, ahead] of [
    ['by clocks that are right', () => 0],
    ['by one clock that was wrong', (minute: number) => (minute === 100 ? 250 : 0)],
    ['for hours by a wrong clock', (minute: number) => (minute >= 100 && minute < 300 ? 700 : 0)],
    ['by a right and a wrong clock in turn', (minute: number) => (minute >= 100 && minute % 2 ? 300 : 0)],
    [
      'by a wrong clock again and again',
      (minute: number) => ([1, 2, 5].includes(Math.floor(minute / 100)) ? 150 : 0),
    ],
  ] as const) {
    it(`is found in a log stamped ${name}`, async () => {
      const minutes = 1000
      const times = await fill(minutes, ahead)
      for (let minute = 0; minute <= minutes + 300; minute += 43) {
        const at = minute * MINUTE_MS
        const last = times.findLastIndex((time) => time < minute)
        expect(await lastIndexBefore(store.database, 0, at), `before ${minute}`).to.equal(last)
        const first = last + 1 < minutes ? last + 1 : undefined
        expect(await firstIndexFrom(store.database, 0, at), `from ${minute}`).to.equal(first)
      }
    })
  }
})
