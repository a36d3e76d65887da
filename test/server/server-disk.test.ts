/** A disk that is full: really, on a small file system of its own. Needs the right to mount one (Linux, root). */
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadConfig } from '../../src/config/config.ts'
import { type RunningServer, startServer } from '../../src/server/server.ts'
import { DISK_RESERVE_BYTES } from '../../src/store/disk.ts'
import { eventually } from '../support/eventually.ts'
import { asking, mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'

const DISK = '256m'
const KEY = 'chosen-by-the-operator'
const MIB = 2 ** 20

const freeBytes = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

describe('a full disk', function () {
  this.timeout(120_000)
  let folder: string
  let isMounted = false
  let server: RunningServer | undefined

  before(async function () {
    folder = mkdtempSync(join(tmpdir(), 'assay-disk-'))
    isMounted = mountSmallDisk(folder, DISK)
    if (!isMounted) {
      process.stdout.write(
        '\n  !! No file system can be mounted here: the tests of a full disk are SKIPPED.\n',
      )
      return this.skip()
    }
    const config = { PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: join(folder, 'data'), ADMIN_API_KEY: KEY }
    server = await startServer(loadConfig(config))
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
  const record = () => ask('POST', '/verify', { data: { age: 42 } })

  it('is named by /health/ready, refuses what would be written, and raises an alert', async () => {
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
})
