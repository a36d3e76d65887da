import { constants } from 'node:fs'
import { appendFile, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { journalStorage, recoverJournal } from '../../src/terminal/storage/journal.ts'
import type { JournalRecord } from '../../src/terminal/storage/records.ts'
import { memoryStorage, type OpenStorage } from '../../src/terminal/storage/storage.ts'
import { terminals } from '../support/domain/terminals.ts'
import { startProgram } from '../support/programs.ts'
import { rejection } from '../support/rejection.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

const HOLDER = fileURLToPath(new URL('./programs/hold-journal.ts', import.meta.url))

const synced = (transactionId: string): JournalRecord => ({ kind: 'synced', transactionId })
const nothing = () => {}

/** Number of frames in a journal file. */
const framesIn = (bytes: Buffer): number => bytes.toString('latin1').split('AJF1').length - 1

/** Flips one bit of the first place where the text stands. */
const damage = (bytes: Buffer, text: string): void => {
  const at = bytes.indexOf(text)
  bytes[at] = (bytes[at] ?? 0) ^ 1
}

describe('terminal journal', () => {
  const directory = temporaryDirectories()
  const open = terminals()

  const written = async (folder: string, use: (storage: OpenStorage) => Promise<void>): Promise<Buffer> => {
    const storage = await journalStorage(folder).open()
    await use(storage)
    await storage.close()
    return readFile(join(folder, 'journal'))
  }
  const recordsOf = async (folder: string): Promise<readonly JournalRecord[]> => {
    const storage = await journalStorage(folder).open()
    await storage.close()
    return storage.contents.records
  }

  it('keeps records in order, readable by its owner only', async () => {
    const folder = join(await directory(), 'a/b')
    await written(folder, async (storage) => {
      for (const id of ['1', '2', '3']) await storage.append([synced(id)], nothing)
    })
    expect(await recordsOf(folder)).to.deep.equal([synced('1'), synced('2'), synced('3')])
    expect((await stat(join(folder, 'journal'))).mode & 0o777).to.equal(0o600)
    expect((await stat(folder)).mode & 0o777).to.equal(0o700)
  })

  it('is opened so that a write returns when the disk has it', async function () {
    if (process.platform !== 'linux') this.skip()
    const folder = await directory()
    const flagsOf = async (): Promise<number> => {
      for (const fd of await readdir('/proc/self/fd')) {
        if ((await readlink(`/proc/self/fd/${fd}`).catch(() => '')) !== join(folder, 'journal')) continue
        const info = await readFile(`/proc/self/fdinfo/${fd}`, 'utf8')
        return Number.parseInt(/flags:\s*(\d+)/.exec(info)?.[1] ?? '', 8)
      }
      throw new Error('The journal is not open.')
    }
    await written(folder, async (storage) => {
      expect((await flagsOf()) & constants.O_DSYNC).to.equal(constants.O_DSYNC)
      await storage.rewrite(() => ({ records: [] }))
      expect((await flagsOf()) & constants.O_DSYNC).to.equal(constants.O_DSYNC)
    })
  })

  it('lets records that wait together share one write', async () => {
    const folder = await directory()
    const applied: number[] = []
    const bytes = await written(folder, async (storage) => {
      await Promise.all(
        Array.from({ length: 200 }, (_, i) => storage.append([synced(String(i))], () => applied.push(i))),
      )
    })
    expect(applied).to.deep.equal(Array.from({ length: 200 }, (_, i) => i))
    // The one that names the terminal, the first append, and all that came while it was written.
    expect(framesIn(bytes)).to.equal(3)
    expect(await recordsOf(folder)).to.have.length(200)
  })

  it('records nothing more once memory could not take what is recorded, and is read in full after a restart', async () => {
    const folder = await directory()
    const applied: string[] = []
    await written(folder, async (storage) => {
      await Promise.all([
        storage.append([synced('1')], () => applied.push('1')),
        storage.append([synced('2')], () => {
          throw new RangeError('out of memory')
        }),
        storage.append([synced('3')], () => applied.push('3')),
      ])
      expect(applied).to.deep.equal(['1', '3'])
      for (const refused of [
        storage.append([synced('4')], () => applied.push('4')),
        storage.rewrite(() => ({ records: [] })),
      ])
        expect(await rejection(refused)).to.include({
          code: 'storage_failed',
          message: 'The terminal could not record: out of memory',
        })
      expect(applied).to.deep.equal(['1', '3'])
    })
    // Closing gave the lock back.
    expect(await recordsOf(folder)).to.deep.equal(['1', '2', '3'].map(synced))
  })

  it('is kept in memory by the same rule', async () => {
    const kept = memoryStorage()
    const storage = await kept.open()
    await storage.append([synced('1')], () => {
      throw new RangeError('out of memory')
    })
    for (const refused of [storage.append([synced('2')], nothing), storage.rewrite(() => ({ records: [] }))])
      expect(await rejection(refused)).to.include({
        code: 'storage_failed',
        message: 'The terminal could not record: out of memory',
      })
    await storage.close()
    const again = await kept.open()
    expect(again.contents.records).to.deep.equal([synced('1')])
    await again.append([synced('2')], nothing)
  })

  it('drops a torn end and goes on behind what is whole', async () => {
    const folder = await directory()
    await written(folder, async (storage) => {
      await storage.append([synced('1')], nothing)
      await storage.append([synced('2')], nothing)
    })
    const file = join(folder, 'journal')
    const bytes = await readFile(file)
    await writeFile(file, bytes.subarray(0, -3))
    await written(folder, async (storage) => {
      expect(storage.contents.records).to.deep.equal([synced('1')])
      expect((await stat(file)).size).to.be.lessThan(bytes.length - 3)
      await storage.append([synced('3')], nothing)
    })
    expect(await recordsOf(folder)).to.deep.equal([synced('1'), synced('3')])
  })

  it('stops at damage, says what to do, and changes nothing', async () => {
    const folder = await directory()
    await written(folder, async (storage) => {
      for (const id of ['1', '2', '3']) await storage.append([synced(id)], nothing)
    })
    const file = join(folder, 'journal')
    const bytes = await readFile(file)
    damage(bytes, '"1"')
    await writeFile(file, bytes)
    const error = await rejection(journalStorage(folder).open())
    expect(error).to.include({ code: 'journal_damaged' })
    expect(error.message).to.include(`npx assay terminal recover --state ${folder}`)
    expect(await readFile(file)).to.deep.equal(bytes)
    // The lock was given back.
    expect(await rejection(journalStorage(folder).open())).to.include({ code: 'journal_damaged' })
  })

  it('stops where what a rewrite made is cut off, and says what is lost once it is recovered', async () => {
    const folder = await directory()
    const bytes = await written(folder, async (storage) => {
      await storage.append([{ kind: 'terminal', merchantId: 'mer_1' }], nothing)
      await storage.rewrite(() => ({
        nullifiers: new Uint8Array(1000).fill(7),
        records: [{ kind: 'terminal', merchantId: 'mer_1' }, synced('1')],
      }))
    })
    const file = join(folder, 'journal')
    for (const cut of [bytes.subarray(0, -3), bytes.subarray(0, 500)]) {
      await writeFile(file, cut)
      expect(await rejection(journalStorage(folder).open())).to.include({ code: 'journal_damaged' })
      expect(await readFile(file)).to.deep.equal(cut)
    }
    expect(await recoverJournal(folder)).to.include({ frames: 1, records: 1, nullifiersLost: true })
    expect(await recordsOf(folder)).to.deep.equal([{ kind: 'terminal', merchantId: 'mer_1' }])
  })

  it('recovers every whole frame and keeps the damaged file', async () => {
    const folder = await directory()
    await written(folder, async (storage) => {
      for (const id of ['1', '2', '3']) await storage.append([synced(id)], nothing)
    })
    const file = join(folder, 'journal')
    const damaged = await readFile(file)
    damage(damaged, '"2"')
    await writeFile(file, damaged)
    const found = await recoverJournal(folder)
    expect(found).to.include({ frames: 3, records: 2, nullifiersLost: false })
    expect(await readFile(found?.damagedFile ?? '')).to.deep.equal(damaged)
    expect(await recordsOf(folder)).to.deep.equal([synced('1'), synced('3')])
    expect(await recoverJournal(folder)).to.equal(undefined)
  })

  it('keeps void, once recovered, what the application knows as void', async () => {
    const folder = await directory()
    const before = await open({ storage: journalStorage(folder) })
    const { transactionId } = await before.pay({ cardToken: 'tok_1', amount: 1 })
    expect(await before.void(transactionId)).to.equal(true)
    await before.pay({ cardToken: 'tok_2', amount: 2 })
    const waiting = before.pending()
    await before.close()
    const file = join(folder, 'journal')
    const bytes = await readFile(file)
    damage(bytes, '"void"')
    await writeFile(file, bytes)
    const found = await recoverJournal(folder, [transactionId, 'unknown'])
    expect(found?.pending).to.deep.equal(waiting.transactions)
    const after = await open({ storage: journalStorage(folder) })
    expect(after.pending()).to.deep.equal(waiting)
    expect((await after.pay({ cardToken: 'tok_1', amount: 1 })).error).to.match(/^DOUBLE_SPEND: /)
  })

  it('is replaced atomically, and later appends follow', async () => {
    const folder = await directory()
    const nullifiers = Uint8Array.of(1, 2, 3)
    await written(folder, async (storage) => {
      const done = [storage.append([synced('before')], nothing)]
      done.push(storage.rewrite(() => ({ nullifiers, records: [synced('kept')] })))
      done.push(storage.append([synced('after')], nothing))
      await Promise.all(done)
    })
    const storage = await journalStorage(folder).open()
    await storage.close()
    expect(
      storage.contents.records.map((record) => 'transactionId' in record && record.transactionId),
    ).to.deep.equal(['kept', 'after'])
    expect(Uint8Array.from(storage.contents.nullifiers ?? [])).to.deep.equal(nullifiers)
    expect((await readdir(folder)).sort()).to.deep.equal(['journal'])
  })

  it('captures for a rewrite exactly what was applied', async () => {
    const folder = await directory()
    const known: JournalRecord[] = []
    await written(folder, async (storage) => {
      const jobs: Promise<void>[] = []
      for (let i = 0; i < 50; i++) {
        const record = synced(String(i))
        jobs.push(storage.append([record], () => known.push(record)))
        if (i % 7 === 0) jobs.push(storage.rewrite(() => ({ records: [...known] })))
        if (i % 5 === 0) await Promise.race(jobs)
      }
      await Promise.all(jobs)
    })
    expect(await recordsOf(folder)).to.deep.equal(known)
    expect(known).to.have.length(50)
  })

  it('ignores a rewrite that a crash cut short', async () => {
    const folder = await directory()
    await written(folder, (storage) => storage.append([synced('1')], nothing))
    await appendFile(join(folder, 'journal.new'), 'half')
    expect(await recordsOf(folder)).to.deep.equal([synced('1')])
    expect(await readdir(folder)).to.deep.equal(['journal'])
  })

  it('admits one process, and another after that one was killed', async () => {
    const folder = await directory()
    const first = startProgram(HOLDER, [folder])
    await first.line(/^open$/)
    const second = startProgram(HOLDER, [folder])
    expect(await second.line(/./)).to.equal('storage_locked')
    expect(await rejection(journalStorage(folder).open())).to.include({ code: 'storage_locked' })
    await Promise.all([first.kill(), second.ended()])
    await written(folder, (storage) => storage.append([synced('1')], nothing))
    expect(await readdir(folder)).to.deep.equal(['journal'])
  })

  it('names its process in the lock, and not the machine, which a container calls something else each time', async () => {
    const folder = await directory()
    const first = await journalStorage(folder).open()
    expect(JSON.parse(await readFile(join(folder, 'lock'), 'utf8'))).to.include({
      pid: process.pid,
      host: '',
    })
    await first.close()
  })

  it('admits one opener in a process', async () => {
    const folder = await directory()
    const storage = await journalStorage(folder).open()
    expect(await rejection(journalStorage(folder).open())).to.include({ code: 'storage_locked' })
    await storage.close()
    expect(await recordsOf(folder)).to.deep.equal([])
  })
})
