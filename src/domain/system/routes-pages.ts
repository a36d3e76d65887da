/** The pages that have an address of their own and nothing else there. @module */
import Type from 'typebox'
import { fail } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import type { ChatPage } from './chat-page.ts'
import type { Pages } from './pages.ts'

interface Services {
  readonly pages: Pages
  readonly chatPage: ChatPage
}

const getChatPage = route({
  name: 'getChatPage',
  method: 'GET',
  path: '/chat',
  auth: 'none',
  tag: 'System',
  summary: 'Get the chat as a page',
  description:
    'Prompts, live messages, threads, and a form to post. The page uses only the routes of the chat; without JavaScript it shows the prompt of the day and the newest messages.',
  produces: 'text/html; charset=utf-8',
  response: { 200: Type.String() },
  errors: [],
  example: {},
  handler: async (_, { chatPage }: Services) => {
    const { body, headers } = await chatPage.serve()
    return new Reply(200, body, headers)
  },
})

const getCredentialsPage = route({
  name: 'getCredentialsPage',
  method: 'GET',
  path: '/credentials',
  auth: 'none',
  tag: 'System',
  summary: 'Get the page of holders',
  description:
    'Where people keep their credentials, in their browser, and prove with them what others ask. Addresses of challenges lead to it, too.',
  produces: 'text/html; charset=utf-8',
  response: { 200: Type.String() },
  errors: [],
  example: {},
  handler: (_, { pages: { holder } }: Services) => new Reply(200, holder.body, holder.headers),
})

const getTerminalPage = route({
  name: 'getTerminalPage',
  method: 'GET',
  path: '/terminal',
  auth: 'none',
  tag: 'System',
  summary: 'Get the till as a page',
  description:
    'Takes card payments in a browser, with and without a network. The console pairs it with a terminal; it uses only the routes of terminals.',
  produces: 'text/html; charset=utf-8',
  response: { 200: Type.String() },
  errors: [],
  example: {},
  handler: (_, { pages: { terminal } }: Services) => new Reply(200, terminal.body, terminal.headers),
})

const getTerminalWorker = route({
  name: 'getTerminalWorker',
  method: 'GET',
  path: '/terminal/worker.js',
  auth: 'none',
  tag: 'System',
  summary: 'Get the service worker of the till',
  description: 'Keeps the page of the till on the device, so that it starts without a network.',
  produces: 'text/javascript; charset=utf-8',
  response: { 200: Type.String() },
  errors: [],
  example: {},
  handler: (_, { pages: { terminalWorker } }: Services) =>
    new Reply(200, terminalWorker.body, terminalWorker.headers),
})

const page = {
  method: 'GET',
  auth: 'none',
  tag: 'System',
  produces: 'text/html; charset=utf-8',
  response: { 200: Type.String() },
} as const

const getConsole = route({
  ...page,
  name: 'getConsole',
  path: '/console',
  summary: 'Get the console as a page',
  description:
    'Sign-up, sign-in, and what an organisation manages. The page uses only routes that programs can use as well.',
  errors: [],
  example: {},
  handler: (_, { pages }: Services) => new Reply(200, pages.console.body, pages.console.headers),
})

/** What a page of the console can be called. */
const PAGE_NAME = /^[a-z-]{1,40}$/

const getConsolePage = route({
  ...page,
  name: 'getConsolePage',
  path: '/console/{page}',
  summary: 'Get a page of the console',
  description:
    'The same document for every name of letters and hyphens; its script shows the page that the address names.',
  params: Type.Object({ page: Type.String() }),
  errors: ['not_found'],
  example: { params: { page: 'keys' } },
  handler: ({ params }, { pages }: Services) =>
    PAGE_NAME.test(params.page)
      ? new Reply(200, pages.console.body, pages.console.headers)
      : fail('not_found'),
})

const docsPage = {
  ...page,
  // Large, and the same until the next release.
  response: { ...page.response, 304: null },
} as const

const getDocs = route({
  ...docsPage,
  name: 'getDocs',
  path: '/docs',
  summary: 'Get the documentation as a page',
  description: 'The contents of the guides and of the reference, every operation among them.',
  errors: [],
  example: {},
  handler: (_, { pages }: Services) => {
    const { body, headers } = pages.docs('')
    return new Reply(200, body, headers)
  },
})

const getDocsPage = route({
  ...docsPage,
  name: 'getDocsPage',
  path: '/docs/{page}',
  summary: 'Get a page of the documentation',
  description:
    'A guide, such as `verification`, or a part of the reference: `api-` and a tag, `errors`, `webhook-events`.',
  params: Type.Object({ page: Type.String() }),
  errors: ['not_found'],
  example: { params: { page: 'verification' } },
  handler: ({ params }, { pages }: Services) => {
    const { body, headers } = pages.docs(params.page)
    return new Reply(200, body, headers)
  },
})

export const pageRoutes = [
  getChatPage,
  getCredentialsPage,
  getTerminalPage,
  getTerminalWorker,
  getConsole,
  getConsolePage,
  getDocs,
  getDocsPage,
]
