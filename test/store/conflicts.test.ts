import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { despiteConflicts } from '../../src/store/conflicts.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { sqlState } from '../../src/store/session.ts'
import { callerOf, claiming, expectWholeLog, ledgerOn } from '../support/ledger.ts'
import { rejection } from '../support/rejection.ts'
import { createPostgresDatabase, onPostgres } from '../support/servers/database.ts'
import type { ScratchDatabase } from '../support/servers/scratch-database.ts'

/** A database, and the SQLSTATEs that its sessions met. */
const watched = (database: Database): { database: Database; met: string[] } => {
  const met: string[] = []
  return {
    met,
    database: {
      ...database,
      async session() {
        const session = await database.session()
        return {
          ...session,
          query: (text, values, name) =>
            session.query(text, values, name).catch((error: unknown) => {
              met.push(sqlState(error) ?? '')
              throw error
            }) as ReturnType<typeof session.query<never>>,
        }
      },
    },
  }
}

describe('what met another transaction', () => {
  it('is run again, for two seconds at most, and anything else isn’t', async () => {
    let runs = 0
    const refuse = (code: string) => () => {
      runs++
      throw Object.assign(new Error('refused'), { code, severity: 'ERROR' })
    }
    const began = performance.now()
    expect(await rejection(despiteConflicts(async () => refuse('40001')()))).to.include({ code: '40001' })
    expect(performance.now() - began).to.be.within(1900, 10_000)
    expect(runs).to.be.within(10, 2000)
    runs = 0
    expect(await rejection(despiteConflicts(async () => refuse('23505')()))).to.include({ code: '23505' })
    expect(runs).to.equal(1)
  })

  it('is run again where the first time alone took longer than that', async () => {
    let runs = 0
    const work = async (): Promise<string> => {
      if (++runs > 1) return 'done'
      await pause(60)
      throw Object.assign(new Error('deadlock'), { code: '40P01', severity: 'ERROR' })
    }
    expect(await despiteConflicts(work, { giveUpMs: 20 })).to.equal('done')
  })

  onPostgres.describe('on PostgreSQL', () => {
    const alice = callerOf('org_alice')
    let fresh: ScratchDatabase
    let other: pg.Client
    const opened: Database[] = []
    const open = async (): Promise<Database> => {
      const database = await openDatabase({ databaseUrl: fresh.url, dataDir: 'memory' })
      opened.push(database)
      return database
    }
    const set = (setting: string) =>
      other.query(`ALTER DATABASE ${new URL(fresh.url).pathname.slice(1)} SET ${setting}`)
    beforeEach(async () => {
      fresh = await createPostgresDatabase()
      await (await open()).close()
      opened.length = 0
      other = new pg.Client({ connectionString: fresh.url })
      await other.connect()
    })
    afterEach(async () => {
      for (const database of opened.splice(0)) await database.close()
      await other.end()
      await fresh.drop()
    })
    /** Resolves when somebody waits for a lock. */
    const someoneWaits = async (): Promise<void> => {
      for (;;) {
        const { rows } = await other.query(
          "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
        )
        if (rows.length > 0) return
        await pause(5)
      }
    }

    it('two servers commit all that they are asked where each moves the head under the other', async () => {
      await set("default_transaction_isolation = 'repeatable read'")
      const servers = [watched(await open()), watched(await open())]
      const ledgers: Ledger[] = await Promise.all(servers.map(({ database }) => ledgerOn(database)))
      const append = async (ledger: Ledger, server: number): Promise<void> => {
        for (let i = 0; i < 60; i++) await ledger.append(alice, claiming(`${server} ${i}`))
      }
      await Promise.all(ledgers.map(append))
      expect(
        servers.flatMap(({ met }) => met),
        'there were conflicts',
      ).to.include('40001')
      expect(await expectWholeLog(opened[0] as Database)).to.have.length(120)
      await Promise.all(ledgers.map((ledger) => ledger.close()))
    })

    it('a batch that a deadlock ends is committed all the same, once', async () => {
      await set("deadlock_timeout = '20ms'")
      const server = watched(await open())
      const ledger = await ledgerOn(server.database)
      await ledger.append(alice, claiming('first'))
      // The other one holds the key, and then wants the head, which the batch has while it waits for the key.
      await other.query("SET deadlock_timeout = '20s'")
      await other.query('BEGIN')
      await other.query(
        `INSERT INTO ledger_claims SELECT organisation, kind, 'second', holder, at FROM ledger_claims LIMIT 1`,
      )
      const appended = ledger.append(alice, claiming('second'))
      await someoneWaits()
      await other.query('SELECT 1 FROM ledger_head FOR UPDATE')
      await other.query('ROLLBACK')
      expect((await appended).index).to.equal(1)
      expect(server.met).to.include('40P01')
      expect(await expectWholeLog(server.database)).to.have.length(2)
      await ledger.close()
    })

    it('a statement by itself is run again, one of a transaction isn’t', async () => {
      await set("default_transaction_isolation = 'repeatable read'")
      const { knex, query } = await open()
      await other.query('CREATE TABLE counted (n int); INSERT INTO counted VALUES (0)')
      const behindAnother = async (change: () => PromiseLike<unknown>): Promise<unknown> => {
        await other.query('BEGIN; UPDATE counted SET n = n + 1')
        const changed = Promise.resolve(change())
        const ended = changed.catch(() => undefined)
        await someoneWaits()
        await other.query('COMMIT')
        await ended
        return changed
      }
      const add = 'UPDATE counted SET n = n + 100'
      await behindAnother(() => query(add, []))
      await behindAnother(() => knex.raw(add))
      const within = behindAnother(() => knex.transaction((trx) => trx.raw(add)))
      expect(await rejection(within)).to.include({ code: '40001' })
      expect((await knex('counted')).map(({ n }) => n)).to.deep.equal([203])
    })
  })
})
