import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { createSealedValues } from '../../src/keys/sealed-values.ts'
import { createSealing } from '../../src/keys/sealing.ts'
import { type Bus, createBus } from '../../src/store/bus.ts'
import { createOpenRecent } from '../../src/store/recent.ts'
import { rejection } from '../support/rejection.ts'
import { startBreakingProxy } from '../support/servers/breaking-proxy.ts'
import { type OwnRedis, ownRedis, requireRedis } from '../support/servers/redis.ts'
import { startSilentRedis } from '../support/servers/silent-redis.ts'

const MINUTE_MS = 60_000
const codec = createSealedValues(createSealing(randomBytes(32)))
const silentBus: Bus = {
  publish: async () => undefined,
  announce: async () => undefined,
  subscribe: () => () => undefined,
  close: () => undefined,
}
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

interface Setting {
  readonly load: (key: string) => Promise<unknown>
  readonly ttlMs?: number
  readonly clock?: { now(): number }
  readonly bus?: Bus
  readonly name?: string
}

const openOn = (
  redis: Redis,
  { load, ttlMs = MINUTE_MS, clock = Date, bus = silentBus, name = 'test' }: Setting,
) => createOpenRecent({ clock, bus, codec, redis })({ name, ttlMs, maxEntries: 100, shared: true, load })

