import { expect } from 'chai'
import { callerOf, claiming } from '../support/ledger.ts'
import { rejection } from '../support/rejection.ts'
import { type BreakingLedger, openBreakingLedger } from '../support/servers/breaking-ledger.ts'
import { onPostgres } from '../support/servers/database.ts'

onPostgres.describe('ledger on a connection that breaks', () => {
  let opened: BreakingLedger
  const alice = callerOf('org_alice')
  before(async () => {
    opened = await openBreakingLedger()
  })
  after(() => opened.close())

  it('finds out that a commit took place although its answer was lost', async () => {
    opened.proxy.breakAt('COMMIT', 'after')
    const [one, two] = await Promise.all(
      ['kept 1', 'kept 2'].map((key) => opened.ledger.append(alice, claiming(key))),
    )
    expect(opened.proxy.broken).to.equal(1)
    expect([one?.index, two?.index]).to.deep.equal([0, 1])
    expect(await rejection(opened.ledger.append(alice, claiming('kept 1')))).to.include({
      code: 'double_spend',
    })
  })

  it('tries once more when it found out that a commit never arrived', async () => {
    const { size } = await opened.ledger.head()
    opened.proxy.breakAt('COMMIT', 'before')
    expect((await opened.ledger.append(alice, claiming('never'))).index).to.equal(size)
    expect((await opened.ledger.head()).size).to.equal(size + 1)
  })

  it('answers unavailable when it never arrives, and refuses nobody for it afterwards', async () => {
    const { size } = await opened.ledger.head()
    opened.proxy.breakAt('COMMIT', 'before', 2)
    expect(await rejection(opened.ledger.append(alice, claiming('never ever')))).to.include({
      code: 'unavailable',
      retryAfter: 1,
    })
    expect((await opened.ledger.head()).size).to.equal(size)
    expect((await opened.ledger.append(alice, claiming('never ever'))).index).to.equal(size)
  })

  it('tries once more when the connection breaks before the commit', async () => {
    for (const word of ['FOR UPDATE', 'INSERT INTO']) {
      const before = opened.proxy.broken
      opened.proxy.breakAt(word, 'after')
      await opened.ledger.append(alice, claiming(`again ${word}`))
      expect(opened.proxy.broken).to.equal(before + 1)
    }
  })

  it('answers unavailable when it breaks twice, without trying each unit of the batch', async () => {
    const before = opened.proxy.broken
    opened.proxy.breakAt('FOR UPDATE', 'before', 2)
    const all = ['twice 1', 'twice 2', 'twice 3'].map((key) =>
      rejection(opened.ledger.append(alice, claiming(key))),
    )
    for (const error of await Promise.all(all)) expect(error).to.include({ code: 'unavailable' })
    expect(opened.proxy.broken).to.equal(before + 2)
    await opened.ledger.append(alice, claiming('twice 1'))
  })

  it('holds for changes too', async () => {
    const change = (number: number) =>
      opened.ledger.transact(alice, async () => ({
        entry: { type: 'account', data: { number } },
        result: number,
      }))
    const { size } = await opened.ledger.head()
    opened.proxy.breakAt('COMMIT', 'after')
    expect(await change(1)).to.equal(1)
    opened.proxy.breakAt('FOR UPDATE', 'before')
    expect(await change(2)).to.equal(2)
    opened.proxy.breakAt('COMMIT', 'before', 2)
    expect(await rejection(change(3))).to.include({ code: 'unavailable' })
    // Without an entry nobody can tell what became of it, and it may not run twice.
    let runs = 0
    opened.proxy.breakAt('COMMIT', 'after')
    const silent = opened.ledger.transact(alice, async (trx) => {
      await trx.raw('SELECT 1')
      return { result: ++runs }
    })
    expect(await rejection(silent)).to.include({ code: 'unavailable' })
    expect(runs).to.equal(1)
    expect((await opened.ledger.head()).size).to.equal(size + 2)
  })

  it('answers unavailable while somebody else holds the head for too long, and goes on afterwards', async () => {
    const holder = await opened.database.knex.transaction()
    await holder.raw('SELECT * FROM ledger_head FOR UPDATE')
    try {
      expect(await rejection(opened.ledger.append(alice, claiming('stuck')))).to.include({
        code: 'unavailable',
      })
    } finally {
      await holder.rollback()
    }
    await opened.ledger.append(alice, claiming('stuck'))
  })

  it('keeps serving when its connections are ended by the database', async () => {
    await opened.database.knex.raw(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`)
    await opened.ledger.append(alice, claiming('after termination'))
  })
})
