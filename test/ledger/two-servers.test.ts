import { join } from 'node:path'
import { expect } from 'chai'
import { openDatabase } from '../../src/store/database.ts'
import { expectWholeLog } from '../support/ledger.ts'
import { startProgram } from '../support/programs.ts'
import { createPostgresDatabase, onPostgres } from '../support/servers/database.ts'

const PROGRAM = join(import.meta.dirname, '../support/programs/append-entries.ts')
const ENTRIES = 2000
const CALLERS = 16

onPostgres.describe('two servers on one ledger', () => {
  it('skip no index and use none twice, and agree on who won', async () => {
    const fresh = await createPostgresDatabase()
    try {
      // The same claims from both: each must be won exactly once. Both start on an empty database, too.
      const servers = ['shared', 'shared'].map((prefix) =>
        startProgram(PROGRAM, [fresh.url, prefix, String(CALLERS), String(ENTRIES), 'wait']),
      )
      await Promise.all(servers.map((server) => server.line(/^ready$/)))
      for (const server of servers) server.child.kill('SIGUSR2')
      for (const server of servers) {
        await server.line(/^done$/)
        expect(await server.ended(), server.errors()).to.equal(0)
      }
      const lines = servers.flatMap((server) => server.lines)
      const won = lines.filter((line) => line.startsWith('receipt ')).map((line) => line.split(' '))
      const lost = lines.filter((line) => line.startsWith('refused '))
      expect(won).to.have.length(ENTRIES)
      expect(new Set(won.map(([, , , , key]) => key)).size).to.equal(ENTRIES)
      expect(new Set(won.map(([, index]) => index)).size).to.equal(ENTRIES)
      for (const line of lost) expect(line).to.match(/^refused double_spend /)
      const database = await openDatabase({ databaseUrl: fresh.url, dataDir: 'memory' })
      const entries = await expectWholeLog(database)
      await database.close()
      for (const [, index, id] of won) expect(entries[Number(index)]?.id).to.equal(id)
    } finally {
      await fresh.drop()
    }
  })
})
