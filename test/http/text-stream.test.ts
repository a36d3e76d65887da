/** Text on its way to a client: all of it, no faster than it is read, and given up when nobody reads. */
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { endInTime, streamOf } from '../../src/http/text-stream.ts'

describe('text that is streamed', () => {
  it('gives up when nobody reads, lets go of its source, and made no more than its buffers hold', async () => {
    let [made, ended] = [0, false]
    async function* endless(): AsyncGenerator<string> {
      try {
        for (; ; made++) yield 'x'.repeat(64 * 1024)
      } finally {
        ended = true
      }
    }
    const stream = streamOf(endless(), () => undefined, 1)
    const closed = once(stream, 'close').catch((error: Error) => error.message)
    stream.read()
    // Timers of a stream that nobody reads keep no process alive.
    const awake = setInterval(() => undefined, 1_000)
    expect(await closed).to.equal('The client does not read.')
    clearInterval(awake)
    expect([ended, stream.destroyed]).to.deep.equal([true, true])
    expect(made).to.be.lessThan(4)
  })

  it('ends after its longest duration, however steadily its client reads, and not when it ended before', async () => {
    let ended = false
    async function* endless(): AsyncGenerator<string> {
      try {
        for (;;) yield 'x'.repeat(1024)
      } finally {
        ended = true
      }
    }
    const stream = endInTime(
      streamOf(endless(), () => undefined),
      100,
    )
    const read = async () => {
      for await (const _ of stream) await turn()
    }
    const message = await read().catch((error: Error) => error.message)
    expect([message, ended]).to.deep.equal(['The export takes too long.', true])
    async function* short(): AsyncGenerator<string> {
      yield 'all'
    }
    const whole = endInTime(
      streamOf(short(), () => undefined),
      2 ** 31 - 1,
    )
    expect((await buffer(whole)).toString()).to.equal('all')
  })

  it('hands out and counts every byte, in pieces of any size', async () => {
    const parts = ['', 'é'.repeat(100_000), 'x', '€'.repeat(65_536), '']
    async function* some(): AsyncGenerator<string> {
      yield* parts
    }
    let counted = 0
    const stream = streamOf(some(), (bytes) => {
      counted += bytes
    })
    const whole = await buffer(stream)
    expect(whole.equals(Buffer.from(parts.join('')))).to.equal(true)
    expect(counted).to.equal(whole.length)
  })
})
