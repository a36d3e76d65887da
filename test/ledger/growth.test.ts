/** Growth from one log to several, beside servers that work. */
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { countLogs, growLogs } from '../../src/ledger/growth.ts'
import { openLogs } from '../../src/ledger/logs.ts'
import type { Database } from '../../src/store/database.ts'
import { eventually } from '../support/eventually.ts'
import { callerOf, claiming, expectWholeLog } from '../support/ledger.ts'
import { logger, newOrganisation, type Server, serverOn } from '../support/logs.ts'
import { rejection } from '../support/rejection.ts'
import { DATABASE_URL, onPostgres, openTestDatabase } from '../support/servers/database.ts'

describe('growth of the logs', function () {
  this.timeout(60_000)

  it('leaves keys by index alone until there are two, so that servers which know one find entries by it', async () => {
    const own = await openTestDatabase()
    const keys = async (): Promise<string[]> => {
      const { rows } = await own.query<{ key: string }>(
        `SELECT pg_get_constraintdef(oid) AS key FROM pg_constraint WHERE contype IN ('p', 'u')
          AND conrelid IN ('ledger_entries'::regclass, 'ledger_tiles'::regclass, 'poseidon_leaves'::regclass) ORDER BY 1`,
        [],
      )
      return rows.map(({ key }) => key)
    }
    const named = async (): Promise<number[]> =>
      own.knex('ledger_head').where({ name: 'ledger' }).pluck('log')
    const one = await openLogs({ database: own, logger, wanted: 1 })
    expect(await keys()).to.deep.equal([
      'PRIMARY KEY ("position")',
      'PRIMARY KEY (idx)',
      'PRIMARY KEY (level, tile)',
      'UNIQUE (idx)',
    ])
    expect(await named()).to.deep.equal([0])
    const two = await openLogs({ database: own, logger, wanted: 2 })
    expect(await keys()).to.deep.equal([
      'PRIMARY KEY (log, "position")',
      'PRIMARY KEY (log, idx)',
      'PRIMARY KEY (log, level, tile)',
      'UNIQUE (log, idx)',
    ])
    // They append to nothing any more, since they would append everything to log 0.
    expect(await named()).to.deep.equal([])
    await Promise.all([one.close(), two.close()])
    await own.close()
  })

  it('refuses a log that lost its head, whose entries would be counted anew', async () => {
    const own = await openTestDatabase()
    const { ledger, close } = await serverOn(own, 2)
    await ledger.append(callerOf(await newOrganisation(own, 1)), claiming('kept'))
    await close()
    await own.knex('ledger_head').where({ log: 1 }).delete()
    expect((await rejection(growLogs(own, 2))).message).to.include('Log 1 has entries and no head')
    await own.knex('ledger_head').delete()
    expect((await rejection(openLogs({ database: own, logger, wanted: 1 }))).message).to.include('no head')
    expect(await own.knex('ledger_head')).to.deep.equal([])
    await own.close()
  })

  it('is refused to a server that may not change the schema', async () => {
    const own = await openTestDatabase()
    const refused = await rejection(openLogs({ database: own, logger, wanted: 2, mayGrow: false }))
    expect(refused.name).to.equal('LogsMissing')
    expect(refused.message)
      .to.include('LOG_SHARDS is 2')
      .and.include('1 log.')
      .and.include('npx assay migrate')
    expect(await countLogs(own.knex)).to.equal(1)
    await growLogs(own, 2)
    await (await openLogs({ database: own, logger, wanted: 2, mayGrow: false })).close()
    await own.close()
  })

  onPostgres.describe('beside servers at work', () => {
    let database: Database
    let server: Server
    before(async () => {
      database = await openTestDatabase()
      server = await serverOn(database, 1)
    })
    after(async () => {
      await server.close()
      await database.close()
    })

    const entries = (): Promise<unknown> => database.knex('ledger_entries').count('*')

    it('waits for who reads for long, and nobody waits for it', async () => {
      const organisation = await newOrganisation(database, 0)
      await server.ledger.append(callerOf(organisation), claiming('first'))
      const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name', [])
      const reader = new pg.Client({ connectionString: new URL(`/${rows[0]?.name}`, DATABASE_URL).href })
      await reader.connect()
      await reader.query('BEGIN; SELECT count(*) FROM ledger_entries')
      const growing = growLogs(database, 2)
      for (let i = 0; i < 30; i++) {
        await server.ledger.append(callerOf(organisation), claiming(`beside ${i}`))
        await entries()
        await pause(100)
      }
      expect(await countLogs(database.knex)).to.equal(1)
      await reader.end()
      await growing
      expect(await countLogs(database.knex)).to.equal(2)
    })

    it('names an index that was made beforehand, and is invalid', async () => {
      const own = await openTestDatabase()
      const name = 'ledger_entries_by_time'
      await own.knex.raw(`CREATE INDEX ${name} ON ledger_entries (log, at, idx)`)
      await own.knex.raw('UPDATE pg_index SET indisvalid = false WHERE indexrelid = ?::regclass', [name])
      expect((await rejection(growLogs(own, 2))).message).to.include(`The index ${name} is invalid`)
      expect(await countLogs(own.knex)).to.equal(1)
      await own.knex.raw(`DROP INDEX ${name}`)
      await own.knex.raw(`CREATE INDEX CONCURRENTLY ${name} ON ledger_entries (log, at, idx)`)
      await growLogs(own, 2)
      await own.close()
    })

    it('is made once by servers that begin it together', async () => {
      const own = await openTestDatabase()
      await Promise.all([2, 3, 4].map((wanted) => growLogs(own, wanted)))
      expect(await own.knex('ledger_head').orderBy('log').pluck('log')).to.deep.equal([0, 1, 2, 3])
      await own.close()
    })

    it('is found by the others, who write to the new logs, and never goes back', async () => {
      const found: number[] = []
      const stop = server.logs.each((log) => {
        expect(server.logs.count()).to.be.above(log)
        found.push(log)
      })
      const more = await serverOn(database, 5)
      await eventually('the new logs', () => server.logs.count() === 5)
      expect(found).to.deep.equal([0, 1, 2, 3, 4])
      stop()
      const organisation = await newOrganisation(database, 4)
      for (const { ledger } of [more, server])
        expect(
          (await ledger.append(callerOf(organisation), claiming(`of ${ledger === more.ledger}`))).log,
        ).to.equal(4)
      await expectWholeLog(database, 4)
      await more.close()
      const refused = await rejection(openLogs({ database, logger, wanted: 4 }))
      expect(refused.name).to.equal('TooFewLogs')
      expect(refused.message).to.include('LOG_SHARDS is 4').and.include('LOG_SHARDS=5')
      expect(await database.knex('ledger_head').pluck('log')).to.have.members([0, 1, 2, 3, 4])
    })

    it('is known of before it was heard of, by the organisations that have the new logs', async () => {
      const early = await serverOn(database, 5)
      const root = createHash('sha256').digest()
      await database
        .knex('ledger_head')
        .insert({ log: 5, name: 'ledger/5', size: 0, root, edge: Buffer.alloc(0), updated_at: 0 })
      const organisation = await newOrganisation(database, 5)
      expect((await early.ledger.append(callerOf(organisation), claiming('early'))).log).to.equal(5)
      expect(early.logs.count()).to.equal(6)
      await early.close()
    })
  })
})
