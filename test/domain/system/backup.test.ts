/** The archive of a backup, on its way. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/clock.ts'
import { createBackups } from '../../../src/domain/system/backup.ts'
import { ONE_LOG } from '../../../src/ledger/logs.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { eventually } from '../../support/eventually.ts'
import { onEmbedded } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'

const OPEN_FILES = '/proc/self/fd'

const openBelow = (directory: string): string[] =>
  readdirSync(OPEN_FILES).flatMap((name) => {
    try {
      const path = readlinkSync(join(OPEN_FILES, name))
      return path.startsWith(directory) ? [path] : []
    } catch {
      return []
    }
  })

onEmbedded.describe('a backup that nobody reads to its end', function () {
  this.timeout(60_000)
  const temporary = temporaryDirectories()

  it('closes the file that it was at, and removes its copy', async function () {
    if (!existsSync(OPEN_FILES)) return this.skip()
    const dataDir = await temporary()
    const database = await openDatabase({ dataDir })
    // The first in the archive; it does not fit what waits for the reader.
    writeFileSync(join(dataDir, 'database', '0-large'), randomBytes(2 ** 22))
    const backups = createBackups({
      database,
      logs: ONE_LOG,
      signedLogs: {
        at: () => ({ checkpoints: { latest: () => Promise.reject(new Error('nothing is signed here')) } }),
      },
      logHome: { origin: 'example.com' },
      clock: systemClock,
      logger: { info() {}, warn() {} },
    })
    const { body } = await backups.create()
    const copy = join(dataDir, 'backup.partial')
    await once(body, 'readable')
    await eventually('the large file open', () => openBelow(copy).length > 0)
    body.destroy()
    await eventually('nothing open', () => openBelow(copy).length === 0)
    await eventually('the copy gone', () => !existsSync(copy))
    await database.close()
  })
})
