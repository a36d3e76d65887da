/** Commits of PostgreSQL whose answers never come, while the connection stays: a standby that was lost, or a network that drops packets. */
import { expect } from 'chai'
import { callerOf, claiming } from '../support/ledger.ts'
import { type BreakingLedger, openBreakingLedger } from '../support/servers/breaking-ledger.ts'
import { onPostgres } from '../support/servers/database.ts'

onPostgres.describe('ledger whose commit is not answered', function () {
  this.timeout(60_000)
  let opened: BreakingLedger
  const alice = callerOf('org_alice')
  before(async () => {
    opened = await openBreakingLedger()
  })
  after(() => opened.close())

  const commits: readonly [what: string, commit: (name: string) => Promise<unknown>][] = [
    ['a batch', (name) => opened.ledger.append(alice, claiming(name))],
    [
      'a change',
      async (name) =>
        opened.ledger.transact(alice, async (trx) => {
          await trx.raw('SELECT 1')
          return { entry: { type: 'account', data: { name } }, result: name }
        }),
    ],
  ]
  for (const [what, commit] of commits)
    it(`finds out that ${what} took place, and waits for no other connection that is as old`, async () => {
      // Further sessions that are idle.
      const idle = await Promise.all([opened.database.session(), opened.database.session()])
      for (const session of idle) {
        await session.query('SELECT 1')
        session.release()
      }
      const { size } = await opened.ledger.head()
      opened.proxy.breakAt('COMMIT', 'silent')
      await commit(`silent ${what}`)
      expect((await opened.ledger.head()).size).to.equal(size + 1)
    })
})
