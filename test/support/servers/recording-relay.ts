/** A relay of TCP connections that keeps every byte that clients send: what leaves a browser, as it leaves it. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface RecordingRelay {
  readonly url: string
  /** Where to, on this machine. */
  leadTo(port: number): void
  /** All that clients have sent since it was emptied, one connection after the other. */
  sent(): Buffer
  empty(): void
  close(): Promise<void>
}

export const startRecordingRelay = async (): Promise<RecordingRelay> => {
  let port = 0
  let recorded = new Map<Socket, Buffer[]>()
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    client.on('data', (bytes) => {
      recorded.set(client, [...(recorded.get(client) ?? []), Buffer.from(bytes)])
    })
    client.pipe(upstream).pipe(client)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => sockets.delete(one))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    leadTo(to) {
      port = to
    },
    sent: () => Buffer.concat([...recorded.values()].flat()),
    empty() {
      recorded = new Map()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
