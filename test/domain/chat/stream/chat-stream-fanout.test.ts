/** Messages reach the readers of every server once and in order, whatever the bus does. */
import { expect } from 'chai'
import fc from 'fast-check'
import { type Bus, createBus } from '../../../../src/store/bus.ts'
import type { Database } from '../../../../src/store/database.ts'
import {
  commitMessages,
  commitRemoval,
  type StreamServer,
  startStreamServer,
} from '../../../support/chat/chat-stream.ts'
import type { ReadEvent, StreamReader } from '../../../support/chat/event-stream.ts'
import { openTestDatabase } from '../../../support/servers/database.ts'

const NEVER_MS = 1_000_000_000
const POLL_MS = 15
const RUNS = 40

const deletedIn = (events: readonly ReadEvent[]): Set<number> =>
  new Set(events.filter(({ event }) => event === 'delete').map(({ data }) => (data as { id: number }).id))

interface Published {
  readonly channel: string
  readonly text: string
}

/** Buses of several servers whose messages arrive when, and if, the test says so. */
const createHeldBuses = (count: number) => {
  const inner = Array.from({ length: count }, () => createBus())
  const held: (Published & { readonly from: number })[] = []
  const buses = inner.map(
    (bus, from): Bus => ({
      ...bus,
      async publish(channel, text) {
        held.push({ channel, text, from })
      },
    }),
  )
  return {
    buses,
    held,
    /** Delivers a message to all other servers. */
    async deliver({ channel, text, from }: Published & { readonly from: number }) {
      await Promise.all(inner.filter((_, to) => to !== from).map((bus) => bus.publish(channel, text)))
    },
  }
}

