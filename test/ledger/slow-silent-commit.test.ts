/** Commits of PostgreSQL whose answers never come, while the connection stays: a standby that was lost, or a network that drops packets. */
import { expect } from 'chai'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { callerOf, claiming, expectWholeLog, ledgerOn } from '../support/ledger.ts'
import { type BreakingProxy, startBreakingProxy } from '../support/servers/breaking-proxy.ts'
import { createPostgresDatabase, onPostgres } from '../support/servers/database.ts'
import type { ScratchDatabase } from '../support/servers/scratch-database.ts'

onPostgres.describe('ledger whose commit is not answered', function () {
  this.timeout(60_000)
  let fresh: ScratchDatabase
  let proxy: BreakingProxy
  let database: Database
  let ledger: Ledger
  const alice = callerOf('org_alice')
  before(async () => {
    fresh = await createPostgresDatabase()
    proxy = await startBreakingProxy(fresh.url)
    database = await openDatabase({ databaseUrl: proxy.url, dataDir: 'memory' })
    ledger = await ledgerOn(database)
  })
  after(async () => {
    await expectWholeLog(database)
    await ledger.close()
    await database.close()
    await proxy.close()
    await fresh.drop()
  })

  const commits: readonly [what: string, commit: (name: string) => Promise<unknown>][] = [
    ['a batch', (name) => ledger.append(alice, claiming(name))],
    [
      'a change',
      async (name) =>
        ledger.transact(alice, async (trx) => {
          await trx.raw('SELECT 1')
          return { entry: { type: 'account', data: { name } }, result: name }
        }),
    ],
  ]
  for (const [what, commit] of commits)
    it(`finds out that ${what} took place, and waits for no other connection that is as old`, async () => {
      // Further sessions that are idle.
      const idle = await Promise.all([database.session(), database.session()])
      for (const session of idle) {
        await session.query('SELECT 1')
        session.release()
      }
      const { size } = await ledger.head()
      proxy.breakAt('COMMIT', 'silent')
      await commit(`silent ${what}`)
      expect((await ledger.head()).size).to.equal(size + 1)
    })
})
