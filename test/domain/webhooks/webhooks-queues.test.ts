/** Turns between endpoints, whatever receivers do. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { createEndpointQueues } from '../../../src/domain/webhooks/endpoint-queues.ts'

const ENDPOINT_IN_FLIGHT = 4
const ENDPOINT_AT_HAND = 128
const MAX_IN_FLIGHT = 128
const MAX_FAILING_IN_FLIGHT = 64
const MAX_AT_HAND = 2_048
const MAX_FAILING_AT_HAND = 256

interface Attempt {
  readonly endpoint: string
  readonly n: number
  end(well: boolean | undefined): void
}

/** Queues whose attempts end when a test says so. */
const heldQueues = () => {
  const running = new Set<Attempt>()
  const begun: string[] = []
  const givenBack: string[] = []
  let lows = 0
  const queues = createEndpointQueues<{ endpoint: string; n: number }>(
    ({ endpoint, n }) =>
      new Promise((resolve) => {
        begun.push(`${endpoint} ${n}`)
        const attempt: Attempt = {
          endpoint,
          n,
          end(well) {
            running.delete(attempt)
            resolve(well)
          },
        }
        running.add(attempt)
      }),
    () => {
      lows += 1
    },
    (surplus) => givenBack.push(...surplus.map(({ endpoint, n }) => `${endpoint} ${n}`)),
  )
  const room = (endpoint: string): number => queues.shares([endpoint]).rooms.get(endpoint) ?? 0
  const directRoom = (endpoint: string): number => queues.directShares([endpoint]).rooms.get(endpoint) ?? 0
  let made = 0
  const add = (endpoint: string, count: number): void =>
    queues.add(
      endpoint,
      Array.from({ length: count }, () => ({ endpoint, n: made++ })),
    )
  return { queues, running, begun, givenBack, add, room, directRoom, lows: () => lows, made: () => made }
}

const countBy = (attempts: Iterable<Attempt>): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const { endpoint } of attempts) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1)
  return counts
}

const anyStep = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    endpoint: fc.integer({ min: 0, max: 60 }),
    count: fc.integer({ min: 1, max: 20 }),
  }),
  fc.record({
    kind: fc.constant('end' as const),
    which: fc.nat(),
    well: fc.constantFrom(true, false, undefined),
  }),
)

