/** Telling the embedded database whether it is to take writes: again where it could not be told. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { createEmbeddedWrites } from '../../src/store/watch/embedded-writes.ts'
import { eventually } from '../support/eventually.ts'

describe('the embedded database, told whether to take writes,', () => {
  /** One that can't be told so many times. */
  const untold = (failures: number) => {
    const told: boolean[] = []
    const failed: unknown[] = []
    let left = failures
    const setReadOnly = async (isReadOnly: boolean): Promise<void> => {
      if (left-- > 0) throw new Error('not now')
      told.push(isReadOnly)
    }
    const writes = createEmbeddedWrites({ setReadOnly }, (error) => failed.push(error))
    return { writes, told, failed }
  }

  for (const isRefused of [true, false])
    it(`is told once more after a second where it could not be: ${isRefused ? 'none' : 'all'}`, async () => {
      const { writes, told, failed } = untold(1)
      writes.begin()
      writes.refuse(isRefused)
      await eventually('a failure', () => failed.length === 1)
      expect(told).to.deep.equal([])
      await eventually('that it was told', () => told.length > 0)
      expect([told, failed.length]).to.deep.equal([[isRefused], 1])
      await writes.close()
    })

  it('is told again and again, but only what was said last', async () => {
    const { writes, told, failed } = untold(2)
    writes.begin()
    writes.refuse(true)
    await eventually('a failure', () => failed.length === 1)
    writes.refuse(false)
    await eventually('another', () => failed.length === 2)
    await eventually('that it was told', () => told.length > 0)
    await pause(1500)
    expect(told).to.deep.equal([false])
    await writes.close()
  })

  it('is told nothing more once it closes, which waits for no further attempt', async () => {
    const { writes, told, failed } = untold(1)
    writes.begin()
    writes.refuse(true)
    await writes.close()
    expect(failed).to.have.length(1)
    await pause(1500)
    writes.refuse(false)
    await pause(0)
    expect(told).to.deep.equal([])
  })

  it('refuses once what may still be written was, and nothing before all is built', async () => {
    const { writes, told } = untold(0)
    let done = (): void => undefined
    const written = new Promise<void>((resolve) => {
      done = resolve
    })
    writes.refuse(true, written)
    await pause(10)
    writes.begin()
    await pause(10)
    expect(told).to.deep.equal([])
    done()
    await writes.close()
    expect(told).to.deep.equal([true])
  })
})
