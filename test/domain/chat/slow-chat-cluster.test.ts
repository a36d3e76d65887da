/**
 * Two server processes on one PostgreSQL, and Redis where there is one: ids are given out without gaps, nobody who reads on
 * from an id ever skips a message, and whatever was acknowledged is there after a server was killed.
 */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { MessagePage, Posted } from '../../../src/domain/chat/schemas.ts'
import { clientOf, ok } from '../../support/client.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

const POSTERS = 16
const POSTS_EACH = 60
const MAX_POSTS = POSTERS * POSTS_EACH

/** Posts until the server is gone. @returns the ids that were acknowledged */
const postMany = async (url: string, poster: number, until: () => boolean): Promise<number[]> => {
  const ids: number[] = []
  for (let i = 0; i < POSTS_EACH && !until(); i++) {
    const body = { agent_name: `poster ${poster}`, text: `message ${i} ${randomUUID()}` }
    try {
      ids.push((await ok<Posted>(clientOf(url), 'POST', '/api/messages', { body })).message.id)
    } catch (error) {
      if (until()) break
      throw error
    }
  }
  return ids
}

const readOn = async (url: string, after: number): Promise<number[]> => {
  const path = `/api/messages?after=${after}&limit=100`
  return (await ok<MessagePage>(clientOf(url), 'GET', path)).messages.map(({ id }) => id)
}

/** Reads on, as fast as it can, until `done` and nothing more comes. @returns ids in the order in which they came */
const follow = async (url: string, done: () => boolean): Promise<number[]> => {
  const seen: number[] = []
  for (;;) {
    const isLast = done()
    const ids = await readOn(url, seen.at(-1) ?? 0)
    seen.push(...ids)
    if (isLast && ids.length === 0) return seen
  }
}

const ascending = (ids: readonly number[]): number[] => [...ids].sort((a, b) => a - b)
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)

describe('the chat on two servers', () => {
  let cluster: Cluster | undefined

  beforeEach(async function () {
    const { DATABASE_URL } = process.env
    if (DATABASE_URL === undefined) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    cluster = await startCluster(DATABASE_URL, 2)
  })

  afterEach(async () => {
    await cluster?.end()
    cluster = undefined
  })

  const urls = (): string[] => cluster?.servers.map(({ url }) => url) ?? []

  it('gives out every id once and without gaps, and readers on either skip none', async () => {
    const [first = '', second = ''] = urls()
    let posting = true
    const readers = [first, second, first, second].map((url) => follow(url, () => !posting))
    const posters = Array.from({ length: POSTERS }, (_, i) =>
      postMany(i % 2 === 0 ? first : second, i, () => false),
    )
    const ids = (await Promise.all(posters)).flat()
    posting = false
    expect(ascending(ids)).to.deep.equal(upTo(MAX_POSTS))
    for (const seen of await Promise.all(readers)) expect(seen).to.deep.equal(upTo(MAX_POSTS))
  })

  it('keeps every acknowledged message when a server is killed, and readers skip none', async () => {
    const [first = '', second = ''] = urls()
    let killed = false
    let posting = true
    const reader = follow(second, () => !posting)
    const doomed = Array.from({ length: POSTERS / 2 }, (_, i) => postMany(first, i, () => killed))
    const spared = Array.from({ length: POSTERS / 2 }, (_, i) => postMany(second, POSTERS + i, () => false))
    while ((await readOn(second, 60)).length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    killed = true
    await cluster?.servers[0]?.end('SIGKILL')
    const acknowledged = (await Promise.all([...doomed, ...spared])).flat()
    posting = false
    const seen = await reader
    expect(seen).to.deep.equal(upTo(seen.length))
    expect(new Set(acknowledged).size).to.equal(acknowledged.length)
    const stored = new Set(seen)
    expect(acknowledged.filter((id) => !stored.has(id))).to.deep.equal([])
  })
})
