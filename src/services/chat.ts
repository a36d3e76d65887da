import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import { createAgentsTxt } from '../domain/chat/agents-txt.ts'
import { createEnvelopeReader } from '../domain/chat/envelopes/envelope.ts'
import { createAlertSubject } from '../domain/chat/posts/post-limits.ts'
import { createPostingMode, type PostingModeService } from '../domain/chat/posts/posting-mode.ts'
import { createPrompts, type PromptsService } from '../domain/chat/prompts/prompts.ts'
import { type ChatService, createChat } from '../domain/chat/service.ts'
import { createStreamReads } from '../domain/chat/stream/store-stream.ts'
import { type ChatStream, createChatStream } from '../domain/chat/stream/stream.ts'
import { createMcp, type McpService } from '../domain/mcp/service.ts'
import type { ProofsService } from '../domain/proofs/service.ts'
import { SERVICE_VERSION } from '../domain/system/service.ts'
import { addressBlock } from '../http/connections/client-address.ts'
import { describeFailure } from '../http/errors.ts'
import { createEventStreams, eventFrame } from '../http/event-stream.ts'
import { parseJson } from '../http/input/json.ts'
import { bodyCheck } from '../http/input/validation.ts'
import { isUnavailable } from '../store/session.ts'
import type { Closers, Foundations } from './foundations.ts'

/** What the operator's organisation is called in the environment, and in what readers are shown. */
const DEFAULT_NAME = 'default'
const organisationNamed = (name: string): string => (name === DEFAULT_NAME ? DEFAULT_ORGANISATION : name)

export interface ChatServices {
  readonly prompts: PromptsService
  readonly postingMode: PostingModeService
  readonly chat: ChatService
  readonly chatStream: ChatStream
  readonly mcp: McpService
  /** The text of /agents.txt. */
  readonly agentsTxt: string
  /** What an alert about a used-up limit is about: no address of the chat. */
  readonly alertSubject: (counted: string) => string
}

/** What the chat is built on. */
export interface ChatFoundations extends Foundations {
  readonly proofs: ProofsService
}

const envelopeReader = ({ clock, config, proofs }: ChatFoundations) =>
  createEnvelopeReader({
    clock,
    baseUrl: config.baseUrl,
    proofs,
    trustedIssuers: new Set(config.chatTrustedIssuers.map(organisationNamed)),
    nameIssuer: (id) => (id === DEFAULT_ORGANISATION ? DEFAULT_NAME : id),
  })

const mcpOf = (
  { config, metrics, logger }: ChatFoundations,
  { chat, prompts, postingMode }: Pick<ChatServices, 'chat' | 'prompts' | 'postingMode'>,
): McpService =>
  createMcp({
    chat,
    prompts,
    postingMode,
    countReads: chat.countReads,
    baseUrl: config.baseUrl,
    version: SERVICE_VERSION,
    parseJson: (bytes) => parseJson(bytes, true),
    checkArguments: bodyCheck,
    describeError: describeFailure('/mcp', logger, isUnavailable),
    onToolCall: (tool, outcome) => metrics.mcpToolCalls.inc({ tool, outcome }),
    logger,
  })

/** @param closers receives what ends the services, in the order in which they were built */
export const createChatServices = async (
  foundations: ChatFoundations,
  closers: Closers,
): Promise<ChatServices> => {
  const { config, clock, database, ledger, bus, limits, sealing, metrics, security, logger } = foundations
  const { baseUrl, rateLimits, chatLimits, streamLimits, postingMode: initialMode } = config
  const prompts = createPrompts({ clock })
  const chatStream = createChatStream({
    streams: createEventStreams(),
    eventFrame,
    reads: createStreamReads(database),
    bus,
    readStats: () => chat.stats(),
    readState: () => postingMode.state(),
    addressBlock,
    limits: rateLimits ? streamLimits : undefined,
    metrics,
    logger,
  })
  closers.push(() => chatStream.close())
  const postingMode: PostingModeService = await createPostingMode({
    database,
    ledger,
    bus,
    clock,
    initial: initialMode,
    onChange: () => chatStream.modeChanged(),
    logger,
  })
  closers.push(() => postingMode.close())
  const chat: ChatService = createChat({
    database,
    ledger,
    sealing,
    clock,
    limits,
    prompts,
    postingMode,
    baseUrl,
    addressBlock,
    reader: envelopeReader(foundations),
    postLimits: rateLimits ? chatLimits : undefined,
    rules: {
      initialMode,
      namesPerDay: rateLimits ? chatLimits.namesPerDay : Number.POSITIVE_INFINITY,
    },
    openStreams: () => chatStream.open,
    onCommit({ head, messages, removed }) {
      for (const { source } of messages) metrics.chatMessages.inc({ source })
      chatStream.committed({
        head: { lastId: head.last_id, lastRemoval: head.last_removal },
        messages,
        removed,
      })
    },
    onReplay: (fingerprint) =>
      security.raise({ organisation: DEFAULT_ORGANISATION, type: 'envelope_replay', subject: fingerprint }),
  })
  closers.push(() => chat.close())
  return {
    prompts,
    postingMode,
    chat,
    chatStream,
    mcp: mcpOf(foundations, { chat, prompts, postingMode }),
    agentsTxt: createAgentsTxt(config),
    alertSubject: createAlertSubject(sealing),
  }
}
