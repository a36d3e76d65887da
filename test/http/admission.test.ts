/** Which request is worked on next, where there are more than places. */
import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect } from 'chai'
import fc from 'fast-check'
import { Type } from 'typebox'
import { AppError } from '../../src/errors.ts'
import { type AdmissionLimits, createAdmission } from '../../src/http/admission.ts'
import { closeHttpServer } from '../../src/http/connections/server.ts'
import { createEventStreams } from '../../src/http/event-stream.ts'
import { type Route, route } from '../../src/http/route.ts'
import { eventually } from '../support/eventually.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'
import { rejection } from '../support/rejection.ts'

const OWNERS = ['a', 'b', 'c', 'd']
const PRESENCE_MS = 1000

const responseOf = (): ServerResponse => new EventEmitter() as ServerResponse

interface Asked {
  readonly id: number
  readonly owner: string
  readonly bytes: number
  readonly at: number
}

const MIB = 1024 ** 2
/** Few enough to be reached. */
const LIMITS: AdmissionLimits = {
  inWork: 5,
  inWorkShared: 2,
  inWorkSlowed: 1,
  waitingEach: 3,
  waitingBytesEach: 3 * MIB,
  waitingBytes: 5 * MIB,
  waitMs: 60_000,
}

/** What should happen, told slowly: from everything that was asked so far, each time. */
class Reference {
  readonly asked: Asked[] = []
  readonly waiting: Asked[] = []
  readonly working: Asked[] = []
  /** Whoever waits is in it once, in the order in which they came or were served. */
  readonly turns: string[] = []
  /** Who had a turn in this round. */
  round: string[] = []
  readonly limits: AdmissionLimits
  at = 0

  constructor(limits: AdmissionLimits) {
    this.limits = limits
  }
  isShared(): boolean {
    return this.asked.some((second, i) => {
      const first = this.asked[i - 1]
      const met = first !== undefined && first.owner !== second.owner && second.at - first.at < PRESENCE_MS
      return met && this.at - second.at < PRESENCE_MS
    })
  }
  mayBegin(owner: string): boolean {
    const most = this.isShared() ? this.limits.inWorkShared : this.limits.inWork
    return this.working.length < this.limits.inWork && this.count(this.working, owner) < most
  }
  count(some: readonly Asked[], owner: string): number {
    return some.filter((one) => one.owner === owner).length
  }
  forget(owner: string): void {
    if (this.count(this.waiting, owner) === 0) this.turns.splice(this.turns.indexOf(owner), 1)
  }
  beginNext(): void {
    for (let owner = this.next(); owner !== undefined; owner = this.next()) {
      const index = this.waiting.findIndex((one) => one.owner === owner)
      this.working.push(...this.waiting.splice(index, 1))
      this.turns.splice(this.turns.indexOf(owner), 1)
      this.round.push(owner)
      if (this.count(this.waiting, owner) > 0) this.turns.push(owner)
    }
  }
  next(): string | undefined {
    const mayBegin = this.turns.filter((owner) => this.mayBegin(owner))
    const owner = mayBegin.find((one) => !this.round.includes(one))
    if (owner !== undefined) return owner
    if (mayBegin.length > 0) this.round = []
    return mayBegin[0]
  }
  ask(one: Asked): 'works' | 'waits' | 'refused' {
    this.asked.push(one)
    const own = this.count(this.waiting, one.owner)
    if (own === 0 && this.mayBegin(one.owner)) {
      this.working.push(one)
      return 'works'
    }
    const bytesOf = (some: readonly Asked[]) => some.reduce((sum, { bytes }) => sum + bytes, one.bytes)
    const owned = this.waiting.filter(({ owner }) => owner === one.owner)
    if (own >= this.limits.waitingEach || bytesOf(owned) > this.limits.waitingBytesEach) return 'refused'
    if (bytesOf(this.waiting) > this.limits.waitingBytes) return 'refused'
    this.waiting.push(one)
    if (own === 0) this.turns.push(one.owner)
    this.beginNext()
    return 'waits'
  }
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ask: fc.constantFrom(...OWNERS), mib: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ end: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ leave: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ pass: fc.constantFrom(1, 400, 999, 1000, 1001) }) },
)

