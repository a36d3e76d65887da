/** A TCP proxy in front of PostgreSQL that breaks connections at a chosen word of the client's. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/**
 * - `before`: the word never reaches the server
 * - `after`: it does, and the server acts on it, but its answer is lost
 * - `silent`: the same, without an end: what the server says on this connection, and on all others that there are, never arrives
 */
export type Break = 'before' | 'after' | 'silent'

export interface BreakingProxy {
  /** The database's URL through the proxy. */
  readonly url: string
  /** Breaks the connection on which `word` is sent next, `times` times in a row. */
  breakAt(word: string, when: Break, times?: number): void
  /** How often a connection was broken. */
  readonly broken: number
  close(): Promise<void>
}

/** The server gets this long to act on a word whose answer is withheld. */
const ACT_MS = 200

export const startBreakingProxy = async (databaseUrl: string): Promise<BreakingProxy> => {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  /** Those of servers that nobody listens to any more. */
  const unheard = new WeakSet<Socket>()
  let plan: { word: string; when: Break; times: number } | undefined
  let broken = 0

  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk) => {
      if (plan === undefined || !chunk.includes(plan.word)) {
        upstream.write(chunk)
        return
      }
      const { when } = plan
      broken++
      plan = plan.times > 1 ? { ...plan, times: plan.times - 1 } : undefined
      if (when === 'before') {
        client.destroy()
        return
      }
      for (const socket of when === 'silent' ? sockets : [upstream]) unheard.add(socket)
      upstream.write(chunk)
      if (when === 'after') setTimeout(() => client.destroy(), ACT_MS)
    })
    upstream.on('data', (chunk) => {
      if (!unheard.has(upstream)) client.write(chunk)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(address !== null && typeof address === 'object' ? address.port : 0)
  return {
    url: url.href,
    breakAt(word, when, times = 1) {
      plan = { word, when, times }
    },
    get broken() {
      return broken
    },
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
