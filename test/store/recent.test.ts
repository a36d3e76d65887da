import { expect } from 'chai'
import { type Bus, createBus } from '../../src/store/bus.ts'
import { createRecent } from '../../src/store/recent.ts'
import { rejection } from '../support/rejection.ts'

const TTL_MS = 1000

/** A clock that stands still, and a table whose reads are counted. */
const createTruth = () => {
  const truth = { now: 1_000_000, value: 'old', reads: 0 }
  const clock = { now: () => truth.now }
  const load = async (key: string) => {
    truth.reads++
    return `${key} ${truth.value}`
  }
  return { truth, clock, load }
}

const create = (maxEntries = 10, bus?: Bus, source = createTruth()) => {
  const { clock, load, truth } = source
  const others = bus && { bus, channel: 'test' }
  return { truth, memory: createRecent({ ttlMs: TTL_MS, maxEntries, clock, load, others }) }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('a memory of look-ups', () => {
  it('asks once for all who ask within the time to live, and again after it', async () => {
    const { truth, memory } = create()
    const answers = await Promise.all(Array.from({ length: 10 }, () => memory.get('a')))
    truth.value = 'new'
    truth.now += TTL_MS - 1
    answers.push(await memory.get('a'))
    expect(new Set(answers)).to.deep.equal(new Set(['a old']))
    expect(truth.reads).to.equal(1)
    truth.now += 1
    expect(await memory.get('a')).to.equal('a new')
    expect(truth.reads).to.equal(2)
  })

  it('a look-up that takes long has aged when it ends', async () => {
    const { truth, clock } = createTruth()
    let end = (_: string): void => undefined
    const load = () => new Promise<string>((resolve) => (end = resolve))
    const memory = createRecent({ ttlMs: TTL_MS, maxEntries: 10, clock, load })
    const first = memory.get('a')
    truth.now += TTL_MS
    end('old')
    expect(await first).to.equal('old')
    const second = memory.get('a')
    end('new')
    expect(await second).to.equal('new')
  })

  it('remembers no failure, and nothing from a future that a clock set back has left', async () => {
    const { truth, clock } = createTruth()
    let fails = true
    const load = async () => {
      truth.reads++
      if (fails) throw new Error('database away')
      return 'value'
    }
    const memory = createRecent({ ttlMs: TTL_MS, maxEntries: 10, clock, load })
    expect(String(await rejection(memory.get('a')))).to.include('database away')
    fails = false
    expect(await memory.get('a')).to.equal('value')
    truth.now -= 1
    await memory.get('a')
    expect(truth.reads).to.equal(3)
  })

  it('holds no more than its limit, and forgets the oldest first', async () => {
    const { truth, memory } = create(2)
    for (const key of ['a', 'b', 'c', 'b', 'c', 'a']) await memory.get(key)
    expect(truth.reads).to.equal(4)
  })

  it('what is forgotten here is asked for again, even while it is being looked up', async () => {
    const { truth, memory } = create()
    const before = memory.get('a')
    await memory.forget('a')
    truth.value = 'new'
    expect(await memory.get('a')).to.equal('a new')
    expect(await before).to.equal('a old')
    truth.value = 'newer'
    await memory.clear()
    expect(await memory.get('a')).to.equal('a newer')
  })
})

describe('memories on one bus', () => {
  it('forget together: the key that was named, or all', async () => {
    const bus = createBus()
    const [a, b] = [create(10, bus), create(10, bus)]
    await b.memory.get('x')
    await b.memory.get('y')
    await a.memory.forget('x')
    await turn()
    await b.memory.get('x')
    await b.memory.get('y')
    expect(b.truth.reads).to.equal(3)
    await a.memory.clear()
    await turn()
    await b.memory.get('x')
    await b.memory.get('y')
    expect(b.truth.reads).to.equal(5)
  })

  it('forget all after a gap, in which anything may have been said', async () => {
    let gap = (): void => undefined
    const bus: Bus = {
      ...createBus(),
      subscribe(_channel, _onMessage, onGap) {
        gap = onGap ?? gap
        return () => undefined
      },
    }
    const { truth, memory } = create(10, bus)
    await memory.get('x')
    gap()
    await memory.get('x')
    expect(truth.reads).to.equal(2)
  })
})
