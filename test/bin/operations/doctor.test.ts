/** `assay doctor`, on databases that are well and on such that aren't. */
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { openDatabase } from '../../../src/store/database.ts'
import { eventually } from '../../support/eventually.ts'
import { runCli } from '../../support/run-cli.ts'
import { createPostgresDatabase, DATABASE_URL, onPostgres } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { openShop, payOnce } from '../../support/servers/payment-load.ts'
import { startPgBouncer } from '../../support/servers/pgbouncer.ts'
import { startServerProcess } from '../../support/servers/server-process.ts'

const ADMIN_API_KEY = 'admin-key-of-the-doctor'

describe('npx assay doctor', function () {
  this.timeout(300_000)
  const directory = temporaryDirectories()

  it('finds nothing wrong where nothing is, and what is wrong by name, with what to do', async () => {
    const scratch = DATABASE_URL === undefined ? undefined : await createPostgresDatabase()
    const env = {
      DATA_DIR: await directory(),
      ADMIN_API_KEY,
      MASTER_KEY: randomBytes(32).toString('hex'),
      RATE_LIMITS: 'off',
      AML_LISTS: 'none',
      ...(scratch && { DATABASE_URL: scratch.url }),
    }
    const statesOf = async (more: Readonly<Record<string, string>> = {}, ...args: string[]) => {
      const { status, output } = await runCli(['doctor', '--json', ...args], { ...env, ...more })
      const findings: { what: string; state: string; text: string }[] = JSON.parse(output)
      const bad = findings.filter(({ state }) => state !== 'ok')
      return {
        status,
        all: findings.map(({ what }) => what),
        bad,
        text: bad.map(({ what, text }) => `${what}: ${text}`).join('\n'),
      }
    }
    const server = await startServerProcess(env)
    const shop = await openShop(server.url, ADMIN_API_KEY)
    for (let count = 0; count < 5; count++) expect((await payOnce(server.url, shop)).status).to.equal(200)
    expect((await fetch(`${server.url}/checkpoint`)).status).to.equal(200)
    const beside = await statesOf({ BASE_URL: server.url })
    if (scratch === undefined) expect(beside.text).to.include('uses it').and.to.include('{"ready":true}')
    expect(beside.status).to.equal(0)
    await server.end()

    const well = await statesOf({}, '--full')
    expect([well.status, well.bad.filter(({ what }) => what !== 'disk')]).to.deep.equal([0, []])
    expect(well.all).to.deep.equal([
      'settings',
      'disk',
      'database',
      ...(scratch === undefined ? [] : ['sessions']),
      'schema',
      'key',
      'home',
      'logs',
      'tree',
      'entries',
      'checkpoint',
      'heads',
      'clock',
    ])

    expect((await statesOf({ PORT: 'eighty' })).text).to.match(/^settings: PORT must be/)
    const other = await statesOf({ MASTER_KEY: 'ab'.repeat(32) })
    expect([other.status, other.text]).to.deep.equal([1, other.text])
    expect(other.text).to.include('key: MASTER_KEY does not open')
    const noRedis = await statesOf({ REDIS_URL: 'redis://127.0.0.1:1' })
    expect([noRedis.status, noRedis.text.includes('redis: does not answer')]).to.deep.equal([0, true])

    const changeAs = async (migrate: boolean | 'any', ...statements: string[]): Promise<void> => {
      const database = await openDatabase({ dataDir: env.DATA_DIR, databaseUrl: scratch?.url, migrate })
      for (const statement of statements) await database.knex.raw(statement)
      await database.close()
    }
    const change = (...statements: string[]) => changeAs(true, ...statements)
    const [home, away] = ['UPDATE organisations SET log = 0', 'UPDATE organisations SET log = 1']
    await change(away)
    expect((await statesOf()).text).to.match(/entries: entry \d+ is of org_\w+, which has log 1/)
    await change(home)
    await change(`UPDATE ledger_entries SET entry = replace(entry, '"v":1', '"v": 1') WHERE idx = 1`)
    expect((await statesOf()).text).to.include('entries: entry 1 does not have the hash')
    await change(
      `UPDATE ledger_head SET root = sha256('another')`,
      'UPDATE ledger_checkpoint SET size = size + 7',
    )
    const broken = await statesOf()
    expect(broken.status).to.equal(1)
    expect(broken.text)
      .to.include('tree: the hashes do not give the root')
      .and.to.include('it is an older copy')
    await change('DELETE FROM ledger_entries WHERE idx = 1')
    expect((await statesOf()).text).to.match(/entries: 1 of the entries 0 to \d+ are missing/)
    await change(
      `UPDATE ledger_home SET place = 'elsewhere'`,
      "DELETE FROM migrations WHERE name LIKE '%-nothing'",
    )
    expect((await statesOf()).text).to.include('home: the database was restored from a copy')
    await changeAs('any', "DELETE FROM migrations WHERE name LIKE '0027-%'")
    const older = await statesOf({ MASTER_KEY: 'ab'.repeat(32) })
    expect(older.status).to.equal(1)
    expect(older.text)
      .to.include('schema: lacks 0027-')
      .and.to.include('key: MASTER_KEY does not open')
      .and.to.include('home: the database was restored from a copy')
    for (const what of ['logs', 'tree', 'entries', 'checkpoint', 'heads', 'clock'])
      expect(older.text).to.include(`${what}: not examined before`)
    await changeAs('any', 'ALTER TABLE ledger_home RENAME TO ledger_gone')
    expect((await statesOf()).text).to.include('home: not examined before')
    if (scratch === undefined) {
      rmSync(join(env.DATA_DIR, 'database', 'assay-ready'))
      expect((await statesOf()).text).to.include('database is incomplete')
      expect(readdirSync(env.DATA_DIR).filter((name) => name.includes('incomplete'))).to.deep.equal([])
    }
    await scratch?.drop()
  })

  it('finds that a log is gone, or its heads in log 0', async () => {
    const scratch = DATABASE_URL === undefined ? undefined : await createPostgresDatabase()
    const env = {
      ...{ DATA_DIR: await directory(), ADMIN_API_KEY, MASTER_KEY: randomBytes(32).toString('hex') },
      ...{ RATE_LIMITS: 'off', AML_LISTS: 'none', LOG_SHARDS: '2' },
      ...(scratch && { DATABASE_URL: scratch.url }),
    }
    const server = await startServerProcess(env)
    const shop = await openShop(server.url, ADMIN_API_KEY)
    expect((await payOnce(server.url, shop)).status).to.equal(200)
    const isThere = async (path: string) => (await fetch(server.url + path)).status === 200
    await eventually('log 0 holds a head of log 1', () => isThere('/log/1/head'))
    await server.end()

    const said = async () => {
      const { status, output } = await runCli(['doctor', '--json'], env)
      const findings: { what: string; state: string; text: string }[] = JSON.parse(output)
      const of = (what: string) => findings.find((finding) => finding.what === what)
      return { status, logs: of('logs'), heads: of('heads') }
    }
    const change = async (...statements: string[]): Promise<void> => {
      const database = await openDatabase({ dataDir: env.DATA_DIR, databaseUrl: scratch?.url })
      for (const statement of statements) await database.knex.raw(statement)
      await database.close()
    }
    const well = await said()
    expect(well.logs).to.include({ state: 'ok', text: 'there are 2' })
    expect(well.heads?.text).to.match(/^the other logs go on from the newest \d+ heads in log 0$/)
    await change(
      'CREATE TABLE kept AS SELECT * FROM ledger_heads',
      'DELETE FROM ledger_heads WHERE size = (SELECT max(size) FROM ledger_heads)',
    )
    const newest = await said()
    expect([newest.status, newest.heads?.state]).to.deep.equal([1, 'error'])
    await change('DELETE FROM ledger_heads')
    const none = await said()
    expect([none.status, none.logs?.state]).to.deep.equal([1, 'ok'])
    expect(none.heads?.text).to.match(/^log 0 counted the heads of log 1 up to \d+ entries, and .* is of 0:/)
    await change('INSERT INTO ledger_heads SELECT * FROM kept', 'DELETE FROM ledger_head WHERE log = 1')
    const gone = await said()
    expect([gone.status, gone.logs?.state]).to.deep.equal([1, 'error'])
    expect(gone.logs?.text).to.match(/^log 1 is missing, though it is known elsewhere/)
    await scratch?.drop()
  })
})

