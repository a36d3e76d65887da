/** An HTTP server that answers as a test tells it to: for faults that the real server never commits. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

export interface ScriptedAnswer {
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** `hang` never answers, `drop` cuts the connection. */
export type Script = (
  body: never,
  request: IncomingMessage,
) => ScriptedAnswer | 'hang' | 'drop' | Promise<ScriptedAnswer>

export interface ScriptedServer {
  readonly url: string
  /** Paths of all requests but probes, in order. */
  readonly requests: string[]
  /** Sets the answer to a path. */
  on(path: string, script: Script): void
  close(): Promise<void>
}

const NOT_FOUND: Script = () => ({ status: 404, body: { error: 'not_found', message: '' } })

/** GET /health is answered as by a healthy server until told otherwise, everything else with 404. */
export const startScriptedServer = async (): Promise<ScriptedServer> => {
  const scripts = new Map<string, Script>([['/health', () => ({ body: { status: 'healthy' } })]])
  const requests: string[] = []

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? ''
    if (path !== '/health') requests.push(path)
    const sent = await text(request)
    const script = scripts.get(path) ?? NOT_FOUND
    const result = await script((sent ? JSON.parse(sent) : undefined) as never, request)
    if (result === 'hang') return
    if (result === 'drop') {
      request.socket.destroy()
      return
    }
    const { status = 200, body = {}, headers = {} } = result
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
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
