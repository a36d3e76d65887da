/** What the service says of itself: information, health, metrics, its own description. @module */
import { Type } from 'typebox'
import { prefers } from '../../http/accept.ts'
import { Reply, type Route, route } from '../../http/route.ts'
import type { Pages } from './pages.ts'
import { Health, Liveness, MetricsDocument, Readiness, ServiceInfo } from './schemas.ts'
import type { SystemService } from './service.ts'

interface Services {
  readonly system: SystemService
  readonly pages: Pages
}

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8'
const JSON_TYPE = 'application/json'
const HTML_TYPE = 'text/html'

const tag = 'System'

/** Health is told as a status too, since load balancers and terminals look no further. */
const answerHealth = async (system: SystemService) => {
  const health = await system.health()
  return health.status === 'unhealthy' ? new Reply(503, health) : health
}

/** Prometheus asks for text, everybody else gets JSON. */
const prefersText = (accept: string | string[] | undefined): boolean =>
  prefers(accept, ['text/plain', 'application/openmetrics-text'], JSON_TYPE)

const getServiceInfo = route({
  name: 'getServiceInfo',
  method: 'GET',
  path: '/',
  auth: 'none',
  tag,
  summary: 'Get information about this service',
  description: 'JSON, or a page for browsers.',
  produces: [JSON_TYPE, HTML_TYPE],
  response: { 200: ServiceInfo },
  errors: [],
  example: {},
  handler: ({ headers }, { system, pages: { landing } }: Services) =>
    prefers(headers.accept, HTML_TYPE, JSON_TYPE)
      ? new Reply(200, landing.body, landing.headers)
      : new Reply(200, system.info(), { Vary: 'Accept' }),
})

const getHealth = route({
  name: 'getHealth',
  method: 'GET',
  path: '/health',
  auth: 'none',
  tag,
  summary: 'Check the health of the service and its components',
  description: 'Components are checked at most every 250 ms. Not rate limited.',
  cost: 0,
  response: { 200: Health, 503: Health },
  errors: [],
  example: {},
  handler: (_, { system }: Services) => answerHealth(system),
})

const getLiveness = route({
  name: 'getLiveness',
  method: 'GET',
  path: '/health/live',
  auth: 'none',
  tag,
  summary: 'Liveness probe',
  description: 'Checks only that the process runs, since a restart would not fix its dependencies.',
  cost: 0,
  response: { 200: Liveness },
  errors: [],
  example: {},
  handler: () => ({ live: true }),
})

const getReadiness = route({
  name: 'getReadiness',
  method: 'GET',
  path: '/health/ready',
  auth: 'none',
  tag,
  summary: 'Readiness probe',
  description:
    '503 while the server starts or drains, or if nothing can be written: its disk or the disk of its database is full (`reason: disk_full`), its disk is read only or fails to write (`disk_unwritable`), the database takes no writes (`read_only`), or does not answer (`database_unavailable`).',
  cost: 0,
  response: { 200: Readiness, 503: Readiness },
  errors: [],
  example: {},
  handler: (_, { system }: Services) => {
    const readiness = system.readiness()
    return readiness.ready ? readiness : new Reply(503, readiness)
  },
})

const getHealthV1 = route({
  name: 'getHealthV1',
  method: 'GET',
  path: '/v1/health',
  auth: 'none',
  tag,
  summary: 'Check the health of the service and its components',
  cost: 0,
  response: { 200: Health, 503: Health },
  errors: [],
  example: {},
  handler: (_, { system }: Services) => answerHealth(system),
})

const getMetricsText = route({
  name: 'getMetricsText',
  method: 'GET',
  path: '/metrics',
  auth: 'metrics',
  tag,
  summary: 'Get metrics for Prometheus',
  description:
    'Public, unless the operator has set METRICS_TOKEN; then that token, or a key with scope `metrics`.',
  produces: PROMETHEUS_TEXT,
  queued: false,
  response: { 200: Type.String() },
  errors: ['insufficient_scope'],
  example: {},
  handler: (_, { system }: Services) => system.metricsText(),
})

const getMetrics = route({
  name: 'getMetrics',
  method: 'GET',
  path: '/v1/metrics',
  auth: 'key',
  scope: 'metrics',
  tag,
  summary: 'Get metrics as JSON, or as text if Accept prefers text',
  produces: [JSON_TYPE, PROMETHEUS_TEXT],
  queued: false,
  response: { 200: MetricsDocument },
  errors: [],
  example: {},
  handler: async ({ headers }, { system }: Services) =>
    prefersText(headers.accept)
      ? new Reply(200, await system.metricsText(), { 'Content-Type': PROMETHEUS_TEXT, Vary: 'Accept' })
      : new Reply(200, await system.metricsJson(), { Vary: 'Accept' }),
})

const getOpenApi = route({
  name: 'getOpenApi',
  method: 'GET',
  path: '/v1/openapi.json',
  auth: 'none',
  tag,
  summary: 'This description',
  produces: JSON_TYPE,
  response: { 200: Type.Record(Type.String(), Type.Unknown(), { description: 'An OpenAPI 3.1 document.' }) },
  errors: [],
  example: {},
  handler: (_, { system }: Services) => system.openapi(),
})

export const systemRoutes: readonly Route<Services>[] = [
  getServiceInfo,
  getHealth,
  getLiveness,
  getReadiness,
  getHealthV1,
  getMetricsText,
  getMetrics,
  getOpenApi,
]
