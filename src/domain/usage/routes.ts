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
  summary: 'Get the usage of the organisation',
  description:
    'Counts signed results; failed requests are not counted. Any key of the organisation can be used.',
  response: { 200: Usage },
  errors: [],
  example: {},
  handler: ({ caller }, { usage }: Services) => usage.read(caller),
})

export const usageRoutes = [getUsage]
