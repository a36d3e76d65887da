import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { createHighWater, HIGH_WATER_FILE } from '../../src/ledger/checkpoints/high-water.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

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
