/** A server that speaks just enough of Redis's protocol for a client to call itself ready, and then falls silent. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface SilentRedis {
  readonly port: number
  /** Commands it got and never answered, as they were sent. */
  readonly unanswered: readonly string[]
  /** Connections that were opened so far. */
  readonly connections: number
  close(): Promise<void>
}

/** @param silentTo commands (in RESP) that get no answer; all others get OK */
export const startSilentRedis = async (silentTo: RegExp): Promise<SilentRedis> => {
  const sockets: Socket[] = []
  const unanswered: string[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', (data) => {
      for (const command of data.toString().split(/^(?=\*\d+\r$)/m)) {
        if (silentTo.test(command)) unanswered.push(command)
        else socket.write('+OK\r\n')
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    unanswered,
    get connections() {
      return sockets.length
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
