/** A TCP proxy on a bad link: what is said arrives later, waits, or nothing passes while it is cut. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** `up`: what clients say. `down`: what the server answers. */
export type Direction = 'up' | 'down'

export interface SlowProxy {
  /** The server's URL through the proxy. */
  readonly url: string
  readonly port: number
  /** How much later answers arrive from now on. */
  delayMs: number
  /** How much later requests arrive from now on. */
  requestDelayMs: number
  /** Ends all connections, and lets no new one through while it is cut. */
  cut(isCut: boolean): void
  /** Keeps what is said in these directions until it is told of none. New connections are made, and wait as well. */
  hold(...directions: readonly Direction[]): void
  /** The connections of now never hear of the other side again, and are not told so; new ones work. */
  abandon(): void
  close(): Promise<void>
}

/** Chunks on their way in one direction, in order whatever the delay becomes. */
interface Way {
  /** Sends on what is due; called when a chunk comes and when the link is no longer held. */
  pump(): void
}

const carry = (from: Socket, to: Socket, delayMs: () => number, isHeld: () => boolean): Way => {
  const queue: { readonly chunk: Buffer | undefined; readonly dueAt: number }[] = []
  let timer: NodeJS.Timeout | undefined
  const pump = (): void => {
    clearTimeout(timer)
    for (let next = queue[0]; next !== undefined && !isHeld(); next = queue[0]) {
      const waitMs = next.dueAt - performance.now()
      if (waitMs > 0) {
        timer = setTimeout(pump, waitMs)
        return
      }
      queue.shift()
      if (to.destroyed) return
      if (next.chunk === undefined) to.end()
      else to.write(next.chunk)
    }
  }
  const add = (chunk?: Buffer): void => {
    queue.push({ chunk, dueAt: performance.now() + delayMs() })
    pump()
  }
  from.on('data', add)
  from.on('end', () => add())
  return { pump }
}

/** @param server URL of the server, or what says where each connection goes; undefined: nowhere, it is refused */
export const startSlowProxy = async (
  server: string | (() => string | undefined),
  delayMs: number,
): Promise<SlowProxy> => {
  const sockets = new Set<Socket>()
  const open = new Set<Way>()
  let isDown = false
  let held: readonly Direction[] = []
  /** Connections are numbered; those below are abandoned. */
  let [count, abandoned] = [0, 0]
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    const target = isDown ? undefined : typeof server === 'string' ? server : server()
    if (target === undefined) {
      client.destroy()
      return
    }
    const number = count++
    const isHeld = (direction: Direction): boolean => number < abandoned || held.includes(direction)
    const { port, hostname } = new URL(target)
    const upstream = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
    const ways = [
      carry(
        client,
        upstream,
        () => proxy.requestDelayMs,
        () => isHeld('up'),
      ),
      carry(
        upstream,
        client,
        () => proxy.delayMs,
        () => isHeld('down'),
      ),
    ]
    for (const way of ways) open.add(way)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        for (const way of ways) open.delete(way)
        // What ended in order is ended on the other side by what was carried there.
        if (!socket.readableEnded) other.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const proxy: SlowProxy = {
    url: `http://127.0.0.1:${port}`,
    port,
    delayMs,
    requestDelayMs: 0,
    cut(isCut) {
      isDown = isCut
      if (isDown) for (const socket of sockets) socket.destroy()
    },
    hold(...directions) {
      held = directions
      for (const way of open) way.pump()
    },
    abandon() {
      abandoned = count
    },
    async close() {
      listener.close()
      for (const socket of sockets) socket.destroy()
      await once(listener, 'close')
    },
  }
  return proxy
}
