/** PostgreSQL that takes no writes, as a standby does, or is gone: named by the readiness probe, and recovered from. */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { loadConfig } from '../../src/config/config.ts'
import { type RunningServer, startServer } from '../../src/server/server.ts'
import { openDatabase } from '../../src/store/database.ts'
import { watchDatabaseWrites } from '../../src/store/watch/database.ts'
import { eventually } from '../support/eventually.ts'
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

  /** For all sessions, those that are open among them. */
  const setReadOnly = async (isReadOnly: boolean): Promise<void> => {
    // Not from within the database, which then takes no such statement either.
    const elsewhere = cluster.url.replace(/postgres$/, 'template1')
    const client = new pg.Client({ connectionString: elsewhere })
    await client.connect()
    await client.query(
      `ALTER DATABASE postgres SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`,
    )
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'`)
    await client.end()
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
    const client = new pg.Client({ connectionString: cluster.url })
    await client.connect()
    await client.query(`REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE writer LOGIN;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO writer`)
    await client.end()
    const url = new URL(cluster.url)
    url.username = 'writer'
    const database = await openDatabase({
      databaseUrl: url.href,
      dataDir: 'memory',
      migrate: false,
    })
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