describe('values that servers share', () => {
  let own: OwnRedis
  let redisUrl: string

  before(function () {
    redisUrl = requireRedis(this)
    own = ownRedis(redisUrl)
  })
  after(() => own?.close())

  /** The names of all values in Redis, without the clients' prefix. */
  const namesIn = async (redis: Redis): Promise<string[]> =>
    (await redis.keys(`${own.keyPrefix}assay:recent:*`)).map((name) => name.slice(own.keyPrefix.length))

  /** Waits until the value of a look-up has reached Redis, which nobody else waits for. */
  const stored = async (redis: Redis, before: number): Promise<void> => {
    while ((await namesIn(redis)).length === before) await pause(1)
  }

  beforeEach(async () => {
    const redis = await own.open()
    for (const name of await namesIn(redis)) await redis.del(name)
  })

  it('are looked up once for all servers, and arrive as they were', async () => {
    const values = {
      bytes: Buffer.from([0, 255, 7]),
      nothing: null,
      none: undefined,
      at: 1.5,
      list: ['a', {}],
    }
    for (const [key, value] of Object.entries(values)) {
      let reads = 0
      const load = async () => {
        reads++
        return value
      }
      const redis = await own.open()
      const before = (await namesIn(redis)).length
      await openOn(redis, { load }).get(key)
      await stored(redis, before)
      for (let i = 0; i < 3; i++)
        expect(await openOn(await own.open(), { load }).get(key)).to.deep.equal(value)
      expect(reads).to.equal(1)
    }
  })

  it("a failed look-up is everybody's own", async () => {
    const broken = new Error('database away')
    const redis = await own.open()
    const fails = openOn(redis, { load: () => Promise.reject(broken) })
    expect(await rejection(fails.get('a'))).to.equal(broken)
    expect(await openOn(redis, { load: async () => 'value' }).get('a')).to.equal('value')
  })

  it('what is forgotten on one server is gone on all, though a slow look-up ends only afterwards', async () => {
    let endSlow: ((value: string) => void) | undefined
    const slow = openOn(await own.open(), { load: () => new Promise((resolve) => (endSlow = resolve)) })
    const reading = slow.get('key')
    while (endSlow === undefined) await pause(1)
    const revoking = openOn(await own.open(), { load: async () => 'revoked' })
    await revoking.forget('key')
    endSlow('valid')
    expect(await reading).to.equal('valid')
    // What the slow one stores comes before this on its connection, or not at all.
    await pause(20)
    expect(await openOn(await own.open(), { load: async () => 'revoked' }).get('key')).to.equal('revoked')
  })

  it('a value that is there already is removed when it is forgotten', async () => {
    const redis = await own.open()
    await openOn(redis, { load: async () => 'valid' }).get('key')
    await stored(redis, 0)
    await openOn(await own.open(), { load: async () => 'revoked' }).forget('key')
    expect(await openOn(redis, { load: async () => 'revoked' }).get('key')).to.equal('revoked')
  })

  it('the server that forgot a key never takes its old value from Redis, though Redis was not reached', async () => {
    const direct = await own.open()
    await openOn(direct, { load: async () => 'valid' }).get('key')
    await stored(direct, 0)
    const proxy = await startBreakingProxy(redisUrl)
    const redis = await own.open({}, proxy.url)
    let value = 'valid'
    const memory = openOn(redis, { load: async () => value })
    expect(await memory.get('key')).to.equal('valid')
    value = 'revoked'
    proxy.breakAt('PX', 'before')
    await memory.forget('key')
    expect(proxy.broken).to.equal(1)
    if (redis.status !== 'ready') await once(redis, 'ready')
    expect(await memory.get('key')).to.equal('revoked')
    redis.disconnect()
    await proxy.close()
  })

  it('servers on one bus forget a key at once, whatever their own memory holds', async () => {
    const servers = await Promise.all(
      [1, 2].map(async () => {
        const redis = await own.open()
        const bus = createBus({ redis })
        const state = { reads: 0 }
        const load = async () => ++state.reads
        return { bus, state, memory: openOn(redis, { load, bus }) }
      }),
    )
    const [a, b] = servers as [(typeof servers)[0], (typeof servers)[0]]
    // Heard by both once both listen.
    await new Promise<void>((resolve) => b.bus.subscribe('ready', () => {}, resolve))
    await b.memory.get('key')
    const heard = new Promise<void>((resolve) => b.bus.subscribe('recent:test', () => resolve()))
    await a.memory.forget('key')
    await heard
    await b.memory.get('key')
    expect(b.state.reads).to.equal(2)
    for (const { bus } of servers) bus.close()
  })

  it('a value is as old on the server that took it over as on the one that looked it up', async () => {
    const clock = { time: Date.now(), now: () => clock.time }
    let reads = 0
    const load = async () => ++reads
    const redis = await own.open()
    await openOn(redis, { load, clock }).get('key')
    await stored(redis, 0)
    const late = openOn(await own.open(), { load, clock })
    clock.time += MINUTE_MS - 1
    expect(await late.get('key')).to.equal(1)
    clock.time += 1
    expect(await late.get('key')).to.equal(2)
  })

  it('a server whose clock is late believes the age that Redis knows', async () => {
    let reads = 0
    const load = async () => ++reads
    const redis = await own.open()
    await openOn(redis, { load }).get('key')
    await stored(redis, 0)
    const [name = ''] = await namesIn(redis)
    await redis.pexpire(name, 10_000)
    const clock = { time: Date.now() - MINUTE_MS / 2, now: () => clock.time }
    const late = openOn(await own.open(), { load, clock })
    expect(await late.get('key')).to.equal(1)
    await redis.del(name)
    clock.time += 9000
    expect(await late.get('key')).to.equal(1)
    clock.time += 1000
    expect(await late.get('key')).to.equal(2)
  })

  it('the life of a value in Redis begins before its look-up, however long that takes', async () => {
    const redis = await own.open()
    const load = () => pause(50).then(() => 'value')
    await openOn(redis, { load }).get('key')
    await stored(redis, 0)
    const [name = ''] = await namesIn(redis)
    // A timer may fire a little early.
    expect(await redis.pttl(name)).to.be.within(1, MINUTE_MS - 45)
  })

  it('no value is used longer than its time to live after its look-up began, on any number of servers', async () => {
    const ttlMs = 40
    // Clocks of one machine that count whole milliseconds: twice one of them, and Redis's own.
    const toleranceMs = 4
    const startedAt = performance.now()
    const truth = () => Math.floor(performance.now() - startedAt)
    const load = async () => {
      const value = truth()
      await pause(value % 7)
      return value
    }
    const memories = await Promise.all(
      Array.from({ length: 4 }, async () => openOn(await own.open(), { load, ttlMs })),
    )
    let used = 0
    const use = async (memory: (typeof memories)[0], rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const asked = truth()
        const value = (await memory.get('key')) as number
        expect(asked - value).to.be.below(ttlMs + toleranceMs)
        if (value < asked) used++
        await pause((round * 7) % 5)
      }
    }
    await Promise.all(memories.map((memory) => use(memory, 100)))
    expect(used).to.be.above(100)
  })

  it('nobody who reads Redis learns a value or a key, and nobody who writes to it makes one', async () => {
    const redis = await own.open()
    const secret = 'midstate-of-a-key'
    await openOn(redis, { load: async () => ({ secret }) }).get('digest-of-a-key')
    await stored(redis, 0)
    const [name = ''] = await namesIn(redis)
    const bytes = (await redis.getBuffer(name)) ?? Buffer.alloc(0)
    expect(`${name}${bytes.toString('latin1')}`).not.to.match(/midstate|digest/)

    const load = async () => 'from the database'
    await openOn(redis, { load: async () => 'of another key' }).get('other')
    await stored(redis, 1)
    const other = (await namesIn(redis)).find((found) => found !== name) ?? ''
    await redis.copy(other, name, 'REPLACE')
    expect(await openOn(redis, { load }).get('digest-of-a-key')).to.equal('from the database')
    for (const forged of ['x', JSON.stringify({ at: Date.now(), value: 1 }), bytes.subarray(1)]) {
      await redis.set(name, forged, 'PX', MINUTE_MS)
      expect(await openOn(redis, { load }).get('digest-of-a-key')).to.equal('from the database')
    }
  })

  it('an old value that somebody puts back is not taken for a new one', async () => {
    const redis = await own.open()
    let now = Date.now()
    const clock = { now: () => now }
    await openOn(redis, { load: async () => 'valid', clock }).get('key')
    await stored(redis, 0)
    const [name = ''] = await namesIn(redis)
    await redis.persist(name)
    // Nothing of ours is without an end.
    expect(await openOn(redis, { load: async () => 'new', clock }).get('key')).to.equal('new')
    await redis.pexpire(name, 100 * MINUTE_MS)
    now += MINUTE_MS
    expect(await openOn(redis, { load: async () => 'revoked', clock }).get('key')).to.equal('revoked')
  })

  it('memories of different kinds share nothing', async () => {
    const redis = await own.open()
    await openOn(redis, { load: async () => 'a', name: 'a' }).get('key')
    await stored(redis, 0)
    expect(await openOn(redis, { load: async () => 'b', name: 'b' }).get('key')).to.equal('b')
    await stored(redis, 1)
  })
})