describe('admission', () => {
  it('begins what a slow reference begins, in its order, whoever asks, ends or leaves', async () => {
    const limits = LIMITS
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const expected = new Reference(limits)
        const admission = createAdmission({ limits, now: () => expected.at })
        const begun: number[] = []
        const responses = new Map<number, ServerResponse>()
        let id = 0
        for (const one of steps) {
          if ('pass' in one) expected.at += one.pass
          else if ('ask' in one) {
            const asked = { id: ++id, owner: one.ask, bytes: one.mib * MIB, at: expected.at }
            const answer = expected.ask(asked)
            const took = admission.take(asked.owner)
            expect(took).to.equal(answer === 'works')
            if (took) begun.push(asked.id)
            else {
              const response = responseOf()
              responses.set(asked.id, response)
              const waited = admission.wait(asked.owner, response, asked.bytes).then(
                () => begun.push(asked.id),
                (error: unknown) => error,
              )
              if (answer === 'refused') expect(await waited).to.be.instanceOf(AppError)
            }
          } else if ('end' in one) {
            const [ended] = expected.working.splice(one.end % (expected.working.length || 1), 1)
            if (ended === undefined) continue
            admission.give(ended.owner)
            expected.beginNext()
          } else {
            const [left] = expected.waiting.splice(one.leave % (expected.waiting.length || 1), 1)
            if (left === undefined) continue
            expected.forget(left.owner)
            responses.get(left.id)?.emit('close')
          }
          await new Promise(setImmediate)
          expect(admission.waiting()).to.equal(expected.waiting.length)
          expect(expected.working.every((working) => begun.includes(working.id))).to.equal(true)
          expect(expected.waiting.some((waiting) => begun.includes(waiting.id))).to.equal(false)
        }
        // Nothing that waits keeps its timer.
        for (const { id: waiting } of expected.waiting) responses.get(waiting)?.emit('close')
      }),
      { numRuns: 200 },
    )
  })

  it('begins what waits once the others have gone, although no place is given back', async () => {
    const limits = { ...LIMITS, inWork: 4, inWorkShared: 1 }
    const admission = createAdmission({ limits })
    for (const owner of ['a', 'b']) expect(admission.take(owner)).to.equal(true)
    admission.give('b')
    expect(admission.take('a')).to.equal(false)
    await admission.wait('a', responseOf(), 0)
    expect(admission.waiting()).to.equal(0)
  })

  it('tells of each request that comes and that has been worked on', () => {
    let passed = 0
    const admission = createAdmission({ onPassing: () => passed++ })
    admission.take('a')
    admission.give('a')
    expect(passed).to.equal(2)
  })

  it('keeps nobody waiting whose client has gone already', async () => {
    const limits = { ...LIMITS, inWork: 1, inWorkShared: 1 }
    const admission = createAdmission({ limits })
    expect(admission.take('a')).to.equal(true)
    const gone = Object.assign(responseOf(), { destroyed: true })
    expect((await rejection(admission.wait('a', gone, MIB))).message).to.include('has gone')
    expect(admission.waiting()).to.equal(0)
  })

  it('holds so many bytes of bodies of one owner, and of all, and says which of the two is full', async () => {
    const admission = createAdmission({ limits: { ...LIMITS, inWork: 1 } })
    expect(admission.take('a')).to.equal(true)
    const leaving = responseOf()
    const waits = [admission.wait('a', leaving, 3 * MIB)]
    expect(await rejection(admission.wait('a', responseOf(), 1))).to.include({
      code: 'rate_limited',
      message: 'Your requests that wait on this server may have 3 MiB together. Send fewer at a time.',
    })
    waits.push(admission.wait('b', responseOf(), 2 * MIB))
    expect(await rejection(admission.wait('c', responseOf(), 1))).to.include({ code: 'unavailable' })
    waits.push(admission.wait('c', responseOf(), 0))
    // What leaves or begins is held no more.
    leaving.emit('close')
    expect((await rejection(waits[0] as Promise<void>)).message).to.include('has gone')
    const last = responseOf()
    const late = admission.wait('d', last, 3 * MIB)
    admission.give('a')
    await waits[1]
    admission.give('b')
    await waits[2]
    expect(admission.waiting()).to.equal(1)
    last.emit('close')
    expect((await rejection(late)).message).to.include('has gone')
  })

  it('lets an owner that is alone have all places, and of several each its part, so that none has to wait for another', () => {
    const limits = { ...LIMITS, inWork: 8, waitMs: 1000 }
    let at = 0
    const admission = createAdmission({ limits, now: () => at })
    const taken = (owner: string, times: number) =>
      Array.from({ length: times }, () => admission.take(owner)).filter(Boolean).length
    expect(taken('noisy', 5)).to.equal(5)
    expect(taken('quiet', 1)).to.equal(1)
    expect(taken('noisy', 1)).to.equal(0)
    for (let i = 0; i < 4; i++) admission.give('noisy')
    expect(taken('noisy', 9)).to.equal(1)
    expect(taken('quiet', 1)).to.equal(1)
    at += PRESENCE_MS
    expect(taken('noisy', 9)).to.equal(4)
  })
})

