/** What one reader of the live stream is told, and what a server refuses. */
import { expect } from 'chai'
import type { StreamReads } from '../../../../src/domain/chat/stream/store-stream.ts'
import type { Database } from '../../../../src/store/database.ts'
import {
  COUNTS,
  commitMessages,
  commitRemoval,
  type StreamServer,
  type StreamServerOptions,
  startStreamServer,
} from '../../../support/chat/chat-stream.ts'
import type { StreamReader } from '../../../support/chat/event-stream.ts'
import { eventually } from '../../../support/eventually.ts'
import { openTestDatabase } from '../../../support/servers/database.ts'

const NEVER_MS = 1_000_000_000

describe('the live stream', () => {
  let database: Database
  let server: StreamServer
  let readers: StreamReader[]

  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())
  afterEach(async () => {
    for (const reader of readers) reader.close()
    await server.close()
  })

  const start = async (options: StreamServerOptions = {}) => {
    readers = []
    server = await startStreamServer(database, { pollMs: NEVER_MS, statsIntervalMs: NEVER_MS, ...options })
  }
  const begun = async (cursor: Parameters<StreamServer['begun']>[0] = {}) => {
    const reader = await server.begun(cursor)
    readers.push(reader)
    return reader
  }
  const commit = (count: number) => commitMessages(database, count)
  /** Commits and tells this server, as its lane does. @returns the ids */
  const post = async (count: number) => {
    const messages = await commit(count)
    await server.posted(messages)
    return messages.map(({ id }) => id)
  }
  const replayOf = ({ of }: StreamReader) => (of('state')[0]?.data as { replay?: object } | undefined)?.replay
  const last = (ids: readonly number[]) => ids.at(-1) as number

  describe('begins', () => {
    it('with the state of posting and the counts, and nothing of the past', async () => {
      await start()
      const id = String(last(await post(2)))
      const reader = await begun()
      expect(reader.events).to.deep.equal([
        { event: 'state', id, data: server.told.state },
        { event: 'stats', data: COUNTS },
      ])
    })

    it('with where to go on from, for who breaks off before a message has come', async () => {
      await start()
      await post(1)
      const reader = await begun()
      reader.close()
      const missed = await post(1)
      const again = await begun({ lastEventId: reader.events.findLast(({ id }) => id !== undefined)?.id })
      await again.until((it) => it.ids().length === 1)
      expect(again.ids()).to.deep.equal(missed)
      // Who named a cursor keeps it.
      expect(again.of('state')).to.have.length(1)
      expect(again.of('state')[0]).to.not.have.property('id')
    })

    it('and tells every message once, in order, with its id', async () => {
      await start()
      const reader = await begun()
      const messages = await commit(3)
      await server.posted(messages.slice(0, 1))
      await server.posted(messages.slice(1))
      await reader.until(({ ids }) => ids().length === 3)
      expect(reader.of('message')).to.deep.equal(
        messages.map((message) => ({ event: 'message', id: String(message.id), data: message })),
      )
    })

    it('after the message that Last-Event-ID names, which wins over `since`', async () => {
      await start()
      const ids = await post(4)
      const [first = 0, second = 0] = ids
      const reader = await begun({ since: String(second), lastEventId: String(first) })
      await reader.until((it) => it.ids().length === 3)
      expect(reader.ids()).to.deep.equal(ids.slice(1))
      expect(replayOf(reader)).to.include({ from: second, to: ids[3], truncated: false })
      const since = await begun({ since: String(second) })
      await since.until((it) => it.ids().length === 2)
      expect(since.ids()).to.deep.equal(ids.slice(2))
    })

    for (const junk of ['', 'abc', '1.5', '-1', '1e3', '0x10', '99999999999999999999', ' ']) {
      it(`as if there were no cursor where it is ${JSON.stringify(junk)}`, async () => {
        await start()
        const ids = await post(1)
        expect(replayOf(await begun({ since: junk }))).to.equal(undefined)
        const reader = await begun({ since: String(last(ids) - 1), lastEventId: junk })
        await reader.until((it) => it.ids().length === 1)
      })
    }

    it('with nothing to replay where nothing was missed, or the cursor is of the future', async () => {
      await start()
      const id = last(await post(1))
      for (const since of [id, id + 1000]) {
        const reader = await begun({ since: String(since) })
        expect(replayOf(reader)).to.include({ from: null, to: null, truncated: false })
        expect(reader.ids()).to.deep.equal([])
      }
    })

    for (const [missed, truncated] of [
      [99, false],
      [100, false],
      [101, true],
      [250, true],
    ] as const) {
      it(`with the newest 100 of ${missed} missed messages, oldest first, and says whether there were more`, async () => {
        await start()
        const ids = await post(missed)
        const shown = ids.slice(-100)
        const reader = await begun({ since: String((ids[0] ?? 0) - 1) })
        await reader.until((it) => it.ids().length >= shown.length)
        expect(reader.ids()).to.deep.equal(shown)
        const oldest = await database.query<{ id: number }>(
          'SELECT min(id) AS id FROM chat_messages WHERE removed_at IS NULL',
          [],
        )
        expect(replayOf(reader)).to.deep.equal({
          from: shown[0],
          to: last(shown),
          truncated,
          oldest_available: oldest.rows[0]?.id,
        })
      })
    }

    it('without removed messages, and with the removals since the cursor, which carry no id', async () => {
      await start()
      const [a = 0, b = 0, c = 0] = await post(3)
      await commitRemoval(database, a)
      const [d = 0] = await post(1)
      await commitRemoval(database, b)
      const reader = await begun({ since: String(c) })
      await reader.until(({ of }) => of('delete').length === 2)
      // Removals first: who has a message comes back without what was removed before it.
      expect(reader.events.slice(2).map(({ event }) => event)).to.deep.equal(['delete', 'delete', 'message'])
      expect(reader.events.slice(2)).to.deep.include({ event: 'delete', data: { id: a } })
      expect(reader.ids()).to.deep.equal([d])
      const later = await begun({ since: String(d) })
      await later.until(({ of }) => of('delete').length === 1)
      expect(later.of('delete')).to.deep.equal([{ event: 'delete', data: { id: b } }])
      const earlier = await begun({ since: String(a - 1) })
      await earlier.until(({ of }) => of('delete').length >= 2)
      expect(earlier.ids()).to.deep.equal([c, d])
    })
  })

  describe('loses and repeats nothing between the replay and what is live', () => {
    const READS = ['head', 'newest', 'messages', 'removalsSince', 'oldest'] as const

    for (const held of READS) {
      for (const when of ['before', 'after'] as const) {
        it(`when messages and a removal come just ${when} the read of "${held}"`, async () => {
          let happen: (() => Promise<void>) | undefined
          const meanwhile = async () => {
            const once = happen
            happen = undefined
            await once?.()
          }
          const hold =
            <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
            async (...args: A): Promise<R> => {
              if (when === 'before') await meanwhile()
              const result = await read(...args)
              if (when === 'after') await meanwhile()
              return result
            }
          await start({ gate: (reads) => ({ ...reads, [held]: hold(reads[held] as never) }) as StreamReads })
          // Somebody reads already, so that what happens is told while the new reader begins.
          await begun()
          const missed = await post(held === 'newest' ? 120 : 20)
          const news: number[] = []
          const removed = missed.at(-5) as number
          happen = async () => {
            news.push(...(await post(3)))
            await commitRemoval(database, removed)
            await server.removed(removed)
            news.push(...(await post(2)))
          }
          const reader = await begun({ since: String((missed[0] as number) - 1) })
          news.push(...(await post(2)))
          await reader.until((it) => it.ids().at(-1) === last(news) && it.of('delete').length > 0)
          const told = reader.ids()
          const window = [...missed, ...news].filter((id) => id >= (told[0] as number))
          expect(told.filter((id) => id !== removed)).to.deep.equal(window.filter((id) => id !== removed))
          expect(new Set(told).size).to.equal(told.length)
          // Whoever was told of the message is told of its removal afterwards.
          const order = reader.events.map(({ event, data }) => [event, (data as { id?: number }).id].join())
          expect(order.lastIndexOf(`delete,${removed}`)).to.be.greaterThan(
            order.indexOf(`message,${removed}`),
          )
        })
      }
    }

    it('and readers who come while one is being served are served by one read', async () => {
      const together = 40
      let heads = 0
      await start({
        gate: (reads) => ({
          ...reads,
          async head() {
            heads++
            await eventually('all readers', () => server.stream.open === together)
            return reads.head()
          },
        }),
      })
      const ids = await post(5)
      const cursors = Array.from({ length: together }, (_, i) => (ids[0] as number) - 1 + (i % 5))
      const all = await Promise.all(cursors.map((since) => begun({ since: String(since) })))
      for (const [index, reader] of all.entries()) {
        await reader.until((it) => it.ids().at(-1) === last(ids))
        expect(reader.ids()).to.deep.equal(ids.filter((id) => id > (cursors[index] as number)))
      }
      expect(heads).to.equal(2)
    })
  })

  describe('tells', () => {
    it('a change of the posting mode to everyone', async () => {
      await start()
      const all = [await begun(), await begun({ since: '0' })]
      server.told.state = { posting: 'paused', since: '2026-01-02T00:00:00.000Z', reason: 'night' }
      server.stream.modeChanged()
      for (const reader of all) {
        await reader.until(({ of }) => of('state').length === 2)
        expect(reader.of('state')[1]?.data).to.deep.equal(server.told.state)
      }
    })

    it('counts again only when they have changed, and not within the interval', async () => {
      await start({ statsIntervalMs: 60 })
      const reader = await begun()
      server.told.stats = { ...COUNTS, as_of: '2026-01-01T00:01:00.000Z' }
      // Several intervals, in which nothing but the time has changed.
      await new Promise((resolve) => setTimeout(resolve, 200))
      expect(reader.of('stats').length).to.equal(1)
      server.told.stats = { ...server.told.stats, messages: 7 }
      await reader.until(({ of }) => of('stats').length === 2)
      expect(reader.of('stats')[1]?.data).to.deep.equal(server.told.stats)
      await new Promise((resolve) => setTimeout(resolve, 200))
      expect(reader.of('stats').length).to.equal(2)
    })

    it('how many streams are open as a metric', async () => {
      await start()
      const [reader] = [await begun(), await begun()]
      const gauge = async () =>
        (await server.kit.metrics.json()).find(({ name }) => name === 'sse_connections')?.values[0]?.value
      expect([server.stream.open, await gauge()]).to.deep.equal([2, 2])
      reader.close()
      await eventually('the end of a stream', () => server.stream.open === 1)
      expect(await gauge()).to.equal(1)
    })
  })

  describe('refuses', () => {
    const limits = { perAddress: 2, total: 5 }
    const refusal = async (ip: string) => {
      const { status, body, headers } = await server.kit.request('GET', '/api/stream', {
        headers: { 'x-forwarded-for': ip },
      })
      expect(String(body.retry_after)).to.equal(headers.get('retry-after'))
      return [status, body.error]
    }

    it('more streams than an address may open, IPv6 by its /64, until one closes', async () => {
      await start({ limits })
      await begun({ ip: '2001:db8::1' })
      const second = await begun({ ip: '2001:db8:0:0:ffff::2' })
      expect(await refusal('2001:db8::3')).to.deep.equal([429, 'rate_limited'])
      await begun({ ip: '2001:db8:0:1::1' })
      second.close()
      await eventually('the end of a stream', () => server.stream.open === 2)
      await begun({ ip: '2001:db8::3' })
    })

    it('more streams than the server holds', async () => {
      await start({ limits })
      for (let i = 0; i < limits.total; i++) await begun({ ip: `10.0.0.${i}` })
      expect(await refusal('10.0.1.1')).to.deep.equal([503, 'unavailable'])
      expect(server.stream.open).to.equal(limits.total)
    })

    it('exactly those beyond the limit when all come at once', async () => {
      await start({ limits: { perAddress: 7, total: 100 } })
      const all = await Promise.all(Array.from({ length: 20 }, () => server.open({ ip: '10.0.0.1' })))
      readers.push(...all)
      expect(all.filter(({ status }) => status === 200).length).to.equal(7)
      expect(all.filter(({ status }) => status === 429).length).to.equal(13)
    })

    it('nobody where limits are off', async () => {
      await start()
      await Promise.all(Array.from({ length: 120 }, () => begun({ ip: '10.0.0.1' })))
      expect(server.stream.open).to.equal(120)
    })
  })

  describe('when the database is away', () => {
    it('ends streams that cannot begin, so that clients come back', async () => {
      let down = true
      await start({
        gate: (reads) => ({
          ...reads,
          head: () => (down ? Promise.reject(new Error('away')) : reads.head()),
        }),
      })
      const reader = await server.open({ since: '0' })
      await reader.ended
      expect(reader.events).to.deep.equal([])
      expect(reader.text()).to.include('retry: 3000')
      expect(server.stream.open).to.equal(0)
      down = false
      await begun()
    })

    it('goes on telling what this server commits, and catches up on the rest when it is back', async () => {
      let down = false
      await start({
        pollMs: 20,
        gate: (reads) => ({
          ...reads,
          head: () => (down ? Promise.reject(new Error('away')) : reads.head()),
        }),
      })
      const reader = await begun()
      down = true
      const ids = await post(2)
      await reader.until((it) => it.ids().length === 2)
      const elsewhere = await commit(2)
      await new Promise((resolve) => setTimeout(resolve, 60))
      expect(reader.ids()).to.deep.equal(ids)
      down = false
      await reader.until((it) => it.ids().at(-1) === elsewhere[1]?.id)
      expect(reader.ids()).to.deep.equal([...ids, ...elsewhere.map(({ id }) => id)])
    })

    it('closes a reader for whom too much happens before its first read ends', async () => {
      let release: () => void = () => undefined
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      let hold = false
      await start({
        gate: (reads) => ({
          ...reads,
          async head() {
            const head = await reads.head()
            if (hold) await released
            return head
          },
        }),
      })
      await begun()
      hold = true
      const late = await server.open()
      const messages = await commitMessages(database, 400, 'x'.repeat(4000))
      await server.posted(messages)
      await late.ended
      expect(server.stream.open).to.equal(1)
      release()
    })
  })
})
