import { expect } from 'chai'
import { Redis } from 'ioredis'
import { createLimits, createSomeAtATime, type Limits, MAX_LOCAL_BUCKETS } from '../../src/store/limits.ts'
import { startSilentRedis } from '../support/servers/silent-redis.ts'

const MINUTE = { limit: 3, windowSeconds: 60, cost: 1 }

const bucketName = () => `test:${process.pid}:${performance.now()}`

const countsDown = async (limits: Limits) => {
  const bucket = bucketName()
  const states = []
  for (let i = 0; i < 5; i++) states.push(await limits.consume(bucket, MINUTE))
  expect(states.map(({ allowed }) => allowed)).to.deep.equal([true, true, true, false, false])
  expect(states.map(({ remaining }) => remaining)).to.deep.equal([2, 1, 0, 0, 0])
  for (const { limit, resetSeconds } of states) {
    expect(limit).to.equal(3)
    expect(resetSeconds).to.be.within(50, 60)
  }
}

describe('limits in this process', () => {
  it('a bucket holds its limit and no more', () => countsDown(createLimits()))

  it('buckets, windows and costs are counted apart', async () => {
    const limits = createLimits()
    const bucket = bucketName()
    expect((await limits.consume(bucket, { ...MINUTE, cost: 3 })).remaining).to.equal(0)
    expect((await limits.consume(`${bucket}x`, MINUTE)).remaining).to.equal(2)
    expect((await limits.consume(bucket, { ...MINUTE, windowSeconds: 900 })).remaining).to.equal(2)
    expect((await limits.consume(bucket, { ...MINUTE, limit: 10 })).remaining).to.equal(6)
  })

  it('concurrent calls never get more than the limit', async () => {
    const limits = createLimits()
    const bucket = bucketName()
    const states = await Promise.all(Array.from({ length: 50 }, () => limits.consume(bucket, MINUTE)))
    expect(states.filter(({ allowed }) => allowed)).to.have.length(3)
  })

  it('a new window starts full', async () => {
    const limits = createLimits()
    const bucket = bucketName()
    const second = { limit: 1, windowSeconds: 1, cost: 1 }
    await limits.consume(bucket, second)
    expect((await limits.consume(bucket, second)).allowed).to.equal(false)
    await new Promise((resolve) => setTimeout(resolve, 1050))
    expect((await limits.consume(bucket, second)).allowed).to.equal(true)
  })

  it('only so many buckets are remembered, and the window that was opened first is forgotten first', async () => {
    const limits = createLimits()
    const once = { ...MINUTE, limit: 1 }
    for (const bucket of ['oldest', 'next']) await limits.consume(bucket, once)
    // Asking again does not make a window younger.
    expect((await limits.consume('oldest', once)).allowed).to.equal(false)
    for (let i = 0; i < MAX_LOCAL_BUCKETS - 1; i++) await limits.consume(`2001:db8:${i}::/64`, once)
    expect((await limits.consume('next', once)).allowed).to.equal(false)
    expect((await limits.consume('oldest', once)).allowed).to.equal(true)
  })
})

describe('places of a key', () => {
  it('are so many at a time, each given back once', () => {
    const begin = createSomeAtATime(2)
    const [first, second] = [begin('a'), begin('a')]
    expect([begin('a'), typeof begin('b')]).to.deep.equal([undefined, 'function'])
    first?.()
    first?.()
    const third = begin('a')
    expect([typeof third, begin('a')]).to.deep.equal(['function', undefined])
    for (const end of [second, third]) end?.()
    expect(begin('a')).to.be.a('function')
  })
})

describe('limits with Redis', () => {
  const options = { maxRetriesPerRequest: 0, enableOfflineQueue: false, retryStrategy: () => null }
  const open = async (url: string): Promise<Redis> => {
    const redis = new Redis(url, options)
    redis.on('error', () => undefined)
    await new Promise((resolve) => redis.once('ready', resolve).once('end', resolve))
    return redis
  }

  it('two instances share one count', async function () {
    const { REDIS_URL } = process.env
    if (!REDIS_URL) this.skip()
    const clients = [await open(REDIS_URL), await open(REDIS_URL)] as const
    try {
      const [a, b] = clients.map((redis) => createLimits({ redis })) as [Limits, Limits]
      await countsDown(a)
      const bucket = bucketName()
      const states = await Promise.all(
        Array.from({ length: 20 }, (_, i) => (i % 2 ? a : b).consume(bucket, MINUTE)),
      )
      expect(states.filter(({ allowed }) => allowed)).to.have.length(3)
    } finally {
      for (const redis of clients) redis.disconnect()
    }
  })

  it('with Redis down, calls are counted here', async () => {
    // Port 1 is never Redis.
    const redis = await open('redis://127.0.0.1:1')
    const told: unknown[] = []
    try {
      await countsDown(createLimits({ redis, onFailure: (error) => told.push(error) }))
      expect(told).to.have.length(1)
    } finally {
      redis.disconnect()
    }
  })

  it('with Redis hanging, only the first call waits for it', async () => {
    const silent = await startSilentRedis(/evalsha|eval\r/i)
    const redis = new Redis(silent.port, '127.0.0.1', { ...options, enableReadyCheck: false })
    redis.on('error', () => undefined)
    const told: unknown[] = []
    try {
      await new Promise((resolve) => redis.once('ready', resolve))
      await countsDown(createLimits({ redis, onFailure: (error) => told.push(error) }))
      expect(told).to.have.length(1)
      expect(String(told[0])).to.include('no answer within')
    } finally {
      redis.disconnect()
      await silent.close()
    }
  })
})
