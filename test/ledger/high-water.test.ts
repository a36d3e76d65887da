import { rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { createHighWater, HIGH_WATER_FILE } from '../../src/ledger/checkpoints/high-water.ts'
import { rejection } from '../support/rejection.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts'

describe('high-water marks', () => {
  const directories = temporaryDirectories()
  const root = new Uint8Array(32).fill(3)

  it('never sink, in whatever order they are raised', async () => {
    const mark = createHighWater(await directories())
    for (let round = 1; round < 30; round++) {
      const sizes = [3, 1, 2].map((more) => 3 * round + more)
      await Promise.all(sizes.map((size) => mark.raise({ size, root })))
      expect((await mark.read())?.size).to.equal(3 * round + 3)
    }
  })

  it('ask to come back while their disk is full, and are raised when it has room again', async function () {
    const directory = await directories()
    if (!mountSmallDisk(directory, '64k')) return this.skip()
    try {
      const filler = join(directory, 'filler')
      expect(() => writeFileSync(filler, Buffer.alloc(128 * 1024))).to.throw('ENOSPC')
      const mark = createHighWater(directory)
      expect(await rejection(mark.raise({ size: 1, root }))).to.include({ status: 503, retryAfter: 10 })
      rmSync(filler)
      await mark.raise({ size: 1, root })
      expect((await mark.read())?.size).to.equal(1)
    } finally {
      unmountSmallDisk(directory)
    }
  })

  it('can be raised by several processes at once, which leave whole files and no drafts', async () => {
    const directory = await directories()
    const processes = Array.from({ length: 4 }, () => createHighWater(directory))
    for (let round = 1; round < 30; round++) {
      await Promise.all(processes.map((mark, index) => mark.raise({ size: 4 * round + index, root })))
      expect((await processes[0]?.read())?.size).to.be.at.least(4 * round)
    }
    expect(await readdir(directory)).to.deep.equal([HIGH_WATER_FILE])
  })
})
