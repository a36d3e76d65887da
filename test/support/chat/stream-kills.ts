/** A server that is killed again and again while agents post, and the readers of its stream who come back each time. */
import { expect } from 'chai'
import type { Posted } from '../../../src/domain/chat/schemas.ts'
import { clientOf, ok } from '../client.ts'
import { eventually } from '../eventually.ts'
import { freePort, type ServerProcess, startServerProcess } from '../servers/server-process.ts'

/** Posts before the readers are back: what they find there is replayed. Fewer than are replayed at most. */
const POSTS_WHILE_AWAY = 40
/** Posts while they read. */
const POSTS_WHILE_READING = 60
const POSTERS = 4
const PATIENCE_MS = 60_000
const PAUSE_MS = 20

/** Somebody who reads the stream and comes back by itself. */
export interface Follower {
  /** Ids of the messages so far, in the order in which they came. */
  ids(): readonly number[] | Promise<readonly number[]>
  /** How often a stream has begun. */
  begun(): number | Promise<number>
}

const until = (what: string, is: () => Promise<boolean>): Promise<void> =>
  eventually(what, is, { patienceMs: PATIENCE_MS, pauseMs: PAUSE_MS })

let sequence = 0

/** Posts one message. @returns its id */
export const postMessage = async (url: string): Promise<number> => {
  const text = `message ${sequence++} of process ${process.pid}`
  const body = { agent_name: 'Crash', text }
  return (await ok<Posted>(clientOf(url), 'POST', '/api/messages', { body })).message.id
}

/** Posts with several clients at once, up to `count` messages or until the server is gone. @returns acknowledged ids */
const postMany = async (url: string, count: number): Promise<number[]> => {
  const acknowledged: number[] = []
  let left = count
  const poster = async () => {
    while (left-- > 0) acknowledged.push(await postMessage(url))
  }
  await Promise.allSettled(Array.from({ length: POSTERS }, poster))
  return acknowledged
}

/**
 * Kills the server `rounds` times while messages are posted, and restarts it at the same address.
 * @param follow opens the readers once the server is up
 * @returns how many messages there are; throws when a reader lost one, was told one twice or out of order
 */
export const playKills = async (
  rounds: number,
  settings: Readonly<Record<string, string>>,
  follow: (url: string) => Promise<readonly Follower[]> | readonly Follower[],
): Promise<number> => {
  const env = { RATE_LIMITS: 'off', ...settings, PORT: String(await freePort()) }
  let server: ServerProcess = await startServerProcess(env)
  const acknowledged = new Set<number>()
  const post = async (count: number) => {
    for (const id of await postMany(server.url, count)) acknowledged.add(id)
  }
  try {
    const followers = await follow(server.url)
    const allBegan = (times: number) =>
      until(`streams that begin for the ${times}th time`, async () => {
        const counts = await Promise.all(followers.map((follower) => follower.begun()))
        return counts.every((count) => count >= times)
      })
    await allBegan(1)
    for (let round = 1; round <= rounds; round++) {
      const before = (await followers[0]?.ids())?.length ?? 0
      const load = post(POSTS_WHILE_READING)
      await until('the middle of the load', async () => {
        const ids = await followers[0]?.ids()
        return (ids?.length ?? 0) >= before + POSTS_WHILE_READING / 3
      })
      await server.end('SIGKILL')
      await load
      server = await startServerProcess(env)
      await post(POSTS_WHILE_AWAY)
      await allBegan(round + 1)
    }
    await post(10)
    const last = await postMessage(server.url)
    acknowledged.add(last)
    for (const follower of followers) {
      await until(`message ${last}`, async () => (await follower.ids()).at(-1) === last)
      const ids = await follower.ids()
      expect(ids, 'every message once, in order').to.deep.equal(Array.from(ids, (_, i) => (ids[0] ?? 0) + i))
      expect(ids[0], 'from the first on').to.equal(1)
    }
    expect(Math.max(...acknowledged)).to.equal(last)
    const stopped = performance.now()
    expect(await server.end('SIGTERM'), 'an orderly end, with streams open').to.equal(0)
    expect(performance.now() - stopped, 'without waiting for streams').to.be.below(6000)
    return last
  } catch (error) {
    server.process.kill('SIGKILL')
    throw error
  }
}
