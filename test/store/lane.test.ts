import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { AppError } from '../../src/errors.ts'
import { createLane, type LaneUnit, type Outcome } from '../../src/store/lane.ts'
import { rejection } from '../support/rejection.ts'

interface Unit extends LaneUnit {
  readonly name: string
}

const unit = (name: string, weight = 1, exclusive = false): Unit => ({ name, weight, exclusive })

/** A lane that keeps each batch waiting until the test lets it go. */
const heldLane = (
  work: (units: readonly Unit[]) => readonly Outcome<string>[] = succeed,
  maxBatchItems?: number,
) => {
  const batches: string[][] = []
  const gates: (() => void)[] = []
  const lane = createLane<Unit, string>({
    maxBatchItems,
    commit: async (units) => {
      batches.push(units.map(({ name }) => name))
      await new Promise<void>((resolve) => gates.push(resolve))
      return work(units)
    },
  })
  /** Lets batches go until none is left. */
  const drain = async (): Promise<void> => {
    for (;;) {
      for (let turns = 0; turns < 5; turns++) await turn()
      const open = gates.shift()
      if (open === undefined) return
      open()
    }
  }
  return { lane, batches, drain }
}

const succeed = (units: readonly Unit[]): Outcome<string>[] =>
  units.map(({ name }) => ({ value: `did ${name}` }))

describe('lane', () => {
  it('commits a unit of an idle lane at once, and together whatever arrives meanwhile', async () => {
    const { lane, batches, drain } = heldLane()
    const first = lane.submit(unit('a'))
    await turn()
    await turn()
    const rest = ['b', 'c', 'd'].map((name) => lane.submit(unit(name)))
    await drain()
    expect(await Promise.all([first, ...rest])).to.deep.equal(['did a', 'did b', 'did c', 'did d'])
    expect(batches).to.deep.equal([['a'], ['b', 'c', 'd']])
  })

  it('gives each unit its own outcome', async () => {
    const { lane, drain } = heldLane((units) =>
      units.map(({ name }) => (name === 'bad' ? { error: new AppError('conflict') } : { value: name })),
    )
    const bad = rejection(lane.submit(unit('bad')))
    const good = lane.submit(unit('good'))
    await drain()
    expect(await bad).to.include({ code: 'conflict' })
    expect(await good).to.equal('good')
  })

  it('never puts more into a batch than it holds, and never splits a unit', async () => {
    const { lane, batches, drain } = heldLane(succeed, 4)
    const all = [unit('a', 3), unit('b', 2), unit('c', 2), unit('d', 1), unit('e', 9)].map((u) =>
      lane.submit(u),
    )
    await drain()
    await Promise.all(all)
    expect(batches).to.deep.equal([['a'], ['b', 'c'], ['d'], ['e']])
  })

  it('gives an exclusive unit a batch to itself, in its turn', async () => {
    const { lane, batches, drain } = heldLane()
    const all = [unit('a'), unit('x', 1, true), unit('b'), unit('c')].map((u) => lane.submit(u))
    await drain()
    await Promise.all(all)
    expect(batches).to.deep.equal([['a'], ['x'], ['b', 'c']])
  })

  it('runs units one by one when a batch fails for an unforeseen reason', async () => {
    const { lane, batches, drain } = heldLane((units) => {
      if (units.some(({ name }) => name === 'poison')) throw new Error('unforeseen')
      return succeed(units)
    })
    const a = lane.submit(unit('a'))
    const poison = rejection(lane.submit(unit('poison')))
    const b = lane.submit(unit('b'))
    await drain()
    expect(await a).to.equal('did a')
    expect((await poison).message).to.equal('unforeseen')
    expect(await b).to.equal('did b')
    expect(batches).to.deep.equal([['a', 'poison', 'b'], ['a'], ['poison'], ['b']])
  })

  it('fails a whole batch when the database is unavailable, without trying each unit', async () => {
    const { lane, batches, drain } = heldLane(() => {
      throw new AppError('unavailable', { retryAfter: 1 })
    })
    const all = ['a', 'b'].map((name) => rejection(lane.submit(unit(name))))
    await drain()
    for (const error of await Promise.all(all)) expect(error).to.include({ code: 'unavailable' })
    expect(batches).to.have.length(1)
  })

  it('refuses work with a hint to come back when more than 10,000 items wait', async () => {
    const { lane, drain } = heldLane()
    const waiting = Array.from({ length: 20 }, (_, index) => lane.submit(unit(`u${index}`, 500)))
    expect(await rejection(lane.submit(unit('late')))).to.include({ code: 'unavailable', retryAfter: 1 })
    await drain()
    await Promise.all(waiting)
    const again = lane.submit(unit('again'))
    await drain()
    expect(await again).to.equal('did again')
  })

  it('finishes what waits when it is closed, and takes nothing more', async () => {
    const { lane, drain } = heldLane(succeed, 1)
    const all = ['a', 'b', 'c'].map((name) => lane.submit(unit(name)))
    let closed = false
    const closing = lane.close().then(() => {
      closed = true
    })
    expect(await rejection(lane.submit(unit('late')))).to.include({ code: 'unavailable' })
    expect(closed).to.equal(false)
    await drain()
    await closing
    expect(await Promise.all(all)).to.have.length(3)
  })
})
