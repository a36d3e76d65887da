/** Routes of security alerts. @module */
import { route } from '../../http/route.ts'
import { Alert, AlertChange, AlertPage, AlertParams, AlertsQuery, AllAlertsPage } from './schemas.ts'
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

const listAllAlerts = route({
  name: 'listAllAlerts',
  method: 'GET',
  path: '/console/api/all-alerts',
  auth: 'console',
  scope: 'admin',
  tag: 'Security',
  summary: 'List the security alerts of all organisations',
  description:
    'Those that started last come first. For operators; an organisation decides on its own alerts.',
  query: AlertsQuery,
  response: { 200: AllAlertsPage },
  errors: [],
  example: { query: { status: 'open', limit: '10' } },
  handler: ({ query }, { security }: Services) => security.listAll(query),
})

const decideAlert = route({
  name: 'decideAlert',
  method: 'PATCH',
  path: '/console/api/alerts/{alertId}',
  auth: 'console',
  scope: 'audit',
  tag: 'Security',
  summary: 'Acknowledge, resolve, mute or reopen an alert',
  description:
    'With an API key it needs the scope `keys`, too. The decision is recorded in the log, without its reason. A resolved alert that happens again is open again. Muting holds for the type and subject, on later days too, until one of these alerts gets another status; what was quiet meanwhile is then resolved. You can send the complete alert as it was listed.',
  params: AlertParams,
  body: AlertChange,
  response: { 200: Alert },
  errors: ['not_found', 'read_only'],
  example: {
    params: { alertId: '{alertId}' },
    body: { status: 'acknowledged', reason: 'The till was replaced; its clock is being set.' },
  },
  handler: ({ caller, params, body }, { security }: Services) =>
    security.decide(caller, params.alertId, body),
})

export const securityRoutes = [listSecurityAlerts, listConsoleAlerts, listAllAlerts, decideAlert]
