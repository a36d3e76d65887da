/** What the embedded database does for itself, as the processes beside the sessions of a PostgreSQL server do. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Database } from '../../src/store/database.ts'
import { openPglite } from '../../src/store/embedded/pglite.ts'
import { startUpkeep, type Upkeep, type UpkeepLimits } from '../../src/store/embedded/upkeep.ts'
import { DISK_RESERVE_BYTES, freeBytesAt } from '../../src/store/watch/disk.ts'
import { eventually } from '../support/eventually.ts'
import { onEmbedded } from '../support/servers/database.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

const MIB = 1024 * 1024
/** Nothing is ever due. */
const NEVER: UpkeepLimits = { lookMs: 5, logBytes: 2 ** 40, newRows: 2 ** 40, age: 2 ** 31 - 1 }

const logBytes = async ({ knex }: Database): Promise<number> => {
  const { rows } = await knex.raw(
    'SELECT (pg_current_wal_lsn() - redo_lsn)::float8 AS bytes FROM pg_control_checkpoint()',
  )
  return rows[0].bytes
}

/** Rows of 1 KiB each, in statements of a thousand. */
const addRows = async ({ knex }: Database, table: string, thousands: number): Promise<void> => {
  for (let i = 0; i < thousands; i++)
    await knex.raw(`INSERT INTO ${table} SELECT g, repeat(md5(g::text), 32) FROM generate_series(1, 1000) g`)
}

interface Counted {
  readonly dead: number
  readonly vacuums: number
}

/** As the database counts, which it does once a second. */
const countsOf = async ({ knex }: Database, table: string): Promise<Counted> => {
  await knex.raw('SELECT pg_stat_force_next_flush()')
  const { rows } = await knex.raw(
    'SELECT n_dead_tup::int AS dead, vacuum_count::int AS vacuums FROM pg_stat_all_tables WHERE relid = ?::regclass',
    [table],
  )
  return rows[0]
}

