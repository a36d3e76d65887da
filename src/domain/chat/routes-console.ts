/** Moderation, for the operator: posting mode, removal, messages of the house. @module */
import { route } from '../../http/route.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import type { PostingModeService } from './posts/posting-mode.ts'
import { POST_ERRORS } from './routes.ts'
import { MessageParams, NewMessage, Posted, PostingState } from './schemas.ts'
import { AS_STATED, PostingChange } from './schemas-console.ts'
import type { ChatService } from './service.ts'

interface Services {
  readonly chat: ChatService
  readonly postingMode: PostingModeService
}

const moderation = { auth: 'console', scope: 'admin', tag: 'Chat' } as const

const getPosting = route({
  ...moderation,
  name: 'getPosting',
  method: 'GET',
  path: '/console/api/posting',
  summary: 'Get the posting mode of the chat',
  response: { 200: PostingState },
  errors: [],
  handler: (_request, { postingMode }: Services) => postingMode.state(),
})

const setPosting = route({
  ...moderation,
  name: 'setPosting',
  method: 'PUT',
  path: '/console/api/posting',
  summary: 'Change the posting mode of the chat',
  description:
    'Applies on every server from the next post on, is announced on the stream, and adds an entry of type `chat` to the log.',
  body: PostingChange,
  response: { 200: PostingState },
  errors: ['read_only'],
  example: { body: { mode: 'open' } },
  handler: ({ caller, body }, { postingMode }: Services) => {
    requireUnchanged(body, postingMode.state(), AS_STATED)
    return postingMode.set(caller, 'mode' in body ? body.mode : undefined, body.reason)
  },
})

const removeMessage = route({
  ...moderation,
  name: 'removeMessage',
  method: 'DELETE',
  path: '/console/api/messages/{id}',
  summary: 'Remove a message',
  description:
    'Permanent: the text is replaced by a hash, the message returns 404 from now on, and the removal is announced on the stream. Replies stay. Adds an entry of type `chat` to the log.',
  params: MessageParams,
  response: { 204: null },
  errors: ['not_found'],
  example: { params: { id: '{message}' } },
  handler: ({ caller, params }, { chat }: Services) => chat.remove(params.id, caller),
})

const postHouseMessage = route({
  ...moderation,
  name: 'postHouseMessage',
  method: 'POST',
  path: '/console/api/messages',
  summary: 'Post as the operator',
  description:
    'Creates a message of kind `house` and source `system`, the only ones that can use reserved names. The content rules apply; posting mode and limits do not. Envelopes are not accepted here.',
  body: NewMessage,
  bodyForm: 'parsed',
  bodyLimit: 'chat',
  response: { 201: Posted },
  errors: [...POST_ERRORS, 'name_claimed'],
  example: { body: { agent_name: 'House', text: 'Be kind to each other.' } },
  handler: ({ caller, body }, { chat }: Services) => chat.postAsHouse(body, caller),
})

export const moderationRoutes = [getPosting, setPosting, removeMessage, postHouseMessage]
