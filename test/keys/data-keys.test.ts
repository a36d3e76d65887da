/** The keys that seal everything: how they come about, how MASTER_KEY is changed, and how everything is sealed anew. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { systemClock } from '../../src/clock.ts'
import { AppError } from '../../src/errors.ts'
import {
  addDataKey,
  awaitUse,
  changeMasterKey,
  endHandover,
  HANDOVER_MS,
  openSealing,
  opensKeys,
} from '../../src/keys/data-keys.ts'
import { reseal, resealAll } from '../../src/keys/resealing.ts'
import { createSealing, SealingError, sealedVersion } from '../../src/keys/sealing.ts'
import { createSigners } from '../../src/keys/signers.ts'
import { SEALED_COLUMNS } from '../../src/services/sealed-columns.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { eventually } from '../support/eventually.ts'
import { rejection } from '../support/rejection.ts'
import { DATABASE_URL, onEmbedded, onPostgres, openTestDatabase } from '../support/servers/database.ts'
import { createScratchDatabase } from '../support/servers/scratch-database.ts'
import { decompress, unpack } from '../support/upgrade/archive.ts'
import { restore } from '../support/upgrade/dump.ts'
import { filesOf, fixturesOf, readExpectations } from '../support/upgrade/fixture.ts'

const place = { table: 'things', column: 'secret', row: 'one' }
const secret = Buffer.from('a secret')
const bytesOf = (value: Uint8Array): Buffer => Buffer.from(value)

describe('the keys of a database', function () {
  this.timeout(60_000)
  let database: Database
  let masterKey: Buffer
  const closers: (() => void)[] = []
  beforeEach(async () => {
    database = await openTestDatabase()
    masterKey = randomBytes(32)
  })
  afterEach(async () => {
    for (const close of closers.splice(0)) close()
    await database.close()
  })
  const warnings: string[] = []
  const logger = { warn: (_: object, message: string) => void warnings.push(message) }
  const open = async (key: Uint8Array = masterKey) => {
    const { sealing, close } = await openSealing(database, key, logger)
    closers.push(close)
    return sealing
  }

  it('are one for all servers, random and not MASTER_KEY itself', async () => {
    const [one, other] = await Promise.all([open(), open()])
    const sealed = one.seal('test', place, secret)
    expect(bytesOf(other.open('test', place, sealed))).to.deep.equal(secret)
    expect(() => createSealing(masterKey).open('test', place, sealed)).to.throw(SealingError)
    expect(one.mac('test', secret)).to.deep.equal(other.mac('test', secret))
  })

  it('begin with MASTER_KEY where something was sealed before there were any, so that nothing is lost', async () => {
    const before = createSealing(masterKey)
    await createSigners({ database, sealing: before, clock: systemClock })
    expect(await rejection(open(randomBytes(32)))).to.be.instanceOf(SealingError)
    expect(await database.knex('data_keys')).to.deep.equal([])
    const sealing = await open()
    expect(bytesOf(sealing.open('test', place, before.seal('test', place, secret)))).to.deep.equal(secret)
    expect(sealing.mac('test', secret)).to.deep.equal(before.mac('test', secret))
    await createSigners({ database, sealing, clock: systemClock })
  })

  it('open under another MASTER_KEY once that was changed, and no more under the one before', async () => {
    const before = await open()
    const sealed = before.seal('test', place, secret)
    const fresh = randomBytes(32)
    expect(await rejection(changeMasterKey(database, randomBytes(32), fresh))).to.be.instanceOf(SealingError)
    expect(await opensKeys(database, masterKey)).to.equal(true)
    expect(await changeMasterKey(database, masterKey, fresh)).to.equal(1)
    expect(await changeMasterKey(database, masterKey, fresh), 'again').to.equal(0)
    expect(await opensKeys(database, masterKey)).to.equal(false)
    expect(await rejection(open())).to.be.instanceOf(SealingError)
    const after = await open(fresh)
    expect(bytesOf(after.open('test', place, sealed))).to.deep.equal(secret)
    expect(after.mac('test', secret)).to.deep.equal(before.mac('test', secret))
  })

  onPostgres.it('reach servers that run, under whichever MASTER_KEY they were started', async () => {
    const running = await open()
    const fresh = randomBytes(32)
    await changeMasterKey(database, masterKey, fresh)
    expect(await addDataKey(database, fresh)).to.equal(2)
    expect(await addDataKey(database, fresh), 'gone on with').to.equal(2)
    expect(sealedVersion(running.seal('test', place, secret))).to.equal(1)
    await pause(HANDOVER_MS + 1500)
    const sealed = running.seal('test', place, secret)
    expect(sealedVersion(sealed)).to.equal(2)
    await endHandover(database)
    const started = await open(fresh)
    expect(bytesOf(started.open('test', place, sealed))).to.deep.equal(secret)
    expect(running.mac('test', secret)).to.deep.equal(started.mac('test', secret))
  })

  onPostgres.it(
    'added without a handover, reach who has the MASTER_KEY; others neither seal nor go on in silence',
    async () => {
      const behind = await open()
      const fresh = randomBytes(32)
      await changeMasterKey(database, masterKey, fresh)
      const running = await open(fresh)
      expect(await addDataKey(database, fresh, { handsOver: false })).to.equal(2)
      expect(await addDataKey(database, fresh, { handsOver: false }), 'gone on with').to.equal(2)
      const shown: Buffer[] = await database.knex('data_keys').where({ version: 2 }).pluck('handover')
      expect(
        shown.map(({ length }) => length),
        'nothing of it is shown',
      ).to.deep.equal([0])
      expect((await rejection(addDataKey(database, fresh))).message).to.include('--no-handover')
      await database.knex('data_keys').update({ used_from: 0 })
      await eventually(
        'sealed under the new key',
        () => sealedVersion(running.seal('test', place, secret)) === 2,
      )
      await eventually('warned', () =>
        warnings.some((text) => text.includes('restart it with the new MASTER_KEY')),
      )
      await pause(1500)
      expect(warnings, 'once').to.have.length(1)
      expect(() => behind.seal('test', place, secret))
        .to.throw(AppError)
        .with.property('code', 'unavailable')
      // One whose handover somebody may have seen is not gone on with.
      await endHandover(database)
      expect(await addDataKey(database, fresh)).to.equal(3)
      expect(await addDataKey(database, fresh, { handsOver: false })).to.equal(4)
      await database.knex('data_keys').update({ used_from: 0 })
      const sealed = (await open(fresh)).seal('test', place, secret)
      expect(sealedVersion(sealed)).to.equal(4)
      await pause(1500)
      expect(() => behind.open('test', place, sealed), 'nothing was altered')
        .to.throw(AppError)
        .with.property('code', 'unavailable')
    },
  )

  onEmbedded.it('are not handed over where no server runs, and seal at once', async () => {
    await open()
    expect(await addDataKey(database, masterKey)).to.equal(2)
    await awaitUse(database, 2)
    expect(await database.knex('data_keys').orderBy('version').pluck('handover')).to.deep.equal([
      null,
      new Uint8Array(),
    ])
    expect(sealedVersion((await open()).seal('test', place, secret))).to.equal(2)
  })

  onPostgres.it('that a server has not read yet are no reason to say that a value was altered', async () => {
    const running = await open()
    await addDataKey(database, masterKey)
    await database.knex('data_keys').update({ used_from: 0 })
    const sealed = (await open()).seal('test', place, secret)
    expect(sealedVersion(sealed)).to.equal(2)
    expect(() => running.open('test', place, sealed))
      .to.throw(AppError)
      .with.property('code', 'unavailable')
    sealed[0] = 7
    expect(() => running.open('test', place, sealed)).to.throw(SealingError)
  })
})

const KIND = DATABASE_URL === undefined ? 'embedded' : 'postgres'

/** The database of a fixture, without a server. */
const openFixtureDatabase = async (name: string, dataDir: string) => {
  const files = filesOf(name, KIND)
  unpack(readFileSync(files.dataDir), dataDir)
  const scratch = DATABASE_URL === undefined ? undefined : await createScratchDatabase(DATABASE_URL)
  if (scratch) await restore(scratch.url, decompress(readFileSync(files.dump)).toString())
  const database = await openDatabase({ dataDir, databaseUrl: scratch?.url })
  return {
    database,
    masterKey: Buffer.from(readExpectations(name, KIND).env.MASTER_KEY ?? '', 'hex'),
    async close() {
      await database.close()
      await scratch?.drop()
    },
  }
}

