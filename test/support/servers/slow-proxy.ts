/** A TCP proxy on a slow link: everything that the server says arrives later, or nothing while it is cut. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface SlowProxy {
  /** The server's URL through the proxy. */
  readonly url: string
  /** How much later answers arrive from now on. */
  delayMs: number
  /** Ends all connections, and lets no new one through while it is cut. */
  cut(isCut: boolean): void
  close(): Promise<void>
}

export const startSlowProxy = async (serverUrl: string, delayMs: number): Promise<SlowProxy> => {
  const target = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let down = false
  const server = createServer((client) => {
    if (down) {
      client.destroy()
      return
    }
    const upstream = connect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (chunk) => {
      setTimeout(() => client.destroyed || client.write(chunk), proxy.delayMs)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const proxy: SlowProxy = {
    url: `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`,
    delayMs,
    cut(isCut) {
      down = isCut
      if (down) for (const socket of sockets) socket.destroy()
    },
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
  return proxy
}
