/** The time of entries, when clocks of servers differ. */
import { expect } from 'chai'
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
})