onEmbedded.describe('upkeep of the embedded database', () => {
  let database: Database
  let started: Upkeep[] = []
  let freeBytes: number | undefined
  let looks = 0
  const start = (limits: Partial<UpkeepLimits>, warn: (details: object) => void = () => {}): Upkeep => {
    const session = () => {
      looks += 1
      return database.session()
    }
    const deps = { session, freeBytes: async () => freeBytes }
    const upkeep = startUpkeep(deps, { info: () => {}, warn }, { ...NEVER, ...limits })
    started.push(upkeep)
    return upkeep
  }
  before(async () => {
    database = await openPglite('memory')
  })
  afterEach(async () => {
    await Promise.all(started.map((upkeep) => upkeep.close()))
    started = []
    freeBytes = undefined
  })
  after(() => database.close())

  it('makes checkpoints, so that the log stays short however much is written', async () => {
    await database.knex.raw('CREATE TABLE logged (a int, b text)')
    await addRows(database, 'logged', 4)
    expect(await logBytes(database)).to.be.above(3 * MIB)
    start({ logBytes: MIB })
    await eventually('a checkpoint', async () => (await logBytes(database)) < MIB)
  })

  it('does nothing while the disk takes no writes, and goes on once it does', async () => {
    await database.knex.raw('CREATE TABLE rested (a int, b text)')
    const upkeep = start({ logBytes: MIB })
    upkeep.rest(true)
    await addRows(database, 'rested', 3)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(await logBytes(database)).to.be.above(2 * MIB)
    upkeep.rest(false)
    await eventually('a checkpoint', async () => (await logBytes(database)) < MIB)
  })

  it('gives the place of deleted rows to new ones', async () => {
    await database.knex.raw('CREATE TABLE deleted (a int, b text)')
    start({})
    const sizes: number[] = []
    for (let round = 0; round < 4; round++) {
      await addRows(database, 'deleted', 2)
      const { rows } = await database.knex.raw("SELECT pg_relation_size('deleted')::int AS bytes")
      sizes.push(rows[0].bytes)
      await database.knex.raw('DELETE FROM deleted')
      await eventually('a vacuum', async () => (await countsOf(database, 'deleted')).dead === 0)
    }
    expect(Math.max(...sizes)).to.be.below(1.5 * (sizes[0] ?? 0))
  })

  it('vacuums nothing that the log might have no room for', async () => {
    await database.knex.raw('CREATE TABLE large (a int, b text)')
    await addRows(database, 'large', 4)
    await database.knex.raw('DELETE FROM large')
    freeBytes = DISK_RESERVE_BYTES + 2 * MIB
    start({})
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect((await countsOf(database, 'large')).vacuums).to.equal(0)
    freeBytes = DISK_RESERVE_BYTES + 40 * MIB
    await eventually('a vacuum', async () => (await countsOf(database, 'large')).dead === 0)
  })

  it('vacuums where the file system can’t say how much is free', async () => {
    freeBytes = await freeBytesAt('/there is no such directory')
    await database.knex.raw('CREATE TABLE unmeasured (a int, b text)')
    await addRows(database, 'unmeasured', 1)
    await database.knex.raw('DELETE FROM unmeasured')
    start({})
    await eventually('a vacuum', async () => (await countsOf(database, 'unmeasured')).dead === 0)
  })

  it('vacuums the other tables where that of one fails, time and again', async () => {
    const { knex } = database
    await knex.raw('CREATE TABLE broken (a int, b text)')
    await addRows(database, 'broken', 2)
    // Rows from before the oldest that the table says to have: it is damaged.
    await knex.raw("UPDATE pg_class SET relfrozenxid = pg_current_xact_id()::xid WHERE relname = 'broken'")
    await knex.raw('DELETE FROM broken WHERE a > 100')
    const warnings: { err?: Error }[] = []
    start({}, (details) => warnings.push(details))
    try {
      for (let round = 0; round < 2; round++) {
        await knex.raw(`CREATE TABLE sound_${round} (a int, b text)`)
        await addRows(database, `sound_${round}`, 1)
        await knex.raw(`DELETE FROM sound_${round}`)
        await eventually('a vacuum', async () => (await countsOf(database, `sound_${round}`)).dead === 0)
        await eventually('the damaged one is tried again', () => warnings.length > round)
      }
      expect(warnings[0]?.err?.message).to.include('relfrozenxid')
    } finally {
      await knex.raw('DROP TABLE broken')
    }
  })

  it('vacuums where it can make no checkpoint, which it tries now and then', async () => {
    await database.knex.raw('CREATE TABLE unchecked (a int, b text)')
    await addRows(database, 'unchecked', 1)
    await database.knex.raw('DELETE FROM unchecked')
    const warnings: object[] = []
    looks = 0
    start({ logBytes: Number.NaN }, (details) => warnings.push(details))
    await eventually('a vacuum', async () => (await countsOf(database, 'unchecked')).dead === 0)
    await eventually('another checkpoint', () => warnings.length > 1)
    expect(looks).to.be.above(50)
  })

  it('vacuums what has new rows, and what has come of age, though nothing in it is dead', async () => {
    await database.knex.raw('CREATE TABLE added (a int, b text)')
    await database.knex.raw('CREATE TABLE aged (a int, b text)')
    const vacuums = async (table: string): Promise<number> => (await countsOf(database, table)).vacuums
    await addRows(database, 'added', 1)
    const upkeep = start({ newRows: 999 })
    await eventually('a vacuum of new rows', async () => (await vacuums('added')) > 0)
    await upkeep.close()
    expect(await vacuums('aged')).to.equal(0)
    start({ age: 2 })
    // The oldest tables come first, and each stays as old as it was until its rows are old enough to be frozen.
    await database.knex.raw('VACUUM (FREEZE)')
    for (let i = 0; i < 5; i++) await database.knex.raw('INSERT INTO aged VALUES (1)')
    await eventually('a vacuum of what has come of age', async () => {
      const { rows } = await database.knex.raw(
        'SELECT sum(vacuum_count)::int AS all FROM pg_stat_all_tables WHERE relid = ?::regclass',
        ['aged'],
      )
      return rows[0].all > 1
    })
  })

  it('says so when it failed, and tries again', async () => {
    const warnings: object[] = []
    start({ newRows: Number.NaN }, (details) => warnings.push(details))
    await eventually('two warnings', () => warnings.length > 1)
    expect(warnings[0]).to.have.nested.property('err.message').that.includes('nan')
  })
})

onEmbedded.describe('upkeep of an embedded database on disk', () => {
  const temporary = temporaryDirectories()

  it('keeps the files of the log below a hundred megabytes', async () => {
    const directory = await temporary()
    const database = await openPglite(directory)
    try {
      await database.knex.raw('CREATE TABLE many (a int, b text)')
      for (let round = 0; round < 8; round++) {
        await addRows(database, 'many', 25)
        await eventually('a checkpoint', async () => (await logBytes(database)) <= 16 * MIB)
      }
    } finally {
      await database.close()
    }
    const folder = join(directory, 'database/pg_wal')
    const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
    const bytes = files.reduce((sum, { name }) => sum + statSync(join(folder, name)).size, 0)
    expect(bytes).to.be.below(100 * MIB)
  })
})
