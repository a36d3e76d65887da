/** An HTTP or HTTPS server that plays the other side of outbound calls: each path answers as a test scripted it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import type { Certificates } from './certificates.ts'

export interface SeenRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** Unix ms at which it had arrived whole. */
  readonly at: number
}

/** Answers a request in any way, or not at all. */
export type TargetScript = (request: SeenRequest, response: ServerResponse) => void | Promise<void>

export interface TargetServer {
  /** Origin with the address 127.0.0.1. */
  readonly url: string
  readonly port: number
  readonly requests: SeenRequest[]
  /** Connections so far. */
  connections(): number
  /** Sets the answer to a path, without its query. All others are 404. */
  on(path: string, script: TargetScript): void
  close(): Promise<void>
}

/** A script that answers JSON. */
export const json =
  (value: unknown, status = 200): TargetScript =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }

/** A script that redirects. */
export const redirectTo =
  (location: string, status = 302): TargetScript =>
  (_, response) => {
    response.writeHead(status, { location }).end()
  }

/** Listens on 127.0.0.1, on a port of its own unless one is named; with certificates it speaks TLS. Requests whose body breaks off aren't recorded. */
export const startTargetServer = async (
  options: { certificates?: Certificates; port?: number } = {},
): Promise<TargetServer> => {
  const { certificates } = options
  const scripts = new Map<string, TargetScript>()
  const requests: SeenRequest[] = []
  let connections = 0

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers } = request
    const seen: SeenRequest = { method, path, headers, body: await buffer(request), at: Date.now() }
    requests.push(seen)
    const script = scripts.get(path.split('?')[0]!)
    if (script) await script(seen, response)
    else response.writeHead(404).end()
  }
  const listener: RequestListener = (request, response) => {
    answer(request, response).catch(() => request.socket.destroy())
  }

  const server = certificates
    ? createSecureServer({ cert: certificates.cert, key: certificates.key }, listener)
    : createServer(listener)
  server.on('connection', () => {
    connections += 1
  })
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return {
    url: `${certificates ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    on: (path, script) => {
      scripts.set(path, script)
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
