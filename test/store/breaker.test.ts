import { expect } from 'chai'
import { createBreaker, within } from '../../src/store/breaker.ts'
import { rejection } from '../support/rejection.ts'

const LONG_MS = 60_000
const never = () => new Promise<string>(() => undefined)

describe('a circuit breaker', () => {
  it('hands on what a call answers', async () => {
    const breaker = createBreaker({ timeoutMs: LONG_MS, pauseMs: LONG_MS })
    expect(await breaker(async () => 'answer')).to.equal('answer')
  })

  it('makes no call for a while after one failed or hung, and tells of it once', async () => {
    for (const failing of [() => Promise.reject(new Error('broken')), never]) {
      const told: string[] = []
      const breaker = createBreaker({
        timeoutMs: 5,
        pauseMs: LONG_MS,
        onFailure: (error) => told.push(String(error)),
      })
      // Both are under way before the first fails.
      expect(await Promise.all([breaker(failing), breaker(failing)])).to.deep.equal([undefined, undefined])
      expect(told).to.have.lengthOf(1)
      let calls = 0
      expect(await breaker(async () => ++calls)).to.equal(undefined)
      expect(calls).to.equal(0)
    }
  })

  it('calls again after the pause', async () => {
    const breaker = createBreaker({ timeoutMs: LONG_MS, pauseMs: 0 })
    await breaker(() => Promise.reject(new Error('broken')))
    expect(await breaker(async () => 'answer')).to.equal('answer')
  })

  it('a promise within its time keeps its own outcome, a late one is an error', async () => {
    expect(await within(Promise.resolve(1), LONG_MS)).to.equal(1)
    const broken = new Error('broken')
    expect(await rejection(within(Promise.reject(broken), LONG_MS))).to.equal(broken)
    expect(String(await rejection(within(never(), 1)))).to.include('no answer within 1 ms')
  })
})
