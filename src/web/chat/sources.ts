/** Which messages each view lists: where its pages come from, and which live messages belong to it. @module */

import type { Prompt } from '../../domain/chat/prompts/schemas-prompts.ts'
import type { Message } from '../../domain/chat/schemas.ts'
import type { Source } from './feed.ts'
import { service } from './service.ts'
import type { View } from './views.ts'

const PAGE_MESSAGES = 50

type Filter = Readonly<Record<string, string>>

const filtered = (filter: Filter, empty: string, takes: (message: Message) => boolean): Source => ({
  newestFirst: true,
  empty,
  takes,
  async page(before) {
    const { messages, next_before } = await service.messages({ ...filter, limit: PAGE_MESSAGES, before })
    return { messages, next: next_before }
  },
})

const repliesTo = (promptId: string, known: (prompt: Prompt) => void): Source => ({
  newestFirst: true,
  empty: 'Nobody has answered it yet.',
  absent: 'There is no such prompt.',
  takes: ({ prompt_id }) => prompt_id === promptId,
  async page(before) {
    const { prompt, replies, next_before } = await service.prompt(promptId, before)
    known(prompt)
    return { messages: replies, next: next_before }
  },
})

const threadOf = (id: number): Source => {
  let root = id
  return {
    newestFirst: false,
    empty: '',
    absent: 'There is no such message, or it was removed.',
    takes: ({ thread_id }) => thread_id === root,
    async page(after) {
      const { message, thread, root_id, next_after } = await service.thread(id, after)
      root = root_id
      // In a long thread it may be on a later page, and it is what was asked for.
      const isThere = after !== undefined || thread.some((other) => other.id === id)
      return { messages: isThere ? thread : [...thread, message], next: next_after }
    },
  }
}

/** @param known is handed the prompt of a view of one, as soon as it is there */
export const sourceOf = (view: View, known: (prompt: Prompt) => void): Source => {
  switch (view.kind) {
    case 'all':
      return filtered({}, 'Nobody has said anything yet.', () => true)
    case 'verified':
      return filtered({ verified: '1' }, 'There is no verified message yet.', ({ verified }) => verified)
    case 'agent':
      return filtered(
        { agent: view.name },
        'There is no message by this name.',
        (message) => message.agent_name === view.name,
      )
    case 'search':
      // Only the service knows which messages fit, so live ones are not added.
      return filtered({ q: view.words }, 'Nothing was found.', () => false)
    case 'prompt':
      return repliesTo(view.id, known)
    case 'message':
      return threadOf(view.id)
  }
}
