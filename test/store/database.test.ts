import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { entryIndexesMigration } from '../../src/store/migrations/0023-entry-indexes.ts'
import { MIGRATIONS } from '../../src/store/migrations/index.ts'
import { ConnectionLost, isUnavailable, sqlState } from '../../src/store/session.ts'
import { rejection } from '../support/rejection.ts'
import { createPostgresDatabase, onPostgres, openTestDatabase } from '../support/servers/database.ts'

describe('database', () => {
  let database: Database
  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())

  it('tells errors that pass from those that stay', async () => {
    expect(isUnavailable(await rejection(database.knex('no_such_table')))).to.equal(false)
    expect(isUnavailable(new Error('boom'))).to.equal(false)
    expect(isUnavailable('text')).to.equal(false)
    const passing = [
      new ConnectionLost(new Error('boom')),
      Object.assign(new Error('connect'), { code: 'ECONNRESET' }),
      Object.assign(new Error('shutting down'), { code: '57P01', severity: 'FATAL' }),
      Object.assign(new Error('deadlock'), { code: '40P01', severity: 'ERROR' }),
      new Error('select 1 - Connection terminated unexpectedly'),
    ]
    for (const error of passing) expect(isUnavailable(error), error.message).to.equal(true)
  })

  onPostgres.it('gives a read up that takes too long, which passes, and keeps its connection', async () => {
    const { rows } = await database.query<{ setting: string }>(
      "SELECT current_setting('statement_timeout') AS setting",
      [],
    )
    expect(rows).to.deep.equal([{ setting: '10s' }])
    const late = await rejection(
      database.knex.transaction(async (trx) => {
        await trx.raw('SET LOCAL statement_timeout = 20')
        await trx.raw('SELECT pg_sleep(10)')
      }),
    )
    expect(late).to.include({ code: '57014' })
    expect(isUnavailable(late)).to.equal(true)
    await database.ping()
  })

  onPostgres.it(
    'gives a timed read up at its time, lets it write nothing, and times the next one anew',
    async () => {
      const within = database.queryWithin!
      const began = performance.now()
      const sleeps = Array.from({ length: 8 }, () => rejection(within(50, 'SELECT pg_sleep($1)', [10])))
      for (const late of await Promise.all(sleeps)) expect(late).to.include({ code: '57014' })
      expect(performance.now() - began).to.be.below(8000)
      const removal = rejection(within(5000, 'DELETE FROM migrations WHERE name = $1', ['none']))
      expect(await removal).to.include({ code: '25006' })
      for (let i = 0; i < 8; i++)
        expect((await within(5000, 'SELECT $1::int AS n', [i], 'timed-echo')).rows).to.deep.equal([{ n: i }])
    },
  )

  it('has the whole schema after opening', async () => {
    const names = await database.knex('migrations').orderBy('name').pluck('name')
    expect(names).to.deep.equal(MIGRATIONS.map(({ name }) => name))
  })

  describe('that was written before migrations became one', () => {
    const one = MIGRATIONS.find(({ replaces }) => replaces !== undefined)!
    const replaced = one.replaces ?? []
    let older: Database
    const recorded = (): Promise<string[]> => older.knex('migrations').orderBy('name').pluck('name')
    const record = async (names: readonly string[]): Promise<void> => {
      await older.knex('migrations').delete()
      await older.knex('migrations').insert(names.map((name) => ({ name })))
    }
    beforeEach(async () => {
      older = await openTestDatabase()
    })
    afterEach(() => older.close())

    it('has the one when it has them all, and loses nothing', async () => {
      const later = MIGRATIONS.filter((migration) => migration !== one).map(({ name }) => name)
      await record([...replaced, ...later])
      await older.knex('ledger_counters').insert({ organisation: 'o', counter: 'c', value: 7 })
      for (let start = 0; start < 2; start++) await migrate(older)
      expect(await recorded()).to.have.members([...replaced, ...later, one.name])
      expect(await older.knex('ledger_counters').pluck('value')).to.deep.equal([7])
    })

    it('is refused, and left as it is, when it lacks some', async () => {
      await record(replaced.slice(0, -2))
      const { message } = await rejection(migrate(older))
      expect(message).to.match(/too old/)
      for (const name of replaced) expect(message.includes(name), name).to.equal(replaced.indexOf(name) > 26)
      expect(await recorded()).to.deep.equal(replaced.slice(0, -2))
    })
  })

  it('answers a ping', () => database.ping())

  it('keeps values out of the messages of errors', async () => {
    const failed = await rejection(database.knex('accounts').where({ nothing_of_the_kind: 'hunter2' }))
    expect(failed.message)
      .to.match(/nothing_of_the_kind/)
      .and.not.match(/hunter2/)
  })

  it('reads int8 as a number, and refuses one that a number can not hold', async () => {
    const read = async (value: string) => (await database.knex.raw(`SELECT ${value}::bigint AS n`)).rows[0].n
    expect(await read('9007199254740991')).to.equal(Number.MAX_SAFE_INTEGER)
    expect(await read('-5')).to.equal(-5)
    expect((await rejection(read('9007199254740992'))).message).to.match(/beyond 2\^53/)
  })

  it('gives a session to one caller alone, with prepared statements and several statements in one text', async () => {
    const session = await database.session()
    try {
      await session.query('CREATE TEMPORARY TABLE mine (a int); INSERT INTO mine VALUES (1), (2)')
      for (const a of [1, 2]) {
        const { rows, rowCount } = await session.query('SELECT a FROM mine WHERE a = $1', [a], 'test-mine')
        expect({ rows, rowCount }).to.deep.equal({ rows: [{ a }], rowCount: 1 })
      }
      const { rows } = await session.query('BEGIN; DELETE FROM mine; SELECT count(*) AS n FROM mine')
      expect(rows).to.deep.equal([{ n: 0 }])
      await session.query('ROLLBACK')
      expect((await session.query('SELECT * FROM mine')).rowCount).to.equal(2)
      await session.query('DROP TABLE mine')
    } finally {
      session.release()
    }
  })

  it('tells of each query behind one that failed why the transaction was aborted', async () => {
    const session = await database.session()
    try {
      await session.query('BEGIN')
      const sent = ['SELECT 1 / 0', 'SELECT 1'].map((text) => rejection(session.query(text)))
      for (const error of await Promise.all(sent)) expect(sqlState(error)).to.equal('22012')
      await session.query('ROLLBACK')
      expect(sqlState(await rejection(session.query('SELECT 1 FROM no_such_table')))).to.equal('42P01')
    } finally {
      session.release()
    }
  })

  it('commits what a session does in a transaction through knex, or nothing when it throws', async () => {
    await database.knex.raw('CREATE TABLE test_pairs (a int)')
    const session = await database.session()
    try {
      await session.transaction(async (trx) => {
        await trx('test_pairs').insert({ a: 1 })
        await session.query('INSERT INTO test_pairs VALUES (2)')
      })
      const failing = session.transaction(async (trx) => {
        await trx('test_pairs').insert({ a: 3 })
        throw new Error('changed my mind')
      })
      expect((await rejection(failing)).message).to.equal('changed my mind')
    } finally {
      session.release()
    }
    expect(await database.knex('test_pairs').orderBy('a').pluck('a')).to.deep.equal([1, 2])
  })

  it('refuses an index that was made beforehand and failed, before it drops those that it replaces', async () => {
    const indexes = ['ledger_entries_digest', 'ledger_entries_organisation']
    const kept = () =>
      database.knex('pg_class').whereIn('relname', indexes).orderBy('relname').pluck('relname')
    for (const index of indexes) await database.knex.raw(`CREATE INDEX ${index} ON ledger_entries (digest)`)
    const setValid = (isValid: boolean) =>
      database.knex.raw(
        `UPDATE pg_index SET indisvalid = ${isValid} WHERE indexrelid = 'ledger_entries_by_digest'::regclass`,
      )
    const up = () => database.knex.transaction((trx) => entryIndexesMigration.up(trx))
    await setValid(false)
    expect((await rejection(up())).message).to.include('DROP INDEX ledger_entries_by_digest')
    expect(await kept()).to.deep.equal(indexes)
    await setValid(true)
    await up()
    expect(await kept()).to.deep.equal([])
  })

  onPostgres.it('is refused when a later version has written to it', async () => {
    const fresh = await createPostgresDatabase()
    try {
      const options = { databaseUrl: fresh.url, dataDir: 'memory' }
      const opened = await openDatabase(options)
      await opened.knex('migrations').insert({ name: '9999-later' })
      await opened.close()
      expect((await rejection(openDatabase(options))).message).to.match(/later version.*9999-later/)
    } finally {
      await fresh.drop()
    }
  })

  it('says so when PostgreSQL can not be reached', async () => {
    const options = { databaseUrl: 'postgres://postgres@127.0.0.1:1/none', dataDir: 'memory' }
    const failed = await rejection(openDatabase(options))
    expect(failed.message).to.match(/ECONNREFUSED/)
    expect(isUnavailable(failed)).to.equal(true)
  })
})

/** PostgreSQL, Message Formats: AuthenticationOk, BackendKeyData and ReadyForQuery. */
const LETS_IN = Buffer.from(
  ['52 00000008 00000000', '4b 0000000c 00000001 00000001', '5a 00000005 49'].join('').replaceAll(' ', ''),
  'hex',
)

describe('a pooler that lets in and has what is asked wait', function () {
  this.timeout(30_000)

  it('is given up at the start, as one that can not be used for now', async () => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('data', () => socket.write(LETS_IN))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    try {
      const begun = performance.now()
      const databaseUrl = `postgres://nobody@127.0.0.1:${port}/none`
      const error = await rejection(openDatabase({ databaseUrl, dataDir: 'memory' }))
      expect(isUnavailable(error), String(error)).to.equal(true)
      expect(performance.now() - begun).to.be.within(4_000, 15_000)
    } finally {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  })
})