/** A handler that goes on when the test says so. */
const createGate = () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  return {
    begun,
    pass: (name: string) =>
      new Promise<{ name: string }>((resolve) => {
        begun.push(name)
        ends.push(() => resolve({ name }))
      }),
    /** Lets the oldest go on. */
    next: () => ends.shift()?.(),
    rest(): void {
      for (const end of ends.splice(0)) end()
    },
  }
}
type Gate = ReturnType<typeof createGate>

const routesOf = (gate: Gate): Route[] => {
  const streams = createEventStreams()
  const common = { tag: 'Test', summary: 'A test', response: { 200: Type.Object({ name: Type.String() }) } }
  const free = { response: { 200: Type.Object({}) }, errors: [] }
  return [
    route({
      ...common,
      name: 'work',
      method: 'POST',
      path: '/v1/work',
      auth: 'key',
      body: Type.Object({ name: Type.String() }),
      errors: [],
      handler: ({ body }) => gate.pass(body.name),
    }),
    route({
      ...common,
      name: 'prove',
      method: 'GET',
      path: '/v1/prove',
      auth: 'key',
      errors: ['prover_overloaded'],
      handler: () => gate.pass('proof'),
    }),
    route({
      ...common,
      ...free,
      name: 'health',
      method: 'GET',
      path: '/health',
      auth: 'none',
      cost: 0,
      handler: () => ({}),
    }),
    route({
      ...common,
      ...free,
      name: 'look',
      method: 'GET',
      path: '/v1/look',
      auth: 'none',
      handler: () => ({}),
    }),
    route({
      ...common,
      ...free,
      name: 'aside',
      method: 'GET',
      path: '/v1/aside',
      auth: 'key',
      queued: false,
      handler: () => ({}),
    }),
    route({
      ...common,
      name: 'fails',
      method: 'GET',
      path: '/v1/fails',
      auth: 'key',
      errors: ['not_found'],
      handler: () => {
        throw new AppError('not_found')
      },
    }),
    route({
      ...common,
      name: 'stream',
      method: 'GET',
      path: '/api/stream',
      auth: 'none',
      response: { 200: Type.String() },
      produces: 'text/event-stream',
      errors: [],
      handler: () => streams.answer(() => () => undefined),
    }),
  ]
}

