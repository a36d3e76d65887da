/** Where the log is at home. */
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  isAtHome as isAtHomeAs,
  leaveHome,
  RestoredDatabase,
  settleHome,
} from '../../src/ledger/checkpoints/home.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { rejection } from '../support/rejection.ts'
import { onEmbedded, openTestDatabase } from '../support/servers/database.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

const isAtHome = (database: Database): Promise<boolean> => isAtHomeAs(database, 1)

describe('the home of the log', () => {
  let database: Database
  beforeEach(async () => {
    database = await openTestDatabase()
  })
  afterEach(() => database.close())

  it('is where a server first started', async () => {
    expect(await settleHome(database)).to.equal(1)
    expect(await isAtHome(database)).to.equal(true)
    await leaveHome(database)
    expect(await isAtHome(database), 'one that has a home keeps it').to.equal(true)
  })

  it('is no more that of a server which runs when a new log began', async () => {
    await settleHome(database)
    await database.knex('ledger_home').update({ generation: 2 })
    expect(await isAtHome(database)).to.equal(false)
    expect(await isAtHomeAs(database, 2)).to.equal(true)
  })

  it('is nowhere for a copy of before there were homes, once somebody says that it was restored', async () => {
    await leaveHome(database)
    expect(await isAtHome(database)).to.equal(false)
    expect(await rejection(settleHome(database))).to.be.instanceOf(RestoredDatabase)
  })
})

onEmbedded.describe('the home of the log in a data directory', () => {
  const temporary = temporaryDirectories()
  /** Of which the first is there. */
  const directories = async () => {
    const directory = await temporary()
    const first = join(directory, 'first')
    mkdirSync(first)
    return { first, renamed: join(directory, 'renamed'), copy: join(directory, 'copy') }
  }
  const opened = async <T>(dataDir: string, use: (database: Database) => Promise<T>): Promise<T> => {
    const database = await openDatabase({ dataDir })
    try {
      return await use(database)
    } finally {
      await database.close()
    }
  }

  it('goes with it when it is renamed, and not with a copy of its files', async () => {
    const { first, renamed, copy } = await directories()
    expect(await opened(first, settleHome)).to.equal(1)
    cpSync(first, copy, { recursive: true, preserveTimestamps: true })
    expect(await opened(first, settleHome), 'after a restart').to.equal(1)
    renameSync(first, renamed)
    expect(await opened(renamed, isAtHome), 'renamed').to.equal(true)
    expect(await opened(copy, isAtHome), 'copied').to.equal(false)
    expect(await rejection(opened(copy, settleHome))).to.be.instanceOf(RestoredDatabase)
    // Told to go on, it gets a place of its own.
    const own = await opened(copy, async (database) => (await database.place()) ?? database.makePlace())
    expect(own).to.match(/^embedded\//)
    expect(own).not.to.equal(await opened(renamed, ({ place }) => place()))
    expect(await opened(copy, ({ place }) => place())).to.equal(own)
  })

  it('stays where files were put back in place, and where earlier versions said only its name', async () => {
    const directory = await temporary()
    await opened(directory, settleHome)
    const file = join(directory, 'database.place')
    const text = readFileSync(file, 'utf8')
    renameSync(file, `${file}.kept`)
    writeFileSync(file, text)
    expect(await opened(directory, isAtHome)).to.equal(true)
    writeFileSync(file, `${text.split('\n')[0]}\n`)
    expect(await opened(directory, isAtHome)).to.equal(true)
  })

  it('is told anew by each start, so that copies of what was renamed, or of earlier versions, are known as such', async () => {
    const { first, renamed, copy } = await directories()
    await opened(first, settleHome)
    renameSync(first, renamed)
    const place = await opened(renamed, ({ place }) => place())
    await opened(renamed, settleHome)
    cpSync(renamed, first, { recursive: true })
    expect(await opened(first, isAtHome), 'copied to where it was').to.equal(false)
    writeFileSync(join(renamed, 'database.place'), `${place}\n`)
    await opened(renamed, settleHome)
    expect(await opened(renamed, ({ place }) => place())).to.equal(place)
    cpSync(renamed, copy, { recursive: true })
    expect(await opened(copy, isAtHome), 'a copy of one that said only its name').to.equal(false)
  })
})
