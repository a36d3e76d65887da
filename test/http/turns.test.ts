/** Whose turn a request takes while it waits for a place. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { Type } from 'typebox'
import { NOBODY_GIVES_WAY } from '../../src/circuits/threads/give-way.ts'
import { createAdmission } from '../../src/http/admission.ts'
import { route } from '../../src/http/route.ts'
import { eventually } from '../support/eventually.ts'
import { startHttpKit } from '../support/http-kit.ts'

const MIB = 1024 ** 2
/** One works, and one of each owner waits. */
const LIMITS = {
  inWork: 1,
  inWorkShared: 1,
  inWorkSlowed: 1,
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

  it('are refused beyond the bytes of all, which is no fault of the service, nor worth a word where it is their own doing', async () => {
    let end = (): void => undefined
    let begun = 0
    const work = route({
      name: 'work',
      method: 'POST',
      path: '/v1/work',
      auth: 'key',
      tag: 'Test',
      summary: 'A test',
      body: Type.Object({ name: Type.String() }),
      response: { 200: Type.Object({}) },
      errors: [],
      handler: async () => {
        begun++
        await new Promise<void>((resolve) => {
          end = resolve
        })
        return {}
      },
    })
    const admission = { ...LIMITS, waitingBytesEach: 40, waitingBytes: 30 }
    const kit = await startHttpKit([work], { admission })
    try {
      const ask = (name: string) => kit.request('POST', '/v1/work', { key: 'k-red', body: { name } })
      const first = ask('first')
      await eventually('the place is taken', () => begun === 1)
      const [ofAll, own] = [await ask('x'.repeat(20)), await ask('x'.repeat(40))]
      for (const [{ status, body }, expected] of [
        [ofAll, 503],
        [own, 429],
      ] as const)
        expect([status, body.reason]).to.deep.equal([expected, 'TOO_MANY_WAITING'])
      const remarks = kit.lines.filter(({ msg }) => msg !== 'request')
      expect(remarks.map(({ level, msg, error }) => [level, msg, error])).to.deep.equal([
        ['warn', 'request refused', 'unavailable'],
      ])
      end()
      expect((await first).status).to.equal(200)
    } finally {
      end()
      await kit.close()
    }
  })

  it('have few places while their organisation is slowed, whatever others have', async () => {
    const limits = { ...LIMITS, inWork: 4, inWorkShared: 3, inWorkSlowed: 2, waitingEach: 9 }
    let isSlowed = true
    const giveWay = { ...NOBODY_GIVES_WAY, slows: (owner: string) => owner === 'red' && isSlowed }
    const admission = createAdmission({ limits, giveWay })
    expect(['red', 'red', 'red'].map(admission.take)).to.deep.equal([true, true, false])
    expect(['green', 'green', 'green'].map(admission.take)).to.deep.equal([true, true, false])
    admission.give('green')
    admission.give('green')
    const waits = admission.wait('red', new EventEmitter() as ServerResponse, 0)
    expect(admission.waiting()).to.equal(1)
    isSlowed = false
    // No place is given back.
    await waits
    expect(admission.waiting()).to.equal(0)
  })

  it('wait while their organisation gives way, and no others do; what waits for a proof needs no place, and asks for none', async () => {
    const handled: string[] = []
    const routes = (['work', 'proof', 'away'] as const).map((name) =>
      route({
        name,
        method: 'GET',
        path: `/v1/${name}`,
        auth: 'optional',
        tag: 'Test',
        summary: 'A test',
        cost: name === 'proof' ? 3 : 1,
        response: { 200: Type.Object({}) },
        errors: (
          { work: [], proof: ['prover_overloaded'], away: ['prover_overloaded', 'upstream_timeout'] } as const
        )[name],
        handler: async ({ caller }) => {
          if (name === 'work') handled.push(caller?.organisation ?? '')
          return {}
        },
      }),
    )
    let isHeld = true
    const ended: string[] = []
    const asked: string[] = []
    let again = (): void => undefined
    const giveWay = {
      ...NOBODY_GIVES_WAY,
      requestEnded: (owner: string | undefined, points: number) => ended.push(`${owner} ${points}`),
      holds: (owner: string) => owner === 'org_red' && isHeld,
      lookAgain(run: () => void) {
        again = run
        return isHeld
      },
      heldSeconds: () => 1.5,
      proofAsked: (owner: string) => asked.push(`${owner} asks`),
      proofAnswered: (owner: string) => asked.push(`${owner} has it`),
    }
    const kit = await startHttpKit(routes, { giveWay })
    try {
      const ask = async (path: string, key?: string) => (await kit.request('GET', path, { key })).status
      const red = ask('/v1/work', 'k-red')
      await eventually('it waits', async () => (await kit.metrics.text()).includes('http_queue_depth 1\n'))
      expect(await kit.metrics.text()).to.include('http_held_seconds_total 1.5\n')
      for (const [path, key] of [
        ['work', 'k-green'],
        ['proof', 'k-green'],
        ['proof', 'k-red'],
        ['proof', 'a-red'],
        ['away', 'k-red'],
      ] as const)
        expect(await ask(`/v1/${path}`, key)).to.equal(200)
      expect(await ask('/v1/nothing')).to.equal(404)
      expect(await ask('/v1/work', 'x')).to.equal(401)
      expect(handled).to.deep.equal(['org_green'])
      // Neither strangers nor those who wait for others than this server are given way.
      expect(asked).to.deep.equal(['org_green asks', 'org_green has it', 'org_red asks', 'org_red has it'])
      isHeld = false
      again()
      expect(await red).to.equal(200)
      const strangers = ['undefined 1', 'undefined 1']
      const proofs = ['org_green 3', 'org_red 3', `ip:127.0.0.1 3`, 'org_red 1']
      const counted = ['org_green 1', ...proofs, ...strangers, 'org_red 1']
      expect(ended).to.deep.equal(counted)
    } finally {
      await kit.close()
    }
  })
})