describe('the live stream on several servers', () => {
  let database: Database
  let servers: StreamServer[] = []
  let readers: StreamReader[] = []

  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())
  afterEach(async () => {
    for (const reader of readers) reader.close()
    await Promise.all(servers.map((server) => server.close()))
    servers = []
    readers = []
  })

  const start = async (buses: readonly (Bus | undefined)[], pollMs: number) => {
    servers = await Promise.all(
      buses.map((bus) => startStreamServer(database, { bus, pollMs, statsIntervalMs: NEVER_MS })),
    )
    readers = await Promise.all(servers.map((server) => server.begun()))
  }
  const post = async (server: StreamServer | undefined, count: number) => {
    const messages = await commitMessages(database, count)
    await server?.posted(messages)
    return messages.map(({ id }) => id)
  }
  /** Both servers post, and one removes the first message. @returns the ids */
  const postAndRemove = async () => {
    const ids = [
      ...(await post(servers[0], 3)),
      ...(await post(servers[1], 2)),
      ...(await post(servers[0], 1)),
    ]
    await everyoneHas(ids)
    await commitRemoval(database, ids[0] as number)
    await servers[1]?.removed(ids[0] as number)
    for (const reader of readers) await reader.until(({ of }) => of('delete').length === 1)
    return ids
  }
  const everyoneHas = async (ids: readonly number[]) => {
    for (const reader of readers) {
      await reader.until((it) => it.ids().at(-1) === ids.at(-1))
      expect(reader.ids()).to.deep.equal(ids)
    }
  }

  it('tells what another server commits as soon as the bus brings it', async () => {
    const shared = createBus()
    await start([shared, shared], NEVER_MS)
    await postAndRemove()
  })

  it('tells it within a poll where no bus reaches other servers, removals included and once', async () => {
    await start([undefined, undefined], POLL_MS)
    const ids = await postAndRemove()
    ids.push(...(await post(servers[0], 1)))
    await everyoneHas(ids)
    for (const reader of readers) expect(reader.of('delete').length).to.equal(1)
  })

  it('reads what is missing when the bus brings a later message first, and ignores repetitions', async () => {
    const { buses, held, deliver } = createHeldBuses(2)
    await start(buses, NEVER_MS)
    const ids: number[] = []
    for (let i = 0; i < 3; i++) ids.push(...(await post(servers[0], 2)))
    const [first, second, third] = held
    if (!first || !second || !third) throw new Error('nothing was published')
    await deliver(third)
    await everyoneHas(ids)
    for (const late of [first, second, third]) await deliver(late)
    ids.push(...(await post(servers[1], 1)))
    await deliver(held.at(-1) as (typeof held)[number])
    await everyoneHas(ids)
  })

  it('only announces batches that are too large for the bus, which are then read', async () => {
    const { buses, held, deliver } = createHeldBuses(2)
    await start(buses, NEVER_MS)
    const messages = await commitMessages(database, 200, 'x'.repeat(1500))
    await servers[0]?.posted(messages)
    expect(held[0]?.text.length).to.be.below(100)
    if (held[0]) await deliver(held[0])
    await everyoneHas(messages.map(({ id }) => id))
  })

  it('reads what it missed when the bus comes back from a gap', async () => {
    let gap: () => void = () => undefined
    const bus = createBus()
    const gapping: Bus = {
      ...bus,
      subscribe(channel, onMessage, onGap) {
        gap = () => onGap?.()
        return bus.subscribe(channel, onMessage, onGap)
      },
    }
    await start([gapping], NEVER_MS)
    const ids = await post(undefined, 3)
    gap()
    await everyoneHas(ids)
  })

  it('repeats nothing to a reader who began ahead of what the server had told', async () => {
    const { buses, held, deliver } = createHeldBuses(2)
    await start(buses, NEVER_MS)
    const ids = await post(servers[0], 3)
    // The second server has not heard of them; the new reader has read them.
    const reader = await servers[1]?.begun({ since: String((ids[0] as number) - 1) })
    if (reader === undefined) throw new Error('nothing was opened')
    readers.push(reader)
    await reader.until((it) => it.ids().length === ids.length)
    for (const message of held.splice(0)) await deliver(message)
    ids.push(...(await post(servers[1], 1)))
    for (const message of held.splice(0)) await deliver(message)
    await everyoneHas(ids)
  })

  it('never tells a message after its removal', async () => {
    const { buses, held, deliver } = createHeldBuses(2)
    await start(buses, NEVER_MS)
    const [removed = 0] = await post(servers[0], 1)
    await commitRemoval(database, removed)
    await servers[0]?.removed(removed)
    const [message, removal] = held
    if (!message || !removal) throw new Error('nothing was published')
    await deliver(removal)
    await deliver(message)
    const [next = 0] = await post(servers[1], 1)
    await readers[1]?.until((it) => it.ids().includes(next))
    expect(readers[1]?.events.slice(2).map(({ event }) => event)).to.deep.equal(['delete', 'message'])
  })

  it('tells what was removed before a message first, also where no bus told of it', async () => {
    await start([undefined, undefined], NEVER_MS)
    const [removed = 0] = await post(servers[0], 1)
    await readers[0]?.until((it) => it.ids().length === 1)
    await commitRemoval(database, removed)
    await servers[1]?.removed(removed)
    await post(servers[0], 1)
    await readers[0]?.until((it) => it.ids().length === 2)
    expect(readers[0]?.events.slice(3).map(({ event }) => event)).to.deep.equal(['delete', 'message'])
  })

  it('and no order of commits, lost or late bus messages, removals and readers makes a difference', async () => {
    const { buses, held, deliver } = createHeldBuses(2)
    await start(buses, POLL_MS)
    const step = fc.oneof(
      fc.record({ kind: fc.constant('post' as const), at: fc.nat(1), count: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant('deliver' as const), which: fc.nat(3) }),
      fc.record({ kind: fc.constant('lose' as const), which: fc.nat(3) }),
      fc.record({ kind: fc.constant('remove' as const), at: fc.nat(1), back: fc.nat(4) }),
      fc.record({ kind: fc.constant('join' as const), at: fc.nat(1), back: fc.nat(6), cut: fc.nat(20) }),
      fc.record({ kind: fc.constant('leave' as const) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        /** Readers of this run: after which id each began, what it had until then, and after how many events it breaks off. */
        const followers: { reader: StreamReader; from: number; had: number[]; cut: number }[] = []
        const posted: number[] = await post(servers[0], 5)
        const removed = new Set<number>()
        for (const taken of steps) {
          if (taken.kind === 'post') posted.push(...(await post(servers[taken.at], taken.count)))
          else if (taken.kind === 'deliver' || taken.kind === 'lose') {
            const [message] = held.splice(taken.which % Math.max(1, held.length), 1)
            if (message && taken.kind === 'deliver') await deliver(message)
          } else if (taken.kind === 'remove') {
            const id = posted.at(-1 - taken.back)
            if (id === undefined || removed.has(id)) continue
            removed.add(id)
            await commitRemoval(database, id)
            await servers[taken.at]?.removed(id)
          } else if (taken.kind === 'join') {
            const from = (posted.at(-1) as number) - taken.back
            const reader = await servers[taken.at]?.begun({ since: String(from) })
            const had = posted.filter((id) => id <= from && !removed.has(id))
            if (reader) followers.push({ reader, from, had, cut: taken.cut })
          } else followers.shift()?.reader.close()
        }
        posted.push(...(await post(servers[0], 1)))
        const last = posted.at(-1) as number
        for (const { reader, from, had, cut } of followers) {
          await reader.until((it) => it.ids().at(-1) === last)
          const ids = reader.ids()
          const told = new Set(ids)
          expect(ids, 'in order and once').to.deep.equal([...told].sort((a, b) => a - b))
          const lost = posted.filter((id) => id > from && !told.has(id) && !removed.has(id))
          expect(lost, 'none lost').to.deep.equal([])
          // Whoever has a message that was removed hears of it, also who breaks off anywhere and comes back.
          const stale = [...had, ...ids].filter((id) => removed.has(id))
          await reader.until(({ events }) => stale.every((id) => deletedIn(events).has(id)))
          reader.close()
          const heard = reader.events.slice(0, cut)
          const seen = heard.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]))
          const left = [...had, ...seen].filter((id) => removed.has(id) && !deletedIn(heard).has(id))
          const again = await servers[1]?.begun({ since: String(seen.at(-1) ?? from) })
          await again?.until(({ events }) => left.every((id) => deletedIn(events).has(id)))
          again?.close()
        }
      }),
      {
        numRuns: RUNS,
        examples: [
          [
            [
              { kind: 'join', at: 1, back: 2, cut: 20 },
              { kind: 'post', at: 0, count: 2 },
              { kind: 'remove', at: 0, back: 0 },
              { kind: 'lose', which: 0 },
              { kind: 'post', at: 1, count: 1 },
              { kind: 'join', at: 0, back: 6, cut: 4 },
              { kind: 'deliver', which: 1 },
            ],
          ],
        ],
      },
    )
  })

  it('survives what is no message of it on the bus', async () => {
    const shared = createBus()
    await start([shared], NEVER_MS)
    await shared.publish('chat.commits', `${'0'.repeat(16)}not a message`)
    await shared.publish('chat.commits', '?')
    await everyoneHas(await post(servers[0], 1))
  })
})
