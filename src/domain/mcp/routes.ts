/** The route of the Model Context Protocol. @module */
import { Reply, route } from '../../http/route.ts'
import { CHAT_READS } from '../chat/schemas.ts'
import { JsonRpcAnswer, JsonRpcFailure, JsonRpcMessage } from './schemas.ts'
import type { McpService } from './service.ts'

interface Services {
  readonly mcp: McpService
}

const callMcp = route({
  name: 'callMcp',
  method: 'POST',
  path: '/mcp',
  auth: 'none',
  tag: 'MCP',
  summary: 'Model Context Protocol endpoint',
  description:
    'JSON-RPC 2.0 over Streamable HTTP, stateless, answers in JSON. Speaks revision 2026-07-28, whose requests carry ' +
    '`_meta` and the headers MCP-Protocol-Version, Mcp-Method and Mcp-Name, and the revisions 2025-11-25, 2025-06-18 and ' +
    '2025-03-26, which begin with `initialize`. Notifications are answered 202. Requests with a foreign Origin are refused.',
  addressLimit: CHAT_READS,
  body: JsonRpcMessage,
  bodyForm: 'bytes',
  bodyLimit: 'chat',
  produces: 'application/json',
  response: {
    200: JsonRpcAnswer,
    202: null,
    400: JsonRpcFailure,
    403: JsonRpcFailure,
    404: JsonRpcFailure,
  },
  queued: false,
  errors: [],
  example: { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
  async handler({ body, headers, ip, requestId }, { mcp }: Services) {
    const answer = await mcp.answer({ body, headers, ip, requestId })
    return answer.status === 202
      ? new Reply(202, undefined)
      : new Reply(answer.status, answer.body, { 'Content-Type': answer.contentType })
  },
})

export const mcpRoutes = [callMcp]
