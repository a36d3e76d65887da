/**
 * The Model Context Protocol over HTTP (Streamable HTTP, stateless, JSON answers), for two eras on one path: revision
 * 2026-07-28, whose requests name their revision, and those that begin with a handshake.
 * @module
 */
import { setImmediate as turn } from 'node:timers/promises'
import {
  createMcpHandler,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isLegacyRequest,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import { AppError } from '../../errors.ts'
import { isObject } from '../../protocol/json-object.ts'
import type { ChatService, Poster } from '../chat/service.ts'
import { createMcpCatalogue } from './catalogue.ts'
import { createServer, HANDSHAKE_REVISIONS, type ServerDeps } from './server.ts'
import { createTools, type ToolsDeps } from './tools.ts'

/** Messages in one body; only the revision that knows batches takes more than one. */
export const MAX_BATCH_MESSAGES = 10
const BATCH_REVISION = '2025-03-26'
/** Not in JSON-RPC's list; what MCP servers answer where no other code fits. */
const REFUSED_CODE = -32000
const JSON_TYPE = 'application/json'

export interface McpRequest {
  readonly body: Buffer
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly ip: string
  readonly requestId: string
}

/** What the protocol answers POST with; 202 has no body. */
const STATUSES = [200, 400, 403, 404] as const
type Status = (typeof STATUSES)[number]
export type McpAnswer =
  | { readonly status: 202; readonly body?: undefined }
  | { readonly status: Status; readonly body: Buffer; readonly contentType: string }

export interface McpService {
  /** Answers one POST. Faults of the protocol are JSON-RPC errors in the answer. */
  answer(request: McpRequest): Promise<McpAnswer>
}

export interface McpDeps extends ToolsDeps {
  /** Counts requests of an address beyond the one that the route has counted. @throws AppError rate_limited */
  readonly countReads: ChatService['countReads']
  readonly baseUrl: string
  readonly version: string
  /** @throws AppError for what is not JSON, or not JSON that the service takes */
  readonly parseJson: (bytes: Buffer) => unknown
  readonly logger: Pick<Logger, 'error'>
}

const refusal = (status: Status, code: number, message: string): McpAnswer => ({
  status,
  body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })),
  contentType: JSON_TYPE,
})

/** JSON-RPC 2.0 §4 and §5. */
const MEMBERS: readonly string[] = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']

/** A message without members that JSON-RPC does not have, which others may add; the SDK would refuse it for them. */
const withKnownMembers = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([name]) => MEMBERS.includes(name)))
    : value

const isMessage = (value: unknown): boolean =>
  isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value)

/** Why a batch is refused; undefined where it is not. */
const batchFault = (batch: readonly unknown[], revision: string): string | undefined => {
  if (revision !== BATCH_REVISION) return `Revision ${revision} does not support batches: send one message.`
  if (batch.length > MAX_BATCH_MESSAGES) return `A batch can have at most ${MAX_BATCH_MESSAGES} messages.`
  if (!batch.every(isMessage)) return 'The batch contains an item that is not a JSON-RPC message.'
  const requests = batch.filter(isJSONRPCRequest)
  if (requests.some(({ method }) => method === 'initialize')) return "A handshake can't be part of a batch."
  const ids = requests.map(({ id }) => id)
  return new Set(ids).size < ids.length ? 'Two requests of the batch have the same id.' : undefined
}

/** The part of the request that the protocol reads. Accept is said for the client: JSON suits every one that gets here. */
const asWebRequest = (url: string, { headers }: McpRequest): Request => {
  const read = new Headers({
    'content-type': JSON_TYPE,
    accept: 'application/json, text/event-stream',
  })
  for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name']) {
    const value = headers[name]
    if (value !== undefined) read.set(name, String(value))
  }
  return new Request(url, { method: 'POST', headers: read })
}

/** @throws Error for a status that the protocol does not have */
const asAnswer = async (response: Response): Promise<McpAnswer> => {
  if (response.status === 202) return { status: 202 }
  const status = STATUSES.find((known) => known === response.status)
  if (status === undefined) throw new Error(`the MCP SDK answered ${response.status}`)
  const body = Buffer.from(await response.arrayBuffer())
  return { status, body, contentType: response.headers.get('content-type') ?? JSON_TYPE }
}

