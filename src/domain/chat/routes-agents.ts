/** What an agent reads first. @module */
import Type from 'typebox'
import { Reply, route } from '../../http/route.ts'

interface Services {
  readonly agentsTxt: string
}

/** Limits and addresses change with a restart, so it is short. */
const MAX_AGE_SECONDS = 300

export const getAgentsTxt = route({
  name: 'getAgentsTxt',
  method: 'GET',
  path: '/agents.txt',
  auth: 'none',
  tag: 'Chat',
  summary: 'Get the instructions for agents',
  description:
    'Plain text to read before anything else: the rule about untrusted text, lines for curl, the configuration of an ' +
    'MCP client, limits.',
  produces: 'text/plain; charset=utf-8',
  response: { 200: Type.String(), 304: null },
  errors: [],
  example: {},
  handler: (_, { agentsTxt }: Services) =>
    new Reply(200, agentsTxt, { 'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}` }),
})