describe('queues of webhook endpoints', () => {
  it('begin everything once or give it back, and never more than their limits at a time, whatever is added and however attempts end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 150 }), async (steps) => {
        const { queues, running, begun, givenBack, add, made } = heldQueues()
        const check = (): void => {
          expect(running.size).to.be.at.most(MAX_IN_FLIGHT)
          for (const count of countBy(running).values()) expect(count).to.be.at.most(ENDPOINT_IN_FLIGHT)
        }
        for (const step of steps) {
          if (step.kind === 'add') add(`e${step.endpoint}`, step.count)
          else [...running][step.which % Math.max(1, running.size)]?.end(step.well)
          await turn()
          check()
        }
        while (running.size > 0) {
          for (const attempt of running) attempt.end(true)
          await turn()
          check()
        }
        const all = [...begun, ...givenBack]
        expect(all).to.have.length(made())
        expect(new Set(all).size).to.equal(made())
        expect(queues.atHand).to.equal(0)
      }),
      { numRuns: 60 },
    )
  })

  it('leave half of the places to endpoints that answer, however many fail', async () => {
    const { running, add } = heldQueues()
    const failing = Array.from({ length: 100 }, (_, i) => `dead ${i}`)
    for (const endpoint of failing) add(endpoint, 1)
    for (const attempt of running) attempt.end(false)
    await turn()
    for (const endpoint of failing) add(endpoint, ENDPOINT_IN_FLIGHT)
    await turn()
    expect(running.size).to.equal(MAX_FAILING_IN_FLIGHT)
    for (let i = 0; i < 100; i++) add(`alive ${i}`, 1)
    await turn()
    const alive = [...running].filter(({ endpoint }) => endpoint.startsWith('alive'))
    expect(alive).to.have.length(MAX_IN_FLIGHT - MAX_FAILING_IN_FLIGHT)
  })

  it('take nothing past the database while that holds older deliveries, and ask once for those', async () => {
    const { queues, running, add, room, directRoom, lows } = heldQueues()
    expect(directRoom('e')).to.equal(ENDPOINT_AT_HAND)
    add('e', ENDPOINT_AT_HAND)
    expect([room('e'), directRoom('e')]).to.deep.equal([0, 0])
    queues.expectMore('e', true)
    while (running.size > 0) {
      for (const attempt of running) attempt.end(true)
      await turn()
    }
    expect(lows()).to.equal(1)
    expect([room('e'), directRoom('e')]).to.deep.equal([ENDPOINT_AT_HAND, 0])
    queues.expectMore('e', false)
    expect(directRoom('e')).to.equal(ENDPOINT_AT_HAND)
    queues.expectMore('e', true)
    queues.expectNothing()
    expect(directRoom('e')).to.equal(ENDPOINT_AT_HAND)
  })

  it('give an endpoint that failed no more room than attempts to it at a time', async () => {
    const { running, add, directRoom } = heldQueues()
    add('e', 1)
    for (const attempt of running) attempt.end(false)
    await turn()
    expect(directRoom('e')).to.equal(ENDPOINT_IN_FLIGHT)
  })

  it('keep room for others when endpoints with much at hand begin to fail', async () => {
    const { running, givenBack, add, room, directRoom } = heldQueues()
    for (let i = 0; i < MAX_AT_HAND / ENDPOINT_AT_HAND; i++) add(`e${i}`, ENDPOINT_AT_HAND)
    expect(room('another')).to.equal(0)
    for (const attempt of running) attempt.end(false)
    await turn()
    expect(room('another')).to.equal(ENDPOINT_AT_HAND)
    expect(new Set(givenBack).size).to.equal(givenBack.length)
    expect(directRoom('e0'), 'what was given back is older').to.equal(0)
  })

  it('keep what is at hand for an endpoint that fails while there is room', async () => {
    const { queues, running, givenBack, add } = heldQueues()
    add('e', ENDPOINT_AT_HAND)
    for (const attempt of running) attempt.end(false)
    await turn()
    expect(givenBack).to.deep.equal([])
    expect(queues.atHand).to.equal(ENDPOINT_AT_HAND - ENDPOINT_IN_FLIGHT)
  })

  it('hold a fixed part of the room for those that fail, however many they are, and pass none of them over for ever', async () => {
    const { queues, running, add, room } = heldQueues()
    const failing = Array.from({ length: 600 }, (_, i) => `dead ${i}`)
    for (const endpoint of failing) add(endpoint, 3)
    const tried = new Set<string>()
    while (tried.size < failing.length) {
      for (const attempt of [...running]) {
        tried.add(attempt.endpoint)
        attempt.end(false)
      }
      await turn()
    }
    for (const attempt of [...running]) attempt.end(false)
    await turn()
    expect(queues.atHand).to.be.at.most(MAX_FAILING_AT_HAND)
    expect(room('alive')).to.equal(ENDPOINT_AT_HAND)
    const { rooms, passedOver } = queues.shares([...failing, 'alive'])
    expect(rooms.get('alive'), 'nothing is divided with those that can take nothing').to.equal(
      ENDPOINT_AT_HAND,
    )
    const sum = [...rooms.values()].reduce((all, count) => all + count, 0)
    expect(queues.atHand + sum - ENDPOINT_AT_HAND).to.equal(MAX_FAILING_AT_HAND)
    const first = failing.findIndex((endpoint) => !rooms.has(endpoint))
    expect(passedOver).to.equal(failing[first])
    const others = queues.shares([...failing.slice(first), ...failing.slice(0, first)])
    expect(others.rooms.has(failing[first] ?? '')).to.equal(true)
  })
})
