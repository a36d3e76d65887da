/** PostgreSQL that takes no writes, as a standby does, or is gone: named by the readiness probe, and recovered from. */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { loadConfig } from '../../src/config/config.ts'
import { type RunningServer, startServer } from '../../src/server/server.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { watchDatabaseWrites } from '../../src/store/watch/database.ts'
import { eventually } from '../support/eventually.ts'
import { rejection } from '../support/rejection.ts'
import { onPostgres } from '../support/servers/database.ts'
import { type PostgresCluster, startPostgres } from '../support/servers/postgres.ts'
import { asking } from '../support/small-disk.ts'

const KEY = 'chosen-by-the-operator'

onPostgres.describe('PostgreSQL that takes no writes, or is gone,', function () {
  this.timeout(120_000)
  let cluster: PostgresCluster
  let server: RunningServer | undefined
  before(async () => {
    cluster = await startPostgres()
    server = await startServer(
      loadConfig({
        PORT: '0',
        LOG_LEVEL: 'silent',
        DATA_DIR: 'memory',
        MASTER_KEY: randomBytes(32).toString('hex'),
        DATABASE_URL: cluster.url,
        ADMIN_API_KEY: KEY,
      }),
    )
  })
  after(async () => {
    await server?.close()
    await cluster?.stop()
  })
  const ask = asking(KEY, () => server?.url)
  const record = () => ask('POST', '/verify', { data: { text: randomBytes(8).toString('hex') } })

  const administer = async (url: string, ...statements: string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }

  /** For all sessions, those that are open among them. */
  const setReadOnly = (isReadOnly: boolean): Promise<void> =>
    administer(
      // Not from within the database, which then takes no such statement either.
      cluster.url.replace(/postgres$/, 'template1'),
      `ALTER DATABASE postgres SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'`,
    )

  /** The database as a new role has it that may make no tables. */
  const openAs = async (role: string): Promise<Database> => {
    await administer(
      cluster.url,
      `REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE ${role} LOGIN;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
    )
    const url = new URL(cluster.url)
    url.username = role
    return openDatabase({ databaseUrl: url.href, dataDir: 'memory', migrate: false })
  }

  it('is named by /health/ready, refuses writes and answers reads, and is recovered from by itself', async () => {
    expect((await record()).status).to.equal(200)
    await setReadOnly(true)
    await eventually('a refused write that says so', async () => {
      const { status, body } = await record()
      expect(status).to.equal(503)
      return JSON.stringify(body).includes('READ_ONLY')
    })
    const ready = await ask('GET', '/health/ready')
    expect([ready.status, ready.body]).to.deep.equal([503, { ready: false, reason: 'read_only' }])
    expect((await ask('GET', '/console/api/me')).status).to.equal(200)
    await setReadOnly(false)
    await eventually('readiness', async () => (await ask('GET', '/health/ready')).status === 200)
    await eventually('a write', async () => (await record()).status === 200)
  })

  it('is recovered from by a role that may make no tables', async () => {
    const database = await openAs('writer')
    const changes: unknown[] = []
    const writes = watchDatabaseWrites(database, (why) => changes.push(why))
    const write = async () => database.knex('credential_attempts').delete()
    try {
      await write()
      await setReadOnly(true)
      await eventually('a refused write', async () => {
        await write().catch(() => undefined)
        return writes.refusal() === 'read_only'
      })
      // It stays so for as long as it is.
      await pause(2_500)
      expect([changes, writes.refusal()]).to.deep.equal([['read_only'], 'read_only'])
      await setReadOnly(false)
      await eventually('writes', async () => writes.refusal() === undefined)
      await write()
    } finally {
      writes.close()
      await database.close()
    }
    await eventually('readiness', async () => (await ask('GET', '/health/ready')).status === 200)
  })

  it('is taken to have no room for a while, by a role that may make no tables and so can not ask for any', async () => {
    const database = await openAs('filler')
    // What it says of a full disk, of the writes of one role.
    await administer(
      cluster.url,
      `CREATE FUNCTION has_no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF current_user = 'filler' THEN RAISE disk_full; END IF; RETURN NULL; END $$;
      CREATE TRIGGER has_no_room BEFORE DELETE ON credential_attempts FOR EACH STATEMENT EXECUTE FUNCTION has_no_room()`,
    )
    const changes: unknown[] = []
    const heldMs = 4_000
    const writes = watchDatabaseWrites(database, (why) => changes.push(why), heldMs)
    const write = () => database.knex('credential_attempts').delete()
    try {
      const started = performance.now()
      await rejection(write())
      expect(writes.refusal()).to.equal('disk_full')
      await eventually('that a write is tried', () => writes.refusal() === undefined)
      expect(performance.now() - started).to.be.at.least(heldMs)
      await rejection(write())
      expect(changes).to.deep.equal(['disk_full', undefined, 'disk_full'])
      await administer(cluster.url, 'DROP TRIGGER has_no_room ON credential_attempts')
      await eventually('that a write is tried once more', () => writes.refusal() === undefined)
      await write()
    } finally {
      writes.close()
      await database.close()
    }
  })

  it('is named once nobody answers, though nothing was asked, and is recovered from by itself', async () => {
    await cluster.kill()
    await eventually('503', async () => (await ask('GET', '/health/ready')).status === 503)
    const { body } = await ask('GET', '/health/ready')
    expect(body).to.deep.equal({ ready: false, reason: 'database_unavailable' })
    expect((await ask('GET', '/health/live')).status).to.equal(200)
    await cluster.restart()
    await eventually('readiness', async () => (await ask('GET', '/health/ready')).status === 200)
    await eventually('a write', async () => (await record()).status === 200)
  })
})
