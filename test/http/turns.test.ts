/** Whose turn a request takes while it waits for a place. */
import { expect } from 'chai'
import { Type } from 'typebox'
import { route } from '../../src/http/route.ts'
import { eventually } from '../support/eventually.ts'
import { startHttpKit } from '../support/http-kit.ts'

const MIB = 1024 ** 2
/** One works, and one of each owner waits. */
const LIMITS = {
  inWork: 1,
  inWorkShared: 1,
  waitingEach: 1,
  waitingBytesEach: MIB,
  waitingBytes: MIB,
  waitMs: 60_000,
}

describe('requests that wait for a place', () => {
  it('wait with those of their organisation, or of their address where anybody can have their credential', async () => {
    const held: (() => void)[] = []
    let isHeld = true
    const work = route({
      name: 'work',
      method: 'GET',
      path: '/v1/work',
      auth: 'optional',
      tag: 'Test',
      summary: 'A test',
      response: { 200: Type.Object({}) },
      errors: [],
      handler: async () => {
        if (isHeld) await new Promise<void>((resolve) => held.push(resolve))
        return {}
      },
    })
    const kit = await startHttpKit([work], { admission: LIMITS, config: { trustProxy: ['127.0.0.1/32'] } })
    try {
      const ask = (key: string | undefined, address: string) =>
        kit.request('GET', '/v1/work', { key, headers: { 'x-forwarded-for': address } })
      const answers = [ask('k-green', '192.0.2.9')]
      await eventually('the place is taken', () => held.length === 1)
      const waiting: [key: string | undefined, address: string][] = [
        ['k-red', '192.0.2.1'],
        ['a-red', '192.0.2.1'],
        ['a-red', '192.0.2.2'],
        [undefined, '192.0.2.3'],
      ]
      for (const [i, [key, address]] of waiting.entries()) {
        answers.push(ask(key, address))
        const line = `http_queue_depth ${i + 1}\n`
        await eventually(`${i + 1} wait`, async () => (await kit.metrics.text()).includes(line))
      }
      // The queues of the organisation and of the addresses are full.
      for (const [key, address] of [
        ['k-red', '192.0.2.4'],
        ['a-blue', '192.0.2.1'],
        [undefined, '192.0.2.2'],
        ['a-red', '192.0.2.3'],
      ] as const)
        expect((await ask(key, address)).body, `${key} ${address}`).to.include({ reason: 'TOO_MANY_WAITING' })
      isHeld = false
      for (const end of held) end()
      expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal(Array(5).fill(200))
    } finally {
      isHeld = false
      for (const end of held) end()
      await kit.close()
    }
  })
})