const BYTES = `SELECT table_name AS table, column_name AS column FROM information_schema.columns
  WHERE table_schema = 'public' AND column_name LIKE 'sealed%'`
/** Sealed under a person's own key, or under MASTER_KEY. */
const OTHERWISE = [
  'kyc_checks',
  'aml_subscriptions',
  'aml_findings',
  'aml_decisions',
  'review_proposals',
  'data_keys',
]

/** Tables that came after the newest fixture. */
const LATER = ['account_totp']

describe('sealing everything anew', function () {
  this.timeout(180_000)
  const directory = mkdtempSync(join(tmpdir(), 'assay-reseal-'))
  after(() => rmSync(directory, { recursive: true, force: true }))

  it('reaches every value of every domain, and goes on where it was cut short', async () => {
    const name = fixturesOf(KIND).at(-1) ?? expect.fail('no fixture')
    const { database, masterKey, close } = await openFixtureDatabase(name, directory)
    try {
      const first = await openSealing(database, masterKey)
      first.close()
      const version = await addDataKey(database, masterKey)
      await database.knex('data_keys').update({ used_from: 0 })
      const { sealing, close: end } = await openSealing(database, masterKey)
      end()
      let batches = 0
      for await (const _ of reseal(database, sealing, version, SEALED_COLUMNS)) if (++batches === 4) break
      for await (const { table, column, seen, isDone } of reseal(database, sealing, version, SEALED_COLUMNS))
        if (isDone && !LATER.includes(table))
          expect(seen, `rows of ${table}.${column} in the fixture`).to.be.greaterThan(0)
      for (const { table, column, isText } of SEALED_COLUMNS) {
        const values: (Uint8Array | string | null)[] = await database.knex(table).pluck(column)
        const kept = values.filter((value) => value !== null && value.length > 0)
        const versions = kept.map((value) =>
          sealedVersion(isText ? Buffer.from(String(value), 'base64url') : (value as Uint8Array)),
        )
        expect(new Set(versions), `${table}.${column}`).to.deep.equal(new Set(kept.length > 0 ? [2] : []))
      }
      for await (const { sealed } of reseal(database, sealing, version, SEALED_COLUMNS))
        expect(sealed).to.equal(0)
    } finally {
      await close()
    }
  })

  const THINGS = {
    table: 'things',
    column: 'secret',
    purpose: 'test',
    key: [['id', 'text']],
  } as const
  const openThings = async () => {
    const database = await openTestDatabase()
    const masterKey = randomBytes(32)
    await database.knex.raw('CREATE TABLE things (id text PRIMARY KEY, secret bytea)')
    const before = await openSealing(database, masterKey)
    before.close()
    const version = await addDataKey(database, masterKey)
    await database.knex('data_keys').update({ used_from: 0 })
    const after = await openSealing(database, masterKey)
    after.close()
    const seal = (id: string) =>
      Buffer.from(before.sealing.seal('test', { ...place, row: id }, Buffer.from(id)))
    const versions = async () =>
      ((await database.knex('things').orderBy('id').pluck('secret')) as Buffer[]).map(sealedVersion)
    return { database, before: before.sealing, after: after.sealing, version, seal, versions }
  }
  const QUIET = { settleMs: 0, onProgress: () => {}, onSettle: () => {} }

  it('waits for what servers had sealed and not committed yet, until nothing comes any more', async () => {
    const { database, after, version, seal, versions } = await openThings()
    await database.knex('things').insert({ id: 'one', secret: seal('one') })
    const late = ['two', 'three']
    let waits = 0
    const settle = {
      ...QUIET,
      settleMs: 300,
      onSettle() {
        waits++
        const id = late.shift()
        if (id)
          void database
            .knex('things')
            .insert({ id, secret: seal(id) })
            .then(() => {})
      },
    }
    expect(await resealAll(database, after, version, [THINGS], settle)).to.deep.equal([])
    expect(await versions()).to.deep.equal([2, 2, 2])
    expect(waits).to.be.greaterThan(2)
    await database.close()
  })

  it('leaves what does not open as it is, names it, and goes on with the rest', async () => {
    const { database, after, version, seal, versions } = await openThings()
    await database.knex('things').insert([
      { id: 'a', secret: seal('another') },
      { id: 'b', secret: seal('b') },
    ])
    expect(await resealAll(database, after, version, [THINGS], QUIET)).to.deep.equal(['things.secret a'])
    expect(await versions()).to.deep.equal([1, 2])
    await database.close()
  })

  it('refuses to begin with what seals under another key, which would never end', async () => {
    const { database, before, version, seal } = await openThings()
    await database.knex('things').insert({ id: 'a', secret: seal('a') })
    const refused = await rejection(resealAll(database, before, version, [THINGS], QUIET))
    expect(refused.message).to.include('Key 1 seals, not 2')
    await database.close()
  })

  it('knows of every column that is sealed', async () => {
    const database = await openTestDatabase()
    const { rows } = await database.query<{ table: string; column: string }>(BYTES, [])
    await database.close()
    const known = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`)
    const missing = rows
      .filter(({ table }) => !OTHERWISE.includes(table))
      .map(({ table, column }) => `${table}.${column}`)
    expect(missing.filter((column) => !known.includes(column))).to.deep.equal([])
  })
})