onPostgres.describe('npx assay doctor on sessions of PostgreSQL', function () {
  this.timeout(300_000)
  const said = async (DATABASE_URL: string): Promise<string> => {
    const env = { DATABASE_URL, DATA_DIR: 'memory', MASTER_KEY: '07'.repeat(32), ADMIN_API_KEY }
    const { output } = await runCli(['doctor', '--json'], env)
    const findings: { what: string; state: string; text: string }[] = JSON.parse(output)
    const found = findings.find(({ what }) => what === 'sessions')
    return `${found?.state} ${found?.text}`
  }

  it('names a pooler, and time-outs that would cut off what servers do', async function () {
    const scratch = await createPostgresDatabase()
    const direct = new pg.Client({ connectionString: scratch.url })
    await direct.connect()
    const name = new URL(scratch.url).pathname.slice(1)
    const set = (setting: string, value: string) =>
      direct.query(`ALTER DATABASE "${name}" SET ${setting} = '${value}'`)
    try {
      expect(await said(scratch.url)).to.match(/^ok PostgreSQL hands them out itself/)
      await set('idle_session_timeout', '60s')
      expect(await said(scratch.url)).to.match(/^warning .*idle_session_timeout ends sessions .* 60000 ms/)
      await set('lock_timeout', '500ms')
      await set('idle_in_transaction_session_timeout', '2s')
      await set('statement_timeout', '10s')
      const pooler = await startPgBouncer(this, scratch.url, 3)
      try {
        expect(await said(pooler.url))
          .to.match(/^warning a connection pooler .*lock_timeout is 500 ms .* 2000 ms/)
          .and.not.to.match(/idle_session|statement_timeout/)
        await set('lock_timeout', '2s')
      } finally {
        await pooler.stop()
      }
      const again = await startPgBouncer(this, scratch.url, 3)
      try {
        expect(await said(again.url)).to.match(/^ok a connection pooler .*lock_timeout 2000 ms/)
      } finally {
        await again.stop()
      }
    } finally {
      await direct.end()
      await scratch.drop()
    }
  })
})
