import { once } from 'node:events'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { createBus } from '../../src/store/bus.ts'
import { type OwnRedis, ownRedis, requireRedis } from '../support/servers/redis.ts'
import { startSilentRedis } from '../support/servers/silent-redis.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('the bus in this process', () => {
  it('tells every listener of the channel and nobody else, after the publisher went on', async () => {
    const bus = createBus()
    const heard: string[] = []
    bus.subscribe('a', (message) => heard.push(`1 ${message}`))
    bus.subscribe('a', (message) => heard.push(`2 ${message}`))
    bus.subscribe('b', (message) => heard.push(`other ${message}`))
    const told = bus.publish('a', 'x')
    expect(heard).to.deep.equal([])
    await told
    await turn()
    expect(heard).to.deep.equal(['1 x', '2 x'])
    await bus.publish('nobody', 'listens')
  })

  it('a listener that throws disturbs neither the publisher nor its neighbours, and is logged', async () => {
    const warnings: object[] = []
    const logger = { info: () => {}, warn: (details: object) => warnings.push(details) }
    const bus = createBus({ logger })
    const heard: string[] = []
    const broken = new Error('broken listener')
    bus.subscribe('a', () => {
      throw broken
    })
    bus.subscribe('a', (message) => heard.push(message))
    await bus.publish('a', 'x')
    await turn()
    expect(heard).to.deep.equal(['x'])
    expect(warnings).to.deep.equal([{ err: broken, channel: 'a' }])
  })

  it('who has unsubscribed, or sees the bus closed, hears nothing more, not even what is under way', async () => {
    const bus = createBus()
    const heard: string[] = []
    const unsubscribe = bus.subscribe('a', (message) => heard.push(message))
    const late = bus.publish('a', 'x')
    unsubscribe()
    unsubscribe()
    bus.subscribe('a', (message) => heard.push(`again ${message}`))
    await late
    await turn()
    expect(heard).to.deep.equal([])
    const closing = bus.publish('a', 'y')
    bus.close()
    await closing
    await turn()
    expect(heard).to.deep.equal([])
  })
})

