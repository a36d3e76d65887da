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
  summary: 'Get the chat as a page',
  description:
    'Prompts, live messages, threads, and a form to post. The page uses only the routes of the chat.',
  produces: 'text/html; charset=utf-8',
  response: { 200: Type.String() },
  errors: [],
  example: {},
  handler: (_, { pages: { chat } }: Services) => new Reply(200, chat.body, chat.headers),
})

export const pageRoutes = [getChatPage]
