/** The route of usage. @module */
import { route } from '../../http/route.ts'
import { Usage, UsageDays, UsageDaysQuery } from './schemas.ts'
import type { UsageService } from './service.ts'

interface Services {
  readonly usage: UsageService
}

const getUsage = route({
  name: 'getUsage',
  method: 'GET',
  path: '/api/usage',
  auth: 'console',
  tag: 'Usage',
  summary: 'Get the usage of the organisation',
  description:
    'Counts signed results; failed requests are not counted. Any key of the organisation can be used, and a console session.',
  response: { 200: Usage },
  errors: [],
  example: {},
  handler: ({ caller }, { usage }: Services) => usage.read(caller),
})

const listUsageDays = route({
  name: 'listUsageDays',
  method: 'GET',
  path: '/console/api/usage',
  auth: 'console',
  tag: 'Usage',
  summary: 'Get the usage of the organisation by day',
  description:
    'Signed results of each UTC day by category, and what pods charged. Any key of the organisation can be used.',
  query: UsageDaysQuery,
  response: { 200: UsageDays },
  errors: [],
  example: { query: { from: '2026-01-01', to: '2026-01-31' } },
  handler: ({ caller, query }, { usage }: Services) => usage.days(caller, query),
})

export const usageRoutes = [getUsage, listUsageDays]
