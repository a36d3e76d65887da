/** The embedded database on disk: fsync, its lock between processes, first starts that were cut short. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { openDatabase } from '../../src/store/database.ts'
import { openPglite } from '../../src/store/embedded/pglite.ts'
import { MIGRATIONS } from '../../src/store/migrations/index.ts'
import { startProgram } from '../support/programs.ts'
import { rejection } from '../support/rejection.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

const PROGRAM = join(import.meta.dirname, '../support/programs/hold-database.ts')

onEmbedded.describe('embedded database on disk', () => {
  const temporary = temporaryDirectories()

  it('calls fsync(2) for every commit, and keeps what was committed', async () => {
    const directory = await temporary()
    let syncs = 0
    const first = await openPglite(directory, undefined, () => syncs++)
    await first.knex.raw('CREATE TABLE kept (a int)')
    syncs = 0
    for (let a = 0; a < 10; a++) await first.knex('kept').insert({ a })
    expect(syncs).to.be.within(10, 20)
    await first.close()
    const second = await openPglite(directory)
    expect(await second.knex('kept').count('* as n').first()).to.deep.equal({ n: 10 })
    await second.close()
  })

  it('refuses a second process with a clear message, and lets it in once the first has ended', async () => {
    const directory = await temporary()
    const first = startProgram(PROGRAM, [directory])
    await first.line(/^open$/)
    const second = startProgram(PROGRAM, [directory])
    expect(await second.ended()).to.equal(1)
    expect(second.errors()).to.match(
      new RegExp(`in use by process ${first.child.pid} .*database\\.lock.*DATA_DIR`),
    )
    expect((await rejection(openPglite(directory))).name).to.equal('DirectoryLocked')
    first.child.kill('SIGTERM')
    expect(await first.ended(), first.errors()).to.equal(0)
    expect(existsSync(join(directory, 'database.lock'))).to.equal(false)
    const third = await openPglite(directory)
    expect((await rejection(openPglite(directory))).name).to.equal('DirectoryLocked')
    await third.close()
  })

  it('takes over the lock of a process that was killed', async () => {
    const directory = await temporary()
    const first = startProgram(PROGRAM, [directory])
    await first.line(/^open$/)
    await first.kill()
    expect(existsSync(join(directory, 'database.lock'))).to.equal(true)
    const second = await openDatabase({ dataDir: directory })
    await second.close()
  })

  it('is not misled by a process id that another process has now, nor by a broken lock file', async () => {
    const directory = await temporary()
    const file = join(directory, 'database.lock')
    const first = await openPglite(directory)
    const owner = JSON.parse(readFileSync(file, 'utf8'))
    await first.close()
    for (const text of [JSON.stringify({ ...owner, started: 'another moment' }), 'not JSON', '']) {
      writeFileSync(file, text)
      await (await openPglite(directory)).close()
    }
    writeFileSync(file, JSON.stringify({ ...owner, host: 'elsewhere' }))
    expect((await rejection(openPglite(directory))).message).to.match(/on elsewhere.*delete the file/)
  })

  it('sets aside what a first start left behind that was cut short', async () => {
    const directory = await temporary()
    const first = await openDatabase({ dataDir: directory })
    await first.close()
    rmSync(join(directory, 'database', 'assay-ready'))
    rmSync(join(directory, 'database', 'base'), { recursive: true })
    const second = await openDatabase({ dataDir: directory })
    await second.ping()
    await second.close()
    expect(existsSync(join(directory, 'database.incomplete-1'))).to.equal(true)
  })

  it('writes the files of a first start for its owner alone', async () => {
    const directory = await temporary()
    await (await openPglite(directory)).close()
    const entries = readdirSync(join(directory, 'database'), { recursive: true, withFileTypes: true })
    const ofOthers = entries.filter(
      (entry) => (statSync(join(entry.parentPath, entry.name)).mode & 0o077) !== 0,
    )
    // What PGlite itself makes while it runs is as open as the umask lets it; the directory above lets nobody in.
    expect(ofOthers.length).to.be.below(entries.length / 10)
    expect(statSync(join(directory, 'database')).mode & 0o777).to.equal(0o700)
    expect(entries.some(({ name }) => name === 'PG_VERSION')).to.equal(true)
  })

  it('starts with the schema in its template', async () => {
    const database = await openPglite('memory')
    try {
      expect(await database.knex('migrations').orderBy('name').pluck('name')).to.deep.equal(
        MIGRATIONS.map(({ name }) => name),
      )
    } finally {
      await database.close()
    }
  })

  it('starts without a template, only slower', async () => {
    const { templateName } = await import('../../src/store/embedded/pglite-template.ts')
    const template = join(import.meta.dirname, '../../build', templateName())
    const aside = `${template}.aside`
    const there = existsSync(template)
    if (there) renameSync(template, aside)
    try {
      const database = await openPglite('memory')
      await database.ping()
      await database.close()
    } finally {
      if (there) renameSync(aside, template)
    }
  })
})
