/** A disk that is full, read only, or fails: really, as a small file system of its own. Needs the right to mount one (Linux, root). */
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadConfig } from '../../src/config/config.ts'
import type { Key } from '../../src/domain/accounts/schemas.ts'
import type { AuditEntry } from '../../src/domain/audit/schemas.ts'
import { type RunningServer, startServer } from '../../src/server/server.ts'
import { DISK_RESERVE_BYTES, watchDisk } from '../../src/store/watch/disk.ts'
import { sharedTarget, USER_ID } from '../support/domain/hermes.ts'
import { eventually } from '../support/eventually.ts'
import {
  asking,
  mountReadOnly,
  mountSmallDisk,
  mountThinDisk,
  unmountSmallDisk,
} from '../support/small-disk.ts'

const DISK = '256m'
const KEY = 'chosen-by-the-operator'
const MIB = 2 ** 20

const freeBytes = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

const skipLoudly = (context: Mocha.Context): never => {
  process.stdout.write(
    '\n  !! No file system can be mounted here: tests of disks that take no writes are SKIPPED.\n',
  )
  return context.skip()
}

describe('a disk that takes no writes', function () {
  this.timeout(120_000)
  let folder: string
  let isMounted = false
  let server: RunningServer | undefined
  const start = (): Promise<RunningServer> =>
    startServer(
      loadConfig({
        PORT: '0',
        LOG_LEVEL: 'silent',
        DATA_DIR: join(folder, 'data'),
        ADMIN_API_KEY: KEY,
        EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      }),
    )

  before(async function () {
    folder = mkdtempSync(join(tmpdir(), 'assay-disk-'))
    isMounted = mountSmallDisk(folder, DISK)
    if (!isMounted) return skipLoudly(this)
    server = await start()
  })
  after(async () => {
    await server?.close()
    if (isMounted) unmountSmallDisk(folder)
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = asking(KEY, () => server?.url)
  const filler = () => join(folder, 'filler')
  const fill = (leaveBytes: number): void =>
    writeFileSync(filler(), Buffer.alloc(Math.max(0, freeBytes(folder) - leaveBytes)))
  const becomes = (status: number) =>
    eventually(
      `${status} of /health/ready`,
      async () => (await ask('GET', '/health/ready')).status === status,
    )
  /** It writes an alert and signs the log before. */
  const databaseRefuses = () =>
    eventually('a database that takes no writes', async () => {
      const asked = await server?.services.database.query<Record<string, string>>(
        'SHOW default_transaction_read_only',
        [],
      )
      return asked?.rows[0]?.default_transaction_read_only === 'on'
    })
  const record = () => ask('POST', '/verify', { data: { age: 42 } })

  it('is named by /health/ready when it is full, refuses what would be written, and raises an alert', async () => {
    expect((await record()).status).to.equal(200)
    fill(DISK_RESERVE_BYTES - MIB)
    await becomes(503)
    expect((await ask('GET', '/health/ready')).body).to.deep.equal({ ready: false, reason: 'disk_full' })
    expect((await ask('GET', '/health/live')).status).to.equal(200)
    const refused = await record()
    expect(refused.status).to.equal(503)
    expect(refused.body).to.include({ error: 'unavailable', reason: 'DISK_FULL', retry_after: 10 })
    await eventually('the alert', async () => {
      const { status, body } = await ask('GET', '/api/security/alerts?severity=critical')
      return status === 200 && JSON.stringify(body).includes('"disk_full"')
    })
  })

  it('leaves the log to be read while it is full: what is committed was signed, the alert included', async () => {
    await databaseRefuses()
    const audit = await ask('GET', '/api/audit?type=gate')
    expect(audit.status, JSON.stringify(audit.body)).to.equal(200)
    const [alert] = audit.body.entries as AuditEntry[]
    expect(JSON.parse(alert?.entry ?? '').data).to.include({ alert: 'disk_full' })
    expect(audit.body.treeSize).to.be.above(Number(alert?.index))
    const events = await ask('GET', '/api/events')
    expect(events.status, JSON.stringify(events.body)).to.equal(200)
    const published = await fetch(`${server?.url}/checkpoint`)
    expect(published.status).to.equal(200)
    const [, size] = (await published.text()).split('\n')
    expect(Number(size)).to.equal((await server?.services.ledger.head())?.size)
  })

  it('is recovered from when there is room again, even if not a byte was left', async () => {
    rmSync(filler(), { force: true })
    await becomes(200)
    fill(0)
    await becomes(503)
    expect(() => writeFileSync(join(folder, 'one-more'), Buffer.alloc(MIB))).to.throw('ENOSPC')
    expect((await ask('GET', '/console/api/me')).status).to.equal(200)
    expect((await record()).status).to.equal(503)
    rmSync(filler())
    rmSync(join(folder, 'one-more'), { force: true })
    await becomes(200)
    expect((await record()).status).to.equal(200)
  })

  it('is written to by no question either, and by no key that is used', async () => {
    const destinationUrl = `${(await sharedTarget()).url}/members`
    const { slug } = (await ask('POST', '/proxy', { userId: USER_ID, destinationUrl })).body
    const question = `/hermes/${slug}?name=Ada`
    expect((await ask('GET', question)).status).to.equal(200)
    const { keyId, apiKey } = (await ask('POST', '/v1/api-keys', { scopes: ['verify'] })).body
    const head = await server?.services.ledger.head()
    fill(DISK_RESERVE_BYTES - MIB)
    await becomes(503)
    await databaseRefuses()
    const refused = await ask('GET', question)
    expect(refused.status).to.equal(503)
    expect(refused.body).to.include({ error: 'unavailable', reason: 'DISK_FULL', retry_after: 10 })
    expect(await server?.services.ledger.head()).to.deep.equal(head)
    const askWithNewKey = asking(String(apiKey), () => server?.url)
    expect((await askWithNewKey('GET', '/console/api/me')).status).to.equal(200)
    const { keys } = (await ask('GET', '/console/api/keys')).body
    expect((keys as Key[]).find((key) => key.keyId === keyId)?.lastUsedAt).to.equal(null)
    rmSync(filler())
    await becomes(200)
    expect((await ask('GET', question)).status).to.equal(200)
  })

  it('lets a server end, and another one start and read, while it is full', async () => {
    fill(DISK_RESERVE_BYTES - MIB)
    await becomes(503)
    await server?.close()
    server = await start()
    await becomes(503)
    expect((await ask('GET', '/console/api/me')).status).to.equal(200)
    expect((await record()).status).to.equal(503)
    rmSync(filler())
    await becomes(200)
    expect((await record()).status).to.equal(200)
  })

  it('is named when it is read only, though nothing was written, and is recovered from', async () => {
    const data = join(folder, 'data')
    mountReadOnly(data)
    try {
      await becomes(503)
      const { body } = await ask('GET', '/health/ready')
      expect(body).to.deep.equal({ ready: false, reason: 'disk_unwritable' })
      expect((await record()).body).to.include({ error: 'unavailable', reason: 'DISK_UNWRITABLE' })
      expect((await ask('GET', '/console/api/me')).status).to.equal(200)
    } finally {
      unmountSmallDisk(data)
    }
    await becomes(200)
    expect((await record()).status).to.equal(200)
  })

  it('is noticed when it takes files and fails to sync them, whatever it says to be free', async function () {
    const [disk, below] = ['assay-thin-', 'assay-below-'].map((name) => mkdtempSync(join(tmpdir(), name)))
    if (!mountThinDisk(disk!, below!)) return skipLoudly(this)
    const changes: unknown[] = []
    const watched = watchDisk(disk, {
      onChange: (why, { err }) =>
        changes.push([why, err instanceof Error && 'syscall' in err && err.syscall]),
    })
    try {
      writeFileSync(join(below!, 'filler'), Buffer.alloc(freeBytes(below!)))
      await eventually('a failed sync', () => watched.refusal() === 'disk_full')
      expect(freeBytes(disk!)).to.be.above(DISK_RESERVE_BYTES)
      rmSync(join(below!, 'filler'))
      await eventually('room', () => watched.refusal() === undefined)
      expect(changes).to.deep.equal([
        ['disk_full', 'fsync'],
        [undefined, false],
      ])
    } finally {
      await watched.close()
      for (const mounted of [disk!, below!]) {
        unmountSmallDisk(mounted)
        rmSync(mounted, { recursive: true })
      }
    }
  })
})