/** @throws whatever the SDK fails with */
const answerHandshakeEra = async (
  deps: ServerDeps,
  poster: Poster,
  request: Request,
  parsedBody: unknown,
): Promise<McpAnswer> => {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
    supportedProtocolVersions: HANDSHAKE_REVISIONS,
  })
  const server = createServer(deps, poster)
  await server.connect(transport)
  try {
    return await asAnswer(await transport.handleRequest(request, { parsedBody }))
  } finally {
    await server.close()
  }
}

/**
 * Answers the requests of a batch one after the other, so that other callers have their turn in between. Each counts as if it had come
 * by itself. Without a session notifications and responses mean nothing.
 * @throws AppError rate_limited; whatever the SDK fails with
 */
const answerBatch = async (
  deps: ServerDeps & Pick<McpDeps, 'countReads'>,
  poster: Poster,
  request: Request,
  batch: readonly unknown[],
): Promise<McpAnswer> => {
  const fault = batchFault(batch, request.headers.get('mcp-protocol-version') ?? BATCH_REVISION)
  if (fault !== undefined) return refusal(400, ProtocolErrorCode.InvalidRequest, fault)
  const requests = batch.filter(isJSONRPCRequest)
  await deps.countReads(poster.ip, Math.max(0, requests.length - 1))
  const parts: Buffer[] = []
  for (const asked of requests) {
    const { body } = await answerHandshakeEra(deps, poster, request, asked)
    if (body) parts.push(Buffer.from(parts.length === 0 ? '[' : ','), body)
    await turn()
  }
  if (parts.length === 0) return { status: 202 }
  return { status: 200, body: Buffer.concat([...parts, Buffer.from(']')]), contentType: JSON_TYPE }
}

/** @throws the last of what the SDK reported where it answers 5xx */
const answerRequestEra = async (
  deps: ServerDeps,
  poster: Poster,
  request: Request,
  parsedBody: unknown,
): Promise<McpAnswer> => {
  let reported: unknown
  const handler = createMcpHandler(() => createServer(deps, poster), {
    legacy: 'reject',
    onerror: (error) => {
      reported = error
    },
  })
  const response = await handler.fetch(request, { parsedBody })
  if (response.status >= 500) throw reported
  return asAnswer(response)
}

export const createMcp = (deps: McpDeps): McpService => {
  const { baseUrl, version, parseJson, countReads, logger } = deps
  const { origin } = new URL(baseUrl)
  const url = new URL('/mcp', baseUrl).href
  const serverDeps: ServerDeps = {
    tools: createTools(deps),
    catalogue: createMcpCatalogue(deps.prompts),
    version,
    websiteUrl: baseUrl,
    onFailure: (error, requestId) => logger.error({ err: error, requestId }, 'an MCP request failed'),
  }

  return {
    async answer(request) {
      const { body, headers, ip, requestId } = request
      // A page of another origin acts for whoever looks at it (DNS rebinding); programs send no Origin.
      if (headers.origin !== undefined && headers.origin !== origin)
        return refusal(403, REFUSED_CODE, "Pages of other origins can't call this endpoint.")
      let parsed: unknown
      try {
        const sent = parseJson(body)
        parsed = Array.isArray(sent) ? sent.map(withKnownMembers) : withKnownMembers(sent)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        const code =
          error.code === 'invalid_json' ? ProtocolErrorCode.ParseError : ProtocolErrorCode.InvalidRequest
        return refusal(400, code, error.message)
      }
      const poster: Poster = { ip, source: 'mcp', requestId }
      const asked = asWebRequest(url, request)
      if (!(await isLegacyRequest(asked, parsed))) return answerRequestEra(serverDeps, poster, asked, parsed)
      return Array.isArray(parsed)
        ? answerBatch({ ...serverDeps, countReads }, poster, asked, parsed)
        : answerHandshakeEra(serverDeps, poster, asked, parsed)
    },
  }
}
