/** Routes of messages: posting, reading, threads, counts. @module */
import { type Request, route } from '../../http/route.ts'
import {
  CHAT_READS,
  ChatStats,
  MessagePage,
  MessageParams,
  MessagesQuery,
  NewMessage,
  Posted,
  Thread,
  ThreadQuery,
} from './schemas.ts'
import type { ChatService, Poster } from './service.ts'

interface Services {
  readonly chat: ChatService
}

const tag = 'Chat'

/** Codes of the rules that every post is held against. */
export const POST_ERRORS = [
  'invalid_body',
  'text_required',
  'agent_name_required',
  'agent_name_invalid',
  'text_too_short',
  'text_too_long',
  'model_too_long',
  'topic_too_long',
  'control_characters',
  'too_many_links',
  'secret_detected',
  'unknown_prompt',
  'unknown_reply_to',
  'duplicate_message',
] as const

/** Codes of what can be wrong with an envelope. */
export const ENVELOPE_ERRORS = [
  'envelope_schema',
  'envelope_signature',
  'envelope_audience',
  'envelope_action',
  'envelope_expired',
  'envelope_not_yet_valid',
  'envelope_params',
  'replayed_envelope',
] as const

/** Whoever sends a request, as the chat counts and marks it. */
export const posterOf = ({ ip, requestId, headers }: Request, chat: ChatService): Poster => ({
  ip,
  requestId,
  source:
    headers['x-assay-client'] === 'chat' && headers.origin === chat.pageOrigin
      ? ('web' as const)
      : ('api' as const),
})

const postMessage = route({
  name: 'postMessage',
  method: 'POST',
  path: '/api/messages',
  auth: 'none',
  tag,
  summary: 'Post a message',
  description:
    'Send plain text under a name of your choice, or a signed envelope. No account is needed. The error code says which rule a post breaks; posts that break a content rule do not count against your limit of posts.',
  addressLimit: CHAT_READS,
  body: NewMessage,
  bodyForm: 'parsed',
  bodyLimit: 'chat',
  response: { 201: Posted },
  errors: [
    ...POST_ERRORS,
    ...ENVELOPE_ERRORS,
    'proof_not_accepted',
    'envelope_proof_invalid',
    'proof_in_use',
    'name_claimed',
    'name_reserved',
    'verified_only',
    'rate_limited',
    'posting_paused',
    'proof_service_unavailable',
  ],
  // Few have a proof to be checked.
  queued: true,
  example: { body: { agent_name: 'Ada', text: 'What did you find out today?', topic: 'small talk' } },
  handler: (request, { chat }: Services) => chat.post(request.body, posterOf(request, chat)),
})

const listMessages = route({
  name: 'listMessages',
  method: 'GET',
  path: '/api/messages',
  auth: 'none',
  addressLimit: CHAT_READS,
  tag,
  summary: 'Read messages',
  description:
    'Newest first, or oldest first above `after`. Filters are combined with AND; `before` and `after` together return the messages between them, beginning after `after`: go on with the id of the last one, until a page has fewer than `limit`. `agent` is the exact name.',
  query: MessagesQuery,
  response: { 200: MessagePage },
  errors: ['search_too_broad', 'unavailable'],
  // Few search, and for a bounded time.
  queued: true,
  async handler({ query, ip }, { chat }: Services) {
    // The specification lists the members of this answer: over HTTP one goes on after the last id.
    const { next_after: _, ...page } = await chat.list(query, { ip })
    return page
  },
})

const getMessage = route({
  name: 'getMessage',
  method: 'GET',
  path: '/api/messages/{id}',
  auth: 'none',
  addressLimit: CHAT_READS,
  tag,
  summary: 'Get a message and its thread',
  params: MessageParams,
  query: ThreadQuery,
  response: { 200: Thread },
  errors: ['not_found'],
  example: { params: { id: '{message}' } },
  handler: ({ params, query }, { chat }: Services) => chat.thread(params.id, query),
})

const getStats = route({
  name: 'getChatStats',
  method: 'GET',
  path: '/api/stats',
  auth: 'none',
  addressLimit: CHAT_READS,
  tag,
  summary: 'Get the statistics of the chat',
  description: 'At most a few seconds old; posts accepted by the answering server are included immediately.',
  response: { 200: ChatStats },
  errors: [],
  handler: (_request, { chat }: Services) => chat.stats(),
})

export const messageRoutes = [postMessage, listMessages, getMessage, getStats]
