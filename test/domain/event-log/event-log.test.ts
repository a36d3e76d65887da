/** The event log on real files and a real ledger: what it takes up, lets go, survives and hands out. */
import {
  appendFile,
  mkdir,
  open,
  readdir,
  readFile,
  rmdir,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { takeLogDirectory } from '../../../src/domain/event-log/directories.ts'
import { readLines } from '../../../src/domain/event-log/lines.ts'
import { EVER, indexesOf, ORGANISATION, openLog, readAll, requestAt } from '../../support/domain/event-log.ts'
import { callerOf, claiming, emptyLog, openTestLedger, type TestLedger } from '../../support/ledger.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'

const SMALL_LOG_BYTES = 2 ** 20

describe('the event log', () => {
  const directory = temporaryDirectories()
  let opened: TestLedger
  let next = 0
  before(async () => {
    opened = await openTestLedger()
  })
  after(() => opened.close())
  beforeEach(() => emptyLog(opened.database))

  const append = (count: number, organisation = ORGANISATION, data: Record<string, string> = {}) =>
    Promise.all(
      Array.from({ length: count }, () => {
        const key = `k${next++}`
        const decide = claiming(key, {
          entry: { type: 'verify', digest: 'ab'.repeat(32), data: { key, ...data } },
        })
        return opened.ledger.append(callerOf(organisation), decide)
      }),
    )
  const filesOf = async (path: string) =>
    (await readdir(path)).filter((name) => name.endsWith('.jsonl')).sort()
  const lastFile = async (path: string) => join(path, (await filesOf(path)).at(-1) ?? '')
  const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

  it('holds each entry once, as its leaf and under its own name, in the order of the ledger', async () => {
    const log = await openLog(opened, { directory: await directory() })
    await append(3)
    const { rows, gaps, watermark } = await readAll(log)
    expect([gaps, watermark]).to.deep.equal([[], null])
    expect(rows.map(({ type }) => type)).to.deep.equal(Array(3).fill(['merkle.leaf', 'verify']).flat())
    expect(indexesOf(rows)).to.deep.equal([0, 1, 2])
    const [leaf, fact] = rows
    const [stored] = await opened.database.knex('ledger_entries').orderBy('idx')
    const { leaf_hash, entry, at } = stored as { leaf_hash: Buffer; entry: string; at: number }
    expect(leaf).to.include({ auditEvent: 'verify', leafHash: leaf_hash.toString('hex'), entry, at })
    expect(fact).to.include({ index: 0, digest: 'ab'.repeat(32), keyId: 'key_1', at })
    expect(fact).not.to.have.property('entry')
    await log.close()
  })

  it('goes on where it ended, without gaps or repetitions', async () => {
    const path = await directory()
    for (const count of [2, 0, 5, 1]) {
      const log = await openLog(opened, { directory: path })
      await append(count)
      const { rows } = await readAll(log)
      expect(indexesOf(rows)).to.deep.equal(upTo(rows.length / 2))
      await log.close()
    }
    const log = await openLog(opened, { directory: path })
    expect(indexesOf((await readAll(log)).rows)).to.deep.equal(upTo(8))
    await log.close()
  })

  it('takes up again what a crash has torn off, wherever that is', async () => {
    const path = await directory()
    const log = await openLog(opened, { directory: path })
    await append(4)
    log.record(requestAt(5, 'req_1'))
    await readAll(log)
    await log.close()
    const file = await lastFile(path)
    const whole = await readFile(file)
    for (let bytes = 0; bytes < whole.length; bytes += 97) {
      await writeFile(file, whole.subarray(0, bytes))
      const again = await openLog(opened, { directory: path })
      expect(indexesOf((await readAll(again)).rows), `after ${bytes} bytes`).to.deep.equal(upTo(4))
      await again.close()
      // A crash may leave the file itself behind, or a new one in its place.
      for (const name of await filesOf(path)) await truncate(join(path, name))
    }
  })

  it('passes over what a power cut has left behind', async () => {
    const path = await directory()
    const first = await openLog(opened, { directory: path })
    await append(2)
    await readAll(first)
    await first.close()
    await appendFile(
      await lastFile(path),
      `${'\0'.repeat(512)}\n{"at":1,"organisation":"org_1","index":2,"ty`,
    )
    await append(1)
    const again = await openLog(opened, { directory: path })
    expect(indexesOf((await readAll(again)).rows)).to.deep.equal([0, 1, 2])
    await again.close()
  })

  it('keeps below its ceiling, and says what has rolled off', async () => {
    const path = await directory()
    const log = await openLog(opened, { directory: path, maxBytes: SMALL_LOG_BYTES })
    for (let round = 1; round <= 6; round++) {
      for (let i = 0; i < 1_000; i++) log.record(requestAt(round * 1_000 + i, `req_${round}_${i}`))
      const { rows, watermark } = await readAll(log)
      const sizes = await Promise.all(
        (await filesOf(path)).map(async (name) => (await stat(join(path, name))).size),
      )
      expect(sizes.reduce((a, b) => a + b)).to.be.at.most(SMALL_LOG_BYTES)
      // What is there is everything after the watermark.
      const first = watermark === null ? 1_000 : watermark + 1
      expect(rows.map(({ at }) => at)).to.deep.equal(
        upTo(round * 1_000 + 1_000 - first).map((place) => first + place),
      )
    }
    const { watermark } = await readAll(log)
    expect(watermark).to.be.a('number').greaterThan(1_000)
    const at = watermark ?? 0
    const gapsOf = async (since: number) => (await readAll(log, ORGANISATION, { since, until: at + 10 })).gaps
    expect(await gapsOf(at)).to.deep.equal(['ROLLED_OFF'])
    expect(await gapsOf(at + 1)).to.deep.equal([])
    await log.close()
    const again = await openLog(opened, { directory: path, maxBytes: SMALL_LOG_BYTES })
    expect((await readAll(again)).watermark).to.equal(at)
    await again.close()
  })

  it('goes on when no segment could be begun for a while, and repeats nothing', async () => {
    const path = await directory()
    const log = await openLog(opened, { directory: path, maxBytes: SMALL_LOG_BYTES })
    const filling = { filling: 'x'.repeat(1_000) }
    // What is in the way stands for a disk without room.
    const inTheWay = join(path, '0000000002.jsonl')
    await mkdir(inTheWay)
    log.record(requestAt(1, 'req_before'))
    expect((await readAll(log)).rows).to.have.length(1)
    for (let i = 0; i < 1_000; i++) log.record(requestAt(1_000 + i, `req_${i}`))
    expect((await readAll(log)).gaps).to.deep.equal(['ROWS_LOST'])
    await rmdir(inTheWay)
    await append(100, ORGANISATION, filling)
    log.record(requestAt(9_000, 'req_after'))
    const { rows, gaps } = await readAll(log)
    expect(gaps).to.deep.equal(['ROWS_LOST'])
    expect(indexesOf(rows)).to.deep.equal(upTo(100))
    const requests = rows.flatMap((row) => (row.type === 'request' ? [row.requestId] : []))
    expect([requests[0], requests.at(-1)]).to.deep.equal(['req_before', 'req_after'])
    expect(new Set(requests).size).to.equal(requests.length)
    await log.close()
    const again = await openLog(opened, { directory: path, maxBytes: SMALL_LOG_BYTES })
    expect((await readAll(again)).rows).to.deep.equal(rows)
    await again.close()
  })

  it('takes up entries that rolled off from no other place again', async () => {
    const path = await directory()
    const log = await openLog(opened, { directory: path, maxBytes: SMALL_LOG_BYTES })
    const filling = { filling: 'x'.repeat(2_000) }
    for (let round = 0; round < 5; round++) {
      await append(200, ORGANISATION, filling)
      await readAll(log)
    }
    await log.close()
    const again = await openLog(opened, { directory: path, maxBytes: SMALL_LOG_BYTES })
    const indexes = indexesOf((await readAll(again)).rows)
    expect(indexes.at(-1)).to.equal(999)
    expect(indexes[0]).to.be.greaterThan(0)
    expect(indexes).to.deep.equal(indexes.map((_, place) => (indexes[0] ?? 0) + place))
    await again.close()
  })

  it('begins with the entries that surely have room, and says so', async () => {
    await append(1_100)
    const log = await openLog(opened, { directory: await directory(), maxBytes: SMALL_LOG_BYTES })
    const { rows, watermark, gaps } = await readAll(log)
    expect(indexesOf(rows)).to.deep.equal(upTo(1_024).map((place) => place + 76))
    const before: { at: number } = await opened.database.knex('ledger_entries').where({ idx: 75 }).first()
    expect([watermark, gaps]).to.deep.equal([before.at, ['ROLLED_OFF']])
    await log.close()
  })

  it('hands out rows of one organisation and one window only, both ends as they are asked', async () => {
    const log = await openLog(opened, { directory: await directory() })
    await append(2)
    await append(2, 'org_10')
    await append(1, 'log')
    for (const at of [10, 20, 30]) log.record(requestAt(at, `req_${at}`))
    log.record(requestAt(20, 'req_other', 'org_'))
    expect(indexesOf((await readAll(log)).rows)).to.deep.equal([0, 1])
    expect(indexesOf((await readAll(log, 'org_10')).rows)).to.deep.equal([2, 3])
    expect((await readAll(log, 'log')).rows).to.deep.equal([])
    const requests = async (since: number, until: number) =>
      (await readAll(log, ORGANISATION, { since, until })).rows.map(({ at }) => at)
    expect(await requests(10, 30)).to.deep.equal([10, 20])
    expect(await requests(11, 31)).to.deep.equal([20, 30])
    expect(await requests(20, 20)).to.deep.equal([])
    await log.close()
  })

  it('does not grow under a reader, and keeps for it what rolls off meanwhile', async () => {
    const log = await openLog(opened, { directory: await directory(), maxBytes: SMALL_LOG_BYTES })
    for (let i = 0; i < 1_000; i++) log.record(requestAt(i, `req_${i}`))
    const reading = await log.read(ORGANISATION, EVER)
    for (let round = 1; round < 8; round++) {
      for (let i = 0; i < 1_000; i++) log.record(requestAt(round * 1_000 + i, `req_${round}_${i}`))
      await readAll(log, 'org_nobody')
    }
    expect((await readAll(log)).watermark).to.be.greaterThan(1_000)
    let rows = 0
    for await (const some of reading.rows()) rows += some.length
    expect(rows).to.equal(1_000)
    await log.close()
  })

  it('lets go of its files when a reader stops early', async () => {
    const log = await openLog(opened, { directory: await directory() })
    log.record(requestAt(1, 'req_1'))
    const openFiles = async () => (await readdir('/proc/self/fd')).length
    const before = await openFiles()
    for (let i = 0; i < 20; i++) {
      const reading = await log.read(ORGANISATION, EVER)
      const rows = reading.rows()
      await rows.next()
      await rows.return(undefined)
      await reading.close()
      await (await log.read(ORGANISATION, EVER)).close()
    }
    // Connections of the database may come meanwhile; forty readings would have left as many files.
    expect(await openFiles()).to.be.at.most(before + 10)
    await log.close()
  })

  it('counts what comes faster than it can be kept, and says that rows are missing', async () => {
    let lost = 0
    const log = await openLog(opened, {
      directory: await directory(),
      onLost: (rows) => {
        lost += rows
      },
    })
    // All at once, so that nothing is written meanwhile.
    const count = 40_000
    for (let i = 0; i < count; i++) log.record(requestAt(1_000 + i, `req_${i}`))
    expect(lost).to.be.greaterThan(0)
    const { rows, gaps } = await readAll(log)
    expect([rows.length, gaps]).to.deep.equal([count - lost, ['ROWS_LOST']])
    expect((await readAll(log, ORGANISATION, { since: 0, until: 1_000 })).gaps).to.deep.equal([])
    await log.close()
  })

  it('counts what the disk has not taken yet among what waits', async () => {
    let lost = 0
    const onLost = (rows: number) => {
      lost += rows
    }
    const head = await opened.ledger.head()
    // Known at once, so that a reading begins to write before anything can have been written.
    const ledger = { ...opened.ledger, head: async () => head }
    const log = await openLog({ ...opened, ledger }, { directory: await directory(), onLost })
    const count = 25_000
    const recordMany = (from: number) => {
      for (let i = from; i < from + count; i++) log.record(requestAt(i, `req_${i}`))
    }
    recordMany(0)
    expect(lost).to.equal(0)
    const reading = readAll(log)
    for (let turn = 0; turn < 100; turn++) await Promise.resolve()
    recordMany(count)
    expect(lost).to.be.greaterThan(0)
    await reading
    const before = lost
    recordMany(2 * count)
    expect(lost - before).to.be.lessThan(count)
    expect((await readAll(log)).rows).to.have.length(3 * count - lost)
    await log.close()
  })

  it('puts the log of another ledger aside', async () => {
    const path = join(await directory(), '1')
    const log = await openLog(opened, { directory: path })
    await append(3)
    await readAll(log)
    await log.close()
    await emptyLog(opened.database)
    await append(5)
    const warnings: string[] = []
    const logger = { warn: (_: object, message: string) => void warnings.push(message) }
    const again = await openLog(opened, { directory: path, logger })
    expect(indexesOf((await readAll(again)).rows)).to.deep.equal(upTo(5))
    expect(warnings.join()).to.contain('another ledger')
    expect((await readdir(join(path, '..'))).length).to.equal(2)
    await again.close()
  })

  it('gives each server of a shared directory a log of its own', async () => {
    const path = await directory()
    const warned: object[] = []
    const logger = { warn: (details: object) => void warned.push(details) }
    const [first, second] = [takeLogDirectory(path, logger), takeLogDirectory(path, logger)]
    expect(first.path).not.to.equal(second.path)
    first.release()
    const third = takeLogDirectory(path, logger)
    expect(third.path).to.equal(first.path)
    second.release()
    third.release()
    expect(warned).to.deep.equal([])
    const temporary = takeLogDirectory(undefined, logger)
    expect((await stat(temporary.path)).isDirectory()).to.equal(true)
    temporary.release()
    expect(await stat(temporary.path).catch(() => 'gone')).to.equal('gone')
  })

  it('says of a log that another host holds, or held when it was killed, that its rows are missing here', async () => {
    const path = await directory()
    takeLogDirectory(path, { warn: () => undefined }).release()
    const [kept, lock] = [join(path, 'events/1'), join(path, 'events/1.lock')]
    await writeFile(lock, JSON.stringify({ pid: 1, started: 'once', host: '0e4f2c1d', token: 'killed' }))
    const warned: (readonly [object, string])[] = []
    const taken = takeLogDirectory(path, { warn: (...said) => void warned.push(said) })
    expect(taken.path).to.equal(join(path, 'events/2'))
    expect(warned.map(([details]) => details)).to.deep.equal([{ path: kept, host: '0e4f2c1d', lock }])
    expect(warned[0]?.[1]).to.contain('missing from exports')
    taken.release()
  })

  it('reads lines of any length whole', async () => {
    const file = join(await directory(), 'lines')
    const texts = [1, 0, 131_071, 131_072, 131_073, 400_000, 3].map((length) => 'x'.repeat(length))
    await writeFile(file, `${texts.join('\n')}\nrest`)
    const handle = await open(file)
    const found: number[] = []
    for await (const lines of readLines(handle, (await handle.stat()).size))
      found.push(...lines.map(({ length }) => length))
    await handle.close()
    expect(found).to.deep.equal(texts.map(({ length }) => length))
  })
})
