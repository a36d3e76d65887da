import { expect } from 'chai'
import { openRedis } from '../../src/store/redis.ts'
import { rejection } from '../support/rejection.ts'

const REDIS_URL = process.env.REDIS_URL || undefined

describe('Redis', () => {
  it('fails a command at once, and tells the log, while it can not be reached', async () => {
    const warnings: string[] = []
    const log = { info: () => {}, warn: (_details: object, message: string) => warnings.push(message) }
    const redis = await openRedis('redis://127.0.0.1:1', log)
    try {
      expect(await rejection(redis.ping())).to.be.instanceOf(Error)
      await new Promise<void>((resolve) => redis.client.once('reconnecting', () => resolve()))
      expect(warnings).to.deep.equal(['Redis is not reachable'])
    } finally {
      await redis.close()
    }
  })

  const maybe = REDIS_URL === undefined ? it.skip : it
  maybe('answers a ping once connected', async () => {
    const redis = await openRedis(REDIS_URL ?? '')
    try {
      if (redis.client.status !== 'ready') {
        await new Promise<void>((resolve) => redis.client.once('ready', () => resolve()))
      }
      await redis.ping()
    } finally {
      await redis.close()
    }
  })
})
