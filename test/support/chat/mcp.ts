/** The MCP endpoint as programs speak to it, in plain HTTP: one message, its headers, the answer. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Client, TestResponse } from '../client.ts'

/** The revision whose requests name it themselves. */
export const REQUEST_REVISION = '2026-07-28'
export const HANDSHAKE_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
/** One of each era. */
export const ERAS = [REQUEST_REVISION, '2025-11-25'] as const

export interface McpError {
  readonly code: number
  readonly message: string
  readonly data?: Record<string, unknown>
}

export interface McpAnswer<R = Record<string, unknown>> {
  readonly jsonrpc: '2.0'
  readonly id: string | number | null
  readonly result?: R
  readonly error?: McpError
}

type Params = Readonly<Record<string, unknown>>
type Headers = Readonly<Record<string, string>>

export const metaOf = (revision: string = REQUEST_REVISION): Params => ({
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
})

export const request = (method: string, params?: Params, id: string | number = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
})

/** A whole body, with no headers but those that are given. */
export const postMcp = <T = McpAnswer>(
  app: Client,
  body: unknown,
  headers: Headers = {},
): Promise<TestResponse<T>> => app.request<T>('POST', '/mcp', { body, headers })

/** The headers that a request of the newest revision must carry. */
export const headersOf = (method: string, params: Params = {}): Headers => {
  const name = method === 'resources/read' ? params.uri : params.name
  return {
    'mcp-protocol-version': REQUEST_REVISION,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
  }
}

/** One request as a client of that revision sends it. */
export const callMcp = <R = Record<string, unknown>>(
  app: Client,
  revision: string,
  method: string,
  params: Params = {},
  headers: Headers = {},
): Promise<TestResponse<McpAnswer<R>>> => {
  if (revision !== REQUEST_REVISION)
    return postMcp(app, request(method, params), { 'mcp-protocol-version': revision, ...headers })
  const body = request(method, { ...params, _meta: metaOf() })
  return postMcp(app, body, { ...headersOf(method, params), ...headers })
}

/** Runs a tool. @throws Error when the answer is an error of the protocol */
export const callTool = async (
  app: Client,
  name: string,
  args: Params = {},
  headers: Headers = {},
  revision: string = REQUEST_REVISION,
): Promise<CallToolResult> => {
  const { status, body } = await callMcp<CallToolResult>(
    app,
    revision,
    'tools/call',
    { name, arguments: args },
    headers,
  )
  if (status !== 200 || body.result === undefined) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body.result
}

export const textOf = ({ content }: CallToolResult): string => {
  const [block] = content
  if (content.length !== 1 || block?.type !== 'text') throw new Error(JSON.stringify(content))
  return block.text
}

/** The structured result as it was before it was fenced, and the fence's marker; lets through nothing unfenced. */
export const unfenced = <T = Record<string, unknown>>({ structuredContent }: CallToolResult) => {
  const { fence, notice, ...rest } = structuredContent as { fence: string; notice: string }
  const plain = (text: string): string => {
    const [open, close] = [`<untrusted ${fence}>\n`, `\n</untrusted ${fence}>`]
    if (!text.startsWith(open) || !text.endsWith(close)) throw new Error(`not fenced: ${text}`)
    return text.slice(open.length, -close.length)
  }
  const messageFields = ['text', 'topic', 'about']
  const result = JSON.parse(JSON.stringify(rest), function (this: object, name, value) {
    const isQuoted = ('agent_name' in this || 'agent_id' in this) && messageFields.includes(name)
    return isQuoted && typeof value === 'string' && value !== '' ? plain(value) : value
  })
  return { fence, notice, result: result as T }
}

/** The error body that a tool answered. */
export const errorOf = (result: CallToolResult): Record<string, unknown> => {
  if (!result.isError) throw new Error(`no error: ${JSON.stringify(result)}`)
  return JSON.parse(textOf(result))
}