describe('requests that find no place', () => {
  const limits = { ...LIMITS, inWork: 3, inWorkShared: 1, waitingEach: 2 }
  let gate: Gate
  let kit: HttpKit
  const start = async (changed: Partial<AdmissionLimits> = {}): Promise<void> => {
    gate = createGate()
    kit = await startHttpKit(routesOf(gate), { admission: { ...limits, ...changed } })
  }
  afterEach(async () => {
    gate.rest()
    await kit.close()
  })

  const work = (key: string, name: string) => kit.request('POST', '/v1/work', { key, body: { name } })
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await kit.metrics.text())?.[1])
  const untilWaiting = (count: number) =>
    eventually(`${count} wait`, async () => (await metric('http_queue_depth')) === count)
  /** In this order. */
  const untilBegun = async (...names: string[]) => {
    await eventually(`${names} are begun`, () => gate.begun.length >= names.length)
    expect(gate.begun).to.deep.equal(names)
  }
  const untilBegunAre = (count: number) => eventually(`${count} are begun`, () => gate.begun.length === count)

  it('are begun in turns between organisations, and in order within one', async () => {
    await start({ inWork: 1 })
    const answers = [work('k-red', 'red 1')]
    await untilBegun('red 1')
    for (const [i, [key, name]] of [
      ['k-red', 'red 2'],
      ['k-red', 'red 3'],
      ['k-blue', 'blue 1'],
      ['k-blue', 'blue 2'],
    ].entries()) {
      answers.push(work(String(key), String(name)))
      await untilWaiting(i + 1)
    }
    const order = ['red 1', 'red 2', 'blue 1', 'red 3', 'blue 2']
    for (const count of [2, 3, 4, 5]) {
      gate.next()
      await untilBegun(...order.slice(0, count))
    }
    gate.next()
    expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal(Array(5).fill(200))
    expect(await metric('http_queue_seconds_count')).to.equal(4)
  })

  it('do not keep another organisation waiting, which finds a place of its own', async () => {
    await start()
    const answers = [work('k-blue', 'blue 1'), work('k-red', 'red 1')]
    await untilBegunAre(2)
    answers.push(work('k-red', 'red 2'))
    await untilWaiting(1)
    answers.push(work('k-green', 'green 1'))
    await untilBegunAre(3)
    expect(gate.begun.at(-1)).to.equal('green 1')
    gate.rest()
    await untilBegunAre(4)
    gate.rest()
    await Promise.all(answers)
  })

  it('are refused beyond the limit of their organisation, which the error names, and no others are', async () => {
    await start({ inWork: 1 })
    const answers = [work('k-red', '1')]
    await untilBegun('1')
    answers.push(work('k-red', '2'), work('k-red', '3'))
    await untilWaiting(2)
    const { status, body, headers } = await work('k-red', '4')
    expect([status, body.error, body.reason, body.retry_after]).to.deep.equal([
      429,
      'rate_limited',
      'TOO_MANY_WAITING',
      1,
    ])
    expect(headers.get('retry-after')).to.equal('1')
    expect(body.message).to.match(/^2 of your requests wait/)
    expect(await metric('http_requests_shed_total.reason="full".')).to.equal(1)
    answers.push(work('k-blue', 'blue'))
    await untilWaiting(3)
    for (const count of [2, 3, 4, 4]) {
      gate.next()
      await untilBegunAre(count)
    }
    expect((await Promise.all(answers)).map(({ status: one }) => one)).to.deep.equal(Array(4).fill(200))
  })

  it('are refused when they have waited as long as one may, with 503 and when to come back', async () => {
    await start({ inWork: 1, waitMs: 30 })
    const first = work('k-red', '1')
    await untilBegun('1')
    const { status, body, headers } = await work('k-blue', '2')
    expect([status, body.error, body.reason]).to.deep.equal([503, 'unavailable', 'WAITED_TOO_LONG'])
    expect(body.message).to.match(/waited for 0\.03 seconds/)
    expect(headers.get('retry-after')).to.equal('1')
    expect(kit.lines.find(({ msg }) => msg === 'request refused')).to.include({ error: 'unavailable' })
    gate.rest()
    await first
    expect(gate.begun).to.deep.equal(['1'])
  })

  it('leave the queue when their client goes away', async () => {
    await start({ inWork: 1 })
    const first = work('k-red', '1')
    await untilBegun('1')
    const socket = connect(Number(new URL(kit.url).port), '127.0.0.1')
    const body = '{"name":"gone"}'
    socket.write(
      `POST /v1/work HTTP/1.1\r\nHost: a\r\nX-API-Key: k-blue\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await untilWaiting(1)
    socket.destroy()
    await untilWaiting(0)
    gate.rest()
    await first
    const last = work('k-blue', '2')
    await untilBegun('1', '2')
    gate.rest()
    expect((await last).status).to.equal(200)
  })

  it('are answered when the server closes meanwhile', async () => {
    await start({ inWork: 1 })
    const answers = [work('k-red', '1')]
    await untilBegun('1')
    answers.push(work('k-red', '2'))
    await untilWaiting(1)
    const closed = closeHttpServer(kit.server)
    gate.next()
    await untilBegun('1', '2')
    gate.next()
    expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal([200, 200])
    expect(await closed).to.equal(true)
  })

  it('give way to nothing that holds a place without working: proofs, streams, probes, clients that send slowly', async () => {
    await start({ inWork: 1 })
    const proofs = [1, 2, 3].map(() => kit.request('GET', '/v1/prove', { key: 'k-red' }))
    await untilBegunAre(3)
    const streams = [1, 2, 3].map(() => connect(Number(new URL(kit.url).port), '127.0.0.1'))
    for (const socket of streams) {
      socket.write('GET /api/stream HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n')
      await once(socket, 'data')
    }
    const slow = connect(Number(new URL(kit.url).port), '127.0.0.1')
    slow.write(
      'POST /v1/work HTTP/1.1\r\nHost: a\r\nX-API-Key: k-red\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
    )
    expect((await kit.request('GET', '/v1/look')).status).to.equal(200)
    const holds = work('k-blue', 'work')
    await untilBegunAre(4)
    expect((await kit.request('GET', '/health')).status).to.equal(200)
    expect((await kit.request('GET', '/v1/aside', { key: 'k-blue' })).status).to.equal(200)
    gate.rest()
    await Promise.all([...proofs, holds])
    for (const socket of [slow, ...streams]) socket.destroy()
  })

  it('find the places that failed requests have given back', async () => {
    await start({ inWork: 1 })
    for (let i = 0; i < 3; i++)
      expect((await kit.request('GET', '/v1/fails', { key: 'k-red' })).status).to.equal(404)
    expect((await kit.request('POST', '/v1/work', { key: 'k-red', body: {} })).status).to.equal(422)
    expect((await kit.request('GET', '/v1/look')).status).to.equal(200)
  })
})
