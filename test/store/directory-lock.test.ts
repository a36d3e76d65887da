import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { DirectoryLocked, lockDirectory } from '../../src/store/directory-lock.ts'
import { holdersOfEveryOrder } from '../support/interleavings.ts'
import { startProgram } from '../support/programs.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'

/** Of a process whose id lives on as another. */
const DEAD = { pid: process.pid, started: 'another moment', host: hostname(), token: 'dead' }
const HOLDER = join(import.meta.dirname, '../terminal/programs/hold-journal.ts')

describe('lock of a directory', () => {
  const temporary = temporaryDirectories()

  it('goes to one of three that find a dead owner, in whatever order they come', async () => {
    const file = join(await temporary(), 'lock')
    const holders = holdersOfEveryOrder(
      () => writeFileSync(file, JSON.stringify(DEAD)),
      () => lockDirectory(file),
    )
    expect(holders).to.have.length.above(20)
    expect(new Set(holders)).to.deep.equal(new Set([1]))
    expect(existsSync(file)).to.equal(false)
  })

  it('is held by a living process, and by no dead one, where nobody knows when it started', async () => {
    const file = join(await temporary(), 'lock')
    const program = startProgram(HOLDER, [await temporary()])
    await program.line(/^open$/)
    writeFileSync(file, JSON.stringify({ ...DEAD, pid: program.child.pid, started: '' }))
    try {
      expect(() => lockDirectory(file)).to.throw(DirectoryLocked, `process ${program.child.pid} (`)
    } finally {
      await program.kill()
    }
    lockDirectory(file)()
    expect(existsSync(file)).to.equal(false)
  })

  it('can be asked about on other hosts only where the file never leaves its machine', async () => {
    const file = join(await temporary(), 'lock')
    writeFileSync(file, JSON.stringify({ ...DEAD, host: 'elsewhere' }))
    expect(() => lockDirectory(file)).to.throw(DirectoryLocked, 'on elsewhere')
    const unlock = lockDirectory(file, 'elsewhere')
    expect(JSON.parse(readFileSync(file, 'utf8'))).to.include({ pid: process.pid, host: 'elsewhere' })
    unlock()
  })

  it('leaves nothing on a full disk, and can be taken when that has room again', async function () {
    const directory = await temporary()
    if (!mountSmallDisk(directory, '64k')) return this.skip()
    try {
      const filler = join(directory, 'filler')
      expect(() => writeFileSync(filler, Buffer.alloc(128 * 1024))).to.throw('ENOSPC')
      const file = join(directory, 'lock')
      expect(() => lockDirectory(file)).to.throw('ENOSPC')
      expect(readdirSync(directory)).to.deep.equal(['filler'])
      rmSync(filler)
      lockDirectory(file)()
      expect(readdirSync(directory)).to.deep.equal([])
    } finally {
      unmountSmallDisk(directory)
    }
  })
})
