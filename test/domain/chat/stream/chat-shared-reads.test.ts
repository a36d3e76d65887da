/** Reads of the same page at the same moment are one read, and none is older than its question. */
import { expect } from 'chai'
import { createSharedReads } from '../../../../src/domain/chat/shared-reads.ts'
import { sharedApp } from '../../../support/app.ts'
import { idsOf, listed, posted } from '../../../support/chat/chat.ts'
import { someName } from '../../../support/domain/envelopes.ts'
import { rejection } from '../../../support/rejection.ts'

describe('shared reads', () => {
  it('are two for any number that come while one runs, and never join one that has begun', async () => {
    const shared = createSharedReads<number>()
    const ends: (() => void)[] = []
    let begun = 0
    const read = () => {
      const number = ++begun
      return new Promise<number>((resolve) => ends.push(() => resolve(number)))
    }
    const first = shared('a', read)
    const late = [shared('a', read), shared('a', read), shared('a', read)]
    const other = shared('b', read)
    expect(begun).to.equal(2)
    ends[0]?.()
    expect(await first).to.equal(1)
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun).to.equal(3)
    const later = shared('a', read)
    ends[2]?.()
    expect(await Promise.all(late)).to.deep.equal([3, 3, 3])
    await new Promise((resolve) => setImmediate(resolve))
    ends[3]?.()
    expect(await later).to.equal(4)
    ends[1]?.()
    expect(await other).to.equal(2)
  })

  it('that fail fail for those who asked only', async () => {
    const shared = createSharedReads<number>()
    const failing = shared('a', () => Promise.reject(new Error('away')))
    const next = shared('a', () => Promise.resolve(7))
    expect((await rejection(failing)).message).to.equal('away')
    expect(await next).to.equal(7)
    expect(await shared('a', () => Promise.resolve(8))).to.equal(8)
  })

  it('show everybody what was posted before they asked', async () => {
    const app = await sharedApp()
    const agent_name = someName()
    const post = async () => {
      const { id } = await posted(app, { agent_name })
      const { messages } = await listed(app, { agent: agent_name, limit: 100 })
      return idsOf(messages).includes(id)
    }
    const seen = await Promise.all(Array.from({ length: 40 }, post))
    expect(seen.every(Boolean)).to.equal(true)
  })
})