describe('values that servers would share, without their Redis', () => {
  const options = { maxRetriesPerRequest: 0, enableOfflineQueue: false, enableReadyCheck: false }

  it('while Redis is away the database answers, and forgetting works here', async () => {
    // Port 1 is never Redis.
    const redis = new Redis(1, '127.0.0.1', options)
    redis.on('error', () => undefined)
    try {
      let reads = 0
      const memory = openOn(redis, { load: async () => ++reads })
      expect([await memory.get('a'), await memory.get('a')]).to.deep.equal([1, 1])
      await memory.forget('a')
      expect(await memory.get('a')).to.equal(2)
    } finally {
      redis.disconnect()
    }
  })

  it('while Redis hangs only the first look-up waits for it', async () => {
    const silent = await startSilentRedis(/pttl\r|get\r|time\r|set\r/i)
    const redis = new Redis(silent.port, '127.0.0.1', options)
    redis.on('error', () => undefined)
    await once(redis, 'ready')
    const memory = openOn(redis, { load: async (key) => key })
    expect(await memory.get('a')).to.equal('a')
    const asked = silent.unanswered.length
    expect(asked).to.equal(3)
    expect(await memory.get('b')).to.equal('b')
    expect(silent.unanswered).to.have.lengthOf(asked)
    await memory.forget('a')
    redis.disconnect()
    await silent.close()
  })
})
