/** Which request is worked on next, where there are more than places. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { Type } from 'typebox'
import { AppError } from '../../src/errors.ts'
import {
  type AdmissionLimits,
  createAdmission,
  createLoopWatch,
  createPresence,
  threadLimits,
} from '../../src/http/admission.ts'
import { placesOf } from '../../src/http/errors.ts'
import { type Route, route } from '../../src/http/route.ts'
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
  inWorkBusy: 1,
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
  /** Who has the next turn; whoever waits is in it once. */
  readonly turns: string[] = []
  readonly limits: AdmissionLimits
  at = 0
  isBusy = false

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
    const shared = this.isBusy ? this.limits.inWorkBusy : this.limits.inWorkShared
    const most = this.isShared() ? shared : this.limits.inWork
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
      if (this.count(this.waiting, owner) > 0) this.turns.push(owner)
    }
  }
  next(): string | undefined {
    return this.turns.find((owner) => this.mayBegin(owner))
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
  { weight: 1, arbitrary: fc.record({ busy: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ pass: fc.constantFrom(1, 400, 999, 1000, 1001) }) },
)

describe('admission', () => {
  it('begins what a slow reference begins, in its order, whoever asks, ends or leaves', async () => {
    const limits = LIMITS
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const expected = new Reference(limits)
        const admission = createAdmission({ limits, now: () => expected.at, isBusy: () => expected.isBusy })
        const begun: number[] = []
        const responses = new Map<number, ServerResponse>()
        let id = 0
        for (const one of steps) {
          if ('pass' in one) expected.at += one.pass
          else if ('busy' in one) expected.isBusy = one.busy
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
    const limits = { ...LIMITS, inWork: 4, inWorkShared: 1, inWorkBusy: 1 }
    const admission = createAdmission({ limits })
    for (const owner of ['a', 'b']) expect(admission.take(owner)).to.equal(true)
    admission.give('b')
    expect(admission.take('a')).to.equal(false)
    await admission.wait('a', responseOf(), 0)
    expect(admission.waiting()).to.equal(0)
  })

  it('keeps nobody waiting whose client has gone already', async () => {
    const limits = { ...LIMITS, inWork: 1, inWorkShared: 1, inWorkBusy: 1 }
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

  it('knows of all who ask of a server, whichever places they take', () => {
    const presence = createPresence()
    const limits = { ...LIMITS, inWorkShared: 1, inWorkBusy: 1 }
    const [one, other] = [createAdmission({ limits, presence }), createAdmission({ limits, presence })]
    expect(one.take('noisy')).to.equal(true)
    expect(one.take('noisy')).to.equal(true)
    expect(other.take('quiet')).to.equal(true)
    expect(one.take('noisy')).to.equal(false)
  })

  it('gives each of several owners as many requests for threads as keep the threads at work', () => {
    const admission = createAdmission({ limits: threadLimits(3) })
    admission.take('quiet')
    expect(Array.from({ length: 6 }, () => admission.take('noisy'))).to.deep.equal([
      ...[true, true, true, true],
      ...[false, false],
    ])
  })

  it('tells a busy event loop from one that has time', async () => {
    const isBusy = createLoopWatch()
    isBusy()
    await pause(100)
    expect(isBusy()).to.equal(false)
    for (const end = performance.now() + 100; performance.now() < end; );
    expect(isBusy()).to.equal(true)
    await pause(100)
    expect(isBusy()).to.equal(false)
  })
})

describe('places', () => {
  const common = {
    tag: 'Test',
    summary: 'A test',
    name: 'test',
    method: 'GET' as const,
    path: '/v1/test' as const,
    auth: 'key' as const,
    response: { 200: Type.Object({}) },
    handler: () => ({}),
  }
  const placesFor = (more: Partial<Pick<Route, 'queued' | 'waits' | 'cost' | 'errors'>>) =>
    placesOf(route({ ...common, errors: [], ...more }))

  it('are those of the server, or of its threads, or none where a request waits for others', () => {
    expect(placesFor({})).to.equal('server')
    expect(placesFor({ errors: ['prover_overloaded'] })).to.equal('threads')
    expect(placesFor({ errors: ['proof_service_unavailable'] })).to.equal('threads')
    expect(placesFor({ errors: ['prover_overloaded', 'upstream_timeout'] })).to.equal(undefined)
    expect(placesFor({ errors: ['upstream_timeout'] })).to.equal(undefined)
    expect(placesFor({ cost: 0 })).to.equal(undefined)
    expect(placesFor({ cost: 0, queued: true })).to.equal('server')
    expect(placesFor({ queued: true, errors: ['proof_service_unavailable'] })).to.equal('server')
    expect(placesFor({ queued: false, errors: ['prover_overloaded'] })).to.equal(undefined)
  })
})
