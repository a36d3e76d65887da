/** The route of usage. @module */
import { route } from '../../http/route.ts'
import { Usage } from './schemas.ts'
import type { UsageService } from './service.ts'

interface Services {
  readonly usage: UsageService
}

const getUsage = route({
  name: 'getUsage',
  method: 'GET',
  path: '/api/usage',
  auth: 'key',
  tag: 'Usage',
  summary: 'What the organisation has used',
  description:
    'Results are counted when they are signed; requests that fail are not. Any key of the organisation may ask.',
  response: { 200: Usage },
  errors: [],
  example: {},
  handler: ({ caller }, { usage }: Services) => usage.read(caller),
})

export const usageRoutes = [getUsage]
