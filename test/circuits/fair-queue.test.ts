/** The turns that owners take in a queue. */
import { expect } from 'chai'
import fc from 'fast-check'
import { createFairLimit, createFairQueue } from '../../src/circuits/threads/fair-queue.ts'

const OWNERS = ['a', 'b', 'c', 'd']
const step = fc.oneof(fc.constantFrom(...OWNERS), fc.constant(undefined))

describe('fair queue', () => {
  it('takes from each owner in turn, the oldest item first', () => {
    const queue = createFairQueue<string>()
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.add(item.slice(0, 1), item)
    const taken = Array.from({ length: 7 }, () => queue.take())
    expect(taken).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', undefined])
  })

  it('delays an owner by at most one item of each other one, whatever they add meanwhile', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 5 }), (steps, turns) => {
        const queue = createFairQueue<string>(turns)
        /** For each owner that waits, whom it has seen served since it last was. */
        const seen = new Map<string, Set<string>>()
        for (const owner of steps) {
          if (owner !== undefined) {
            queue.add(owner, owner)
            if (!seen.has(owner)) seen.set(owner, new Set())
            continue
          }
          const served = queue.take()
          expect(served === undefined).to.equal(seen.size === 0)
          if (served === undefined) continue
          seen.delete(served)
          for (const others of seen.values()) {
            expect(others.has(served)).to.equal(false)
            others.add(served)
          }
          if (queue.sizeOf(served) > 0) seen.set(served, new Set())
        }
      }),
    )
  })

  it('knows how many items go before a new one, and how many wait', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(...OWNERS), (steps, owner) => {
        const queue = createFairQueue<string>()
        let waiting = 0
        for (const other of steps) {
          if (other !== undefined) queue.add(other, 'old')
          else if (queue.take() === undefined) continue
          waiting += other === undefined ? -1 : 1
        }
        expect(queue.size()).to.equal(waiting)
        const ahead = queue.ahead(owner)
        queue.add(owner, 'new')
        let before = 0
        while (queue.take() !== 'new') before += 1
        // An owner that just had its turn lets each other one go first, one that is due goes before some.
        expect(ahead - before).to.be.within(0, OWNERS.length - 1)
      }),
    )
  })

  it('serves whoever comes before those who have had their turn in this round', () => {
    const queue = createFairQueue<string>()
    const take = (times: number) => Array.from({ length: times }, () => queue.take())
    const add = (...items: string[]): void => {
      for (const item of items) queue.add(item.slice(0, 1), item)
    }
    add('a1', 'a2', 'a3', 'a4', 'a5')
    expect(take(2)).to.deep.equal(['a1', 'a2'])
    add('b1', 'b2', 'b3', 'c1')
    expect(take(6)).to.deep.equal(['b1', 'c1', 'a3', 'b2', 'a4', 'b3'])
    // Who was served is not forgotten while it has nothing.
    add('c2', 'b4')
    expect(take(3)).to.deep.equal(['c2', 'a5', 'b4'])
  })

  it('takes back what was taken, before the others of its owner, who has had its turn', () => {
    const queue = createFairQueue<string>()
    for (const item of ['a1', 'a2', 'b1']) queue.add(item.slice(0, 1), item)
    expect(queue.take()).to.equal('a1')
    queue.putBack('a', 'a1')
    expect(queue.size()).to.equal(3)
    expect(queue.sizeOf('a')).to.equal(2)
    expect(Array.from({ length: 4 }, () => queue.take())).to.deep.equal(['b1', 'a1', 'a2', undefined])
    queue.putBack('b', 'b1')
    expect(queue.take()).to.equal('b1')
  })

  it('serves those who have had their turn again after a round, however many come', () => {
    for (const [turns, order] of [
      [4, 'a1 b b b a2 b b b a3 b b b a4'],
      [undefined, 'a1 b b b b b b b a2 b b b b'],
    ] as const) {
      const queue = createFairQueue<string>(turns)
      for (const item of ['a1', 'a2', 'a3', 'a4']) queue.add('a', item)
      let comers = 0
      const taken = Array.from({ length: 13 }, () => {
        queue.add(`b${++comers}`, 'b')
        return queue.take()
      })
      expect(taken.join(' ')).to.equal(order)
    }
  })

  it('counts what is taken together as one turn of each owner, however much it is', () => {
    const queue = createFairQueue<string>()
    const add = (owner: string, count: number): void => {
      for (let i = 0; i < count; i++) queue.add(owner, owner)
    }
    add('a', 64)
    expect([queue.take(), ...queue.takeFitting(63, () => true)].join('')).to.equal('a'.repeat(64))
    add('b', 3)
    add('a', 3)
    add('c', 1)
    expect(Array.from({ length: 7 }, () => queue.take()).join('')).to.equal('bcababa')
  })

  it('passes over owners that may have nothing now, who keep their turn', () => {
    const queue = createFairQueue<string>()
    for (const item of ['a1', 'a2', 'b1', 'b2', 'c1']) queue.add(item.slice(0, 1), item)
    const without = (left: string) => queue.take((owner) => owner !== left)
    expect([without('a'), without('a'), queue.take(), queue.take(() => false)]).to.deep.equal([
      'b1',
      'c1',
      'a1',
      undefined,
    ])
    expect([queue.take(), queue.take(), queue.take()]).to.deep.equal(['b2', 'a2', undefined])
  })

  it('takes an item back without costing its owner the turn', () => {
    const queue = createFairQueue<string>()
    for (const item of ['a1', 'a2', 'b1']) queue.add(item.slice(0, 1), item)
    queue.remove('a', 'a1')
    queue.remove('a', 'a1')
    queue.remove('c', 'c1')
    expect([queue.size(), queue.take()]).to.deep.equal([2, 'a2'])
    queue.remove('b', 'b1')
    expect([queue.size(), queue.take()]).to.deep.equal([0, undefined])
  })

  it('gives up all that waits at once', () => {
    const queue = createFairQueue<number>()
    for (const [i, owner] of ['a', 'b', 'a'].entries()) queue.add(owner, i)
    expect(queue.clear().toSorted()).to.deep.equal([0, 1, 2])
    expect([queue.size(), queue.sizeOf('a'), queue.take()]).to.deep.equal([0, 0, undefined])
  })
})

describe('fair limit', () => {
  it('runs so many tasks at a time, those that wait in turns, and goes on after one that fails', async () => {
    const limit = createFairLimit(2)
    const begun: string[] = []
    const ends: ((error?: Error) => void)[] = []
    const ask = (name: string): Promise<string> =>
      limit(name.slice(0, 1), () => {
        begun.push(name)
        return new Promise((resolve, reject) => {
          ends.push((error) => (error === undefined ? resolve(name) : reject(error)))
        })
      })
    const asked = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map(ask)
    const order = ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2']
    const failing = asked[0] as Promise<string>
    const failed = failing.catch((error: Error) => error.message)
    for (let ended = 0; ended < order.length; ended++) {
      expect(begun).to.deep.equal(order.slice(0, ended + 2))
      ends[ended]?.(ended === 0 ? new Error('It failed.') : undefined)
      await new Promise(setImmediate)
    }
    expect(await failed).to.equal('It failed.')
    expect(await Promise.all(asked.slice(1))).to.have.lengthOf(6)
    // All places are free again.
    for (const name of ['d1', 'd2', 'd3']) void ask(name)
    expect(begun.slice(order.length)).to.deep.equal(['d1', 'd2'])
  })
})
