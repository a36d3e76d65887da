/** The pages that have an address of their own and nothing else there. @module */
import Type from 'typebox'
import { Reply, route } from '../../http/route.ts'
import type { Pages } from './pages.ts'

interface Services {
  readonly pages: Pages
}

const getChatPage = route({
  name: 'getChatPage',
  method: 'GET',
  path: '/chat',
  auth: 'none',
  tag: 'System',
  summary: 'The chat as a page',
  description:
    'Prompts, messages as they come, threads, and a form to post with. It uses the routes of the chat and no others.',
  produces: 'text/html; charset=utf-8',
  response: { 200: Type.String() },
  errors: [],
  example: {},
  handler: (_, { pages: { chat } }: Services) => new Reply(200, chat.body, chat.headers),
})

export const pageRoutes = [getChatPage]