describe('the bus on Redis', () => {
  let redis: OwnRedis
  const closers: (() => void)[] = []

  before(function () {
    redis = ownRedis(requireRedis(this))
  })
  afterEach(() => {
    for (const close of closers.splice(0)) close()
    redis?.close()
  })

  /** A bus of another server, and what it hears on a channel. */
  const server = async (channel: string, options: Parameters<OwnRedis['open']>[0] = {}) => {
    const client = await redis.open(options)
    const bus = createBus({ redis: client })
    closers.push(() => bus.close())
    const heard: string[] = []
    let wake = (): void => undefined
    let gaps = 0
    const unsubscribe = bus.subscribe(
      channel,
      (message) => {
        heard.push(message)
        wake()
      },
      () => {
        gaps++
        wake()
      },
    )
    const until = async (condition: () => boolean) => {
      while (!condition()) await new Promise<void>((resolve) => (wake = resolve))
    }
    // The first gap ends when the subscription has begun.
    await until(() => gaps === 1)
    return { client, bus, heard, until, unsubscribe, gaps: () => gaps }
  }

  it('a message reaches every server once and its publisher at once', async () => {
    const [a, b] = [await server('x'), await server('x')]
    void a.bus.publish('x', 'one')
    await Promise.resolve()
    expect(a.heard).to.deep.equal(['one'])
    await b.until(() => b.heard.length === 1)
    await b.bus.publish('x', 'two ✓')
    await a.until(() => a.heard.length === 2)
    await a.bus.publish('x', '')
    await b.until(() => b.heard.length === 3)
    expect(a.heard).to.deep.equal(['one', 'two ✓', ''])
    expect(b.heard).to.deep.equal(['one', 'two ✓', ''])
  })

  it('an announcement ends when every server has said that it heard it, or after a while', async () => {
    const [a, b] = [await server('x'), await server('x')]
    const third = await redis.open()
    const prefix = `${a.client.options.keyPrefix}assay:bus:0:`
    const texts: string[] = []
    const heard = new Promise<void>((resolve) => {
      third.on('message', (_, text) => {
        texts.push(text)
        resolve()
      })
    })
    await third.subscribe(`${prefix}x`)
    let isOver = false
    const told = a.bus.announce('x', 'one').then(() => {
      isOver = true
    })
    await heard
    await b.until(() => b.heard.length === 1)
    for (let i = 0; i < 5; i++) await a.client.ping()
    expect(isOver).to.equal(false)
    const [, sender, number] = /^([0-9a-f]{10})([0-9a-f]{6})one$/.exec(texts[0] ?? '') ?? []
    await b.client.publish(`${prefix}heard:${sender}`, number ?? '')
    await told
    await a.bus.announce('x', 'two')
    expect(b.heard).to.deep.equal(['one', 'two'])
    third.disconnect()
  })

  it('an announcement reaches every server before it ends', async () => {
    const servers = [await server('x'), await server('x'), await server('x')]
    const [a, other] = servers
    for (let round = 0; round < 200; round++) {
      const message = `message ${round}`
      await Promise.all([a?.bus.announce('x', message), other?.bus.announce('x', `other ${round}`)])
      for (const { heard } of servers) expect(heard.slice(-2)).to.include(message)
    }
  })

  it('channels, key prefixes and databases are told apart', async () => {
    const a = await server('x')
    const others = [
      await server('y'),
      await server('x', { keyPrefix: `${redis.keyPrefix}other:` }),
      await server('x', { db: 1 }),
    ]
    const b = await server('x')
    await a.bus.publish('x', 'one')
    await b.until(() => b.heard.length === 1)
    // Each hears its own channel after it could have heard the other's.
    for (const other of others) {
      await other.client.ping()
      expect(other.heard).to.deep.equal([])
    }
  })

  it('who unsubscribes hears nothing more, and what is subscribed later is heard as well', async () => {
    const [a, b] = [await server('x'), await server('x')]
    b.unsubscribe()
    const later = new Promise<string>((resolve) => {
      b.bus.subscribe('later', resolve, () => void a.bus.publish('later', 'heard'))
    })
    await a.bus.publish('x', 'one')
    expect(await later).to.equal('heard')
    expect(b.heard).to.deep.equal([])
  })

  it('a lost connection subscribes again and tells of the gap', async () => {
    const [a, b] = [await server('x'), await server('x', { connectionName: `${redis.keyPrefix}b` })]
    const list = String(await a.client.call('CLIENT', 'LIST', 'TYPE', 'pubsub'))
    const line = list.split('\n').find((text) => text.includes(`name=${redis.keyPrefix}b `))
    await a.client.call('CLIENT', 'KILL', 'ID', /\bid=(\d+)/.exec(line ?? '')?.[1] ?? '')
    await b.until(() => b.gaps() === 2)
    await a.bus.publish('x', 'after')
    await b.until(() => b.heard.length > 0)
    expect(b.heard).to.deep.equal(['after'])
  })
})

describe('the bus without its Redis', () => {
  const clients: Redis[] = []
  const open = (port: number): Redis => {
    const client = new Redis(port, '127.0.0.1', {
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      retryStrategy: () => 10,
    })
    client.on('error', () => undefined)
    clients.push(client)
    return client
  }
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect()
  })

  it('while Redis is away, listeners of this process are told and publishers are not disturbed', async () => {
    // Port 1 is never Redis.
    const bus = createBus({ redis: open(1) })
    const heard: string[] = []
    bus.subscribe('a', (message) => heard.push(message))
    await bus.publish('a', 'x')
    await turn()
    expect(heard).to.deep.equal(['x'])
    bus.close()
  })

  it('a Redis that hangs holds no publisher up', async () => {
    const silent = await startSilentRedis(/publish\r/i)
    const client = open(silent.port)
    await once(client, 'ready')
    const bus = createBus({ redis: client })
    await bus.publish('a', 'x')
    expect(silent.unanswered).to.have.lengthOf(1)
    bus.close()
    await silent.close()
  })

  it('a listening connection that answers nothing any more is replaced', async () => {
    const silent = await startSilentRedis(/ping\r|subscribe\r/i)
    const bus = createBus({ redis: open(silent.port), heartbeatMs: 10 })
    bus.subscribe('a', () => undefined)
    while (silent.connections < 4) await new Promise((resolve) => setTimeout(resolve, 5))
    bus.close()
    await silent.close()
  })
})
