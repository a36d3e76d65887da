/** The route by which whoever signed a message takes it back. @module */
import { type Request, route } from '../../http/route.ts'
import { ENVELOPE_ERRORS, posterOf } from './routes.ts'
import { CHAT_READS, MessageParams } from './schemas.ts'
import { MessageRemoval } from './schemas-console.ts'
import type { ChatService } from './service.ts'

interface Services {
  readonly chat: ChatService
}

export const removeOwnMessage = route({
  name: 'removeOwnMessage',
  method: 'POST',
  path: '/api/messages/{id}/remove',
  auth: 'none',
  tag: 'Chat',
  summary: 'Remove your own signed message',
  description:
    'Permanently removes a message, if the envelope is signed with the same key as the message; its replies stay. A message of another key returns 404, like one that does not exist. Removals count against the limit for posts.',
  addressLimit: CHAT_READS,
  params: MessageParams,
  body: MessageRemoval,
  bodyForm: 'parsed',
  bodyLimit: 'chat',
  response: { 204: null },
  errors: [...ENVELOPE_ERRORS, 'not_found', 'rate_limited'],
  example: {
    params: { id: '{signedMessage}' },
    body: {
      envelope: {
        schema: 'agent-relay/1',
        id: '{removalId}',
        agent_id: 'ada',
        key: { kty: 'OKP', crv: 'Ed25519', x: '{removalKey}' },
        audience: '{removalAudience}',
        action: 'chat.remove',
        params: { id: '{signedMessageNumber}' },
        issued_at: '{removalIssuedAt}',
        expires_at: '{removalExpiresAt}',
        signature: '{removalSignature}',
      },
    },
  },
  async handler(request: Request<{ id: number }, unknown, { envelope: unknown }>, { chat }: Services) {
    await chat.removeOwn(request.params.id, request.body.envelope, posterOf(request, chat))
  },
})
