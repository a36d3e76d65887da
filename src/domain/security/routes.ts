/** Routes of security alerts. @module */
import { route } from '../../http/route.ts'
import { AlertPage, AlertsQuery } from './schemas.ts'
import type { SecurityService } from './service.ts'

interface Services {
  readonly security: SecurityService
}

const alerts = {
  method: 'GET',
  scope: 'audit',
  tag: 'Security',
  description:
    'The alerts that started last come first. Alerts of the same kind and subject are counted together per UTC day.',
  query: AlertsQuery,
  response: { 200: AlertPage },
  errors: [],
} as const

const listSecurityAlerts = route({
  ...alerts,
  name: 'listSecurityAlerts',
  path: '/api/security/alerts',
  auth: 'key',
  summary: 'List security alerts',
  handler: ({ caller, query }, { security }: Services) => security.list(caller.organisation, query),
})

const listConsoleAlerts = route({
  ...alerts,
  name: 'listConsoleAlerts',
  path: '/console/api/alerts',
  auth: 'console',
  summary: 'List security alerts',
  handler: ({ caller, query }, { security }: Services) => security.list(caller.organisation, query),
})

export const securityRoutes = [listSecurityAlerts, listConsoleAlerts]
