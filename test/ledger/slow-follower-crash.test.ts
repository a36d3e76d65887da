import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { openDatabase } from '../../src/store/database.ts'
import { callerOf, claiming, ledgerOn, together } from '../support/ledger.ts'
import { startProgram } from '../support/programs.ts'
import { createPostgresDatabase, onPostgres } from '../support/servers/database.ts'

const PROGRAM = join(import.meta.dirname, '../support/programs/follow-log.ts')
const ENTRIES = 1_000
const KILLS = 6
const GIVE_UP_MS = 30_000

onPostgres.describe('a follower whose server is killed', () => {
  it('is taken over by another, and every entry has its effect exactly once', async () => {
    const fresh = await createPostgresDatabase()
    const database = await openDatabase({ databaseUrl: fresh.url, dataDir: 'memory' })
    const ledger = await ledgerOn(database)
    const start = () => startProgram(PROGRAM, [fresh.url, 'crash'])
    const servers = [start()]
    try {
      await database.knex.raw('CREATE TABLE test_consumed (idx bigint NOT NULL)')
      const items = Array.from({ length: ENTRIES }, (_, i) => claiming(`key ${i}`))
      for (let from = 0; from < ENTRIES; from += 250) {
        await ledger.append(callerOf('org_1'), together(items.slice(from, from + 250)))
      }
      for (let round = 0; round < KILLS; round++) {
        servers.push(start())
        const [running] = servers
        await Promise.race(servers.map((server) => server.line(/^batch /)))
        await pause(20)
        await running?.kill()
        servers.shift()
      }
      servers.push(start())
      const deadline = performance.now() + GIVE_UP_MS
      const read = (): Promise<number[]> => database.knex('test_consumed').orderBy('idx').pluck('idx')
      while ((await read()).length < ENTRIES && performance.now() < deadline) await pause(20)
      expect(await read()).to.deep.equal([...Array(ENTRIES).keys()])
    } finally {
      for (const server of servers) await server.kill()
      await ledger.close()
      await database.close()
      await fresh.drop()
    }
  })
})
