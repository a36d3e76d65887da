/** PostgreSQL whose disk is full: really, on a small file system. Needs a server on this machine and the right to mount one. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { loadConfig } from '../../src/config/config.ts'
import { type RunningServer, startServer } from '../../src/server/server.ts'
import { eventually } from '../support/eventually.ts'
import { asking, mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'

const DISK = '96m'
const KEY = 'chosen-by-the-operator'
const NAME = `assay_full_${randomBytes(6).toString('hex')}`
const SKIPPED =
  '\n  !! PostgreSQL can be given no disk of its own here: the tests of its full disk are SKIPPED.\n'

/** @returns whether this machine has such a user */
const giveToPostgres = (folder: string): boolean => {
  try {
    execFileSync('chown', ['postgres', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe('a full disk of PostgreSQL', function () {
  this.timeout(120_000)
  const { DATABASE_URL } = process.env
  let folder: string
  let isMounted = false
  let server: RunningServer | undefined

  const administer = async (...statements: string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: DATABASE_URL })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }

  before(async function () {
    if (!DATABASE_URL) return this.skip()
    folder = mkdtempSync(join(tmpdir(), 'assay-pg-disk-'))
    chmodSync(folder, 0o755)
    isMounted = mountSmallDisk(folder, DISK)
    const hasDisk =
      isMounted &&
      giveToPostgres(folder) &&
      (await administer(
        `CREATE TABLESPACE ${NAME} LOCATION '${folder}'`,
        `CREATE DATABASE ${NAME} TABLESPACE ${NAME}`,
      ).then(
        () => true,
        () => false,
      ))
    if (!hasDisk) {
      process.stdout.write(SKIPPED)
      return this.skip()
    }
    const url = new URL(DATABASE_URL)
    url.pathname = `/${NAME}`
    server = await startServer(
      loadConfig({
        PORT: '0',
        LOG_LEVEL: 'silent',
        DATA_DIR: 'memory',
        MASTER_KEY: randomBytes(32).toString('hex'),
        DATABASE_URL: url.href,
        ADMIN_API_KEY: KEY,
      }),
    )
  })
  after(async () => {
    await server?.close()
    if (isMounted) {
      rmSync(join(folder, 'filler'), { force: true })
      await administer(`DROP DATABASE IF EXISTS ${NAME} WITH (FORCE)`, `DROP TABLESPACE IF EXISTS ${NAME}`)
      unmountSmallDisk(folder)
    }
    if (folder) rmSync(folder, { recursive: true, force: true })
  })

  const ask = asking(KEY, () => server?.url)
  const record = () => ask('POST', '/verify', { data: { text: randomBytes(2048).toString('hex') } })

  it('is named by /health/ready once it refused a write; all writes are refused, and reads are not', async () => {
    expect((await record()).status).to.equal(200)
    expect((await ask('GET', '/health/ready')).body).to.deep.equal({ ready: true })
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(join(folder, 'filler'), Buffer.alloc(bavail * bsize))
    await eventually('a refused write', async () => (await record()).status === 503)
    const ready = await ask('GET', '/health/ready')
    expect([ready.status, ready.body]).to.deep.equal([503, { ready: false, reason: 'disk_full' }])
    const refused = await record()
    expect(refused.status).to.equal(503)
    expect(refused.body).to.include({ error: 'unavailable', reason: 'DISK_FULL', retry_after: 10 })
    expect((await ask('GET', '/console/api/me')).status).to.equal(200)
  })

  it('is recovered from by itself when there is room again, and an alert tells of it', async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect((await ask('GET', '/health/ready')).status).to.equal(503)
    rmSync(join(folder, 'filler'))
    await eventually('readiness', async () => (await ask('GET', '/health/ready')).status === 200)
    expect((await record()).status).to.equal(200)
    await eventually('the alert', async () => {
      const { body } = await ask('GET', '/api/security/alerts?severity=critical')
      return JSON.stringify(body).includes('"DATABASE_URL"')
    })
  })
})
