/** The live stream through crashes and across servers: real processes, and the client that people use. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { EventSource } from 'eventsource'
import { type Follower, playKills, postMessage } from '../../../support/chat/stream-kills.ts'
import { startCluster } from '../../../support/servers/cluster.ts'
import { onEmbedded, onPostgres } from '../../../support/servers/database.ts'
import { createScratchDatabase } from '../../../support/servers/scratch-database.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const FOLLOWERS = 3
const POSTERS_PER_SERVER = 24
const PATIENCE_MS = 120_000

/** Readers with the `eventsource` package, and a way to close them all. */
const createFollowers = () => {
  const sources: EventSource[] = []
  const follow = (url: string): Follower => {
    const ids: number[] = []
    let begun = 0
    const source = new EventSource(`${url}/api/stream`)
    source.addEventListener('message', ({ lastEventId }) => ids.push(Number(lastEventId)))
    source.addEventListener('state', () => begun++)
    sources.push(source)
    return { ids: () => ids, begun: () => begun }
  }
  return {
    follow: (url: string) => Array.from({ length: FOLLOWERS }, () => follow(url)),
    close: () => {
      for (const source of sources) source.close()
    },
  }
}

/** A reader that keeps the ids alone. */
const followIds = (url: string): Promise<{ readonly ids: number[]; close(): void }> =>
  new Promise((resolve, reject) => {
    get(`${url}/api/stream`, { agent: false }, (response) => {
      const ids: number[] = []
      let id = 0
      let rest = ''
      response.setEncoding('latin1')
      response.on('error', () => undefined)
      response.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          if (line.startsWith('id: ')) id = Number(line.slice(4))
          else if (line === 'event: message') ids.push(id)
          // Registered from here on.
          else if (line === 'event: state') resolve({ ids, close: () => response.destroy() })
        }
      })
    }).on('error', reject)
  })

/** Posts through two servers at once while readers follow both: each sees every message once and in order. */
const playTwoServers = async (messages: number, readersPerServer: number, more = {}): Promise<void> => {
  const cluster = await startCluster(process.env.DATABASE_URL as string, 2, more)
  try {
    const urls = cluster.servers.map(({ url }) => url)
    const readers = await Promise.all(
      urls.flatMap((url) => Array.from({ length: readersPerServer }, () => followIds(url))),
    )
    let left = messages
    const poster = async (url: string) => {
      while (left-- > 0) await postMessage(url)
    }
    await Promise.all(urls.flatMap((url) => Array.from({ length: POSTERS_PER_SERVER }, () => poster(url))))
    const expected = Array.from({ length: messages }, (_, i) => i + 1)
    const giveUpAt = performance.now() + PATIENCE_MS
    while (readers.some(({ ids }) => ids.length < messages) && performance.now() < giveUpAt)
      await new Promise((resolve) => setTimeout(resolve, 50))
    for (const { ids } of readers) expect(ids).to.deep.equal(expected)
    for (const reader of readers) reader.close()
  } finally {
    expect(await cluster.end()).to.deep.equal([0, 0])
  }
}

describe(`the live stream, with ${ROUNDS} kills of its server`, () => {
  onEmbedded.it('loses and repeats nothing on the embedded database', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'assay-stream-'))
    const followers = createFollowers()
    try {
      const messages = await playKills(ROUNDS, { DATA_DIR: dataDir }, followers.follow)
      console.log(`      ${messages} messages`)
    } finally {
      followers.close()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  onPostgres.it('loses and repeats nothing on PostgreSQL', async () => {
    const scratch = await createScratchDatabase(process.env.DATABASE_URL as string)
    const followers = createFollowers()
    const settings = {
      DATABASE_URL: scratch.url,
      DATA_DIR: 'memory',
      MASTER_KEY: randomBytes(32).toString('hex'),
    }
    try {
      const messages = await playKills(ROUNDS, settings, followers.follow)
      console.log(`      ${messages} messages`)
    } finally {
      followers.close()
      await scratch.drop()
    }
  })
})

onPostgres.describe('two servers to which agents post at once', () => {
  it('tell 10,000 messages once and in order to 50 readers each', async function () {
    if (!process.env.REDIS_URL) {
      console.log('      SKIPPED: needs REDIS_URL')
      return this.skip()
    }
    await playTwoServers(10_000, 50)
  })

  it('tell 1,000 messages once and in order to 10 readers each without Redis', () =>
    playTwoServers(1000, 10, { REDIS_URL: '' }))
})
