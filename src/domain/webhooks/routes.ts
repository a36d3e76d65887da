/** Routes of webhook endpoints. @module */
import { route } from '../../http/route.ts'
import {
  EventPage,
  EventsQuery,
  NewWebhook,
  SecretRotated,
  Webhook,
  WebhookChange,
  WebhookCreated,
  WebhookList,
  WebhookParams,
  WebhookTested,
} from './schemas.ts'
import type { WebhooksService } from './service.ts'

interface Services {
  readonly webhooks: WebhooksService
}

const tag = 'Webhooks'
const auth = 'console'
const scope = 'webhook'
const URL_ERRORS = ['invalid_url', 'url_not_https', 'url_blocked'] as const
const refusals = {
  '/label': { required: 'label_required', type: 'label_required', pattern: 'label_required' },
  '/url': { required: 'invalid_url' },
  '/events': { required: 'events_empty', min_items: 'events_empty' },
  '/events/*': { enum: 'invalid_event' },
} as const

const listWebhooks = route({
  name: 'listWebhooks',
  method: 'GET',
  path: '/api/webhooks',
  auth,
  scope,
  tag,
  summary: 'List webhook endpoints',
  description:
    'With an API key: endpoints registered with this key. In a console session: all endpoints of the organisation. Secrets are masked.',
  response: { 200: WebhookList },
  errors: [],
  handler: ({ caller }, { webhooks }: Services) => webhooks.list(caller),
})

const createWebhook = route({
  name: 'createWebhook',
  method: 'POST',
  path: '/api/webhooks',
  auth,
  scope,
  tag,
  summary: 'Register a webhook endpoint',
  description:
    'Registered with an API key, it receives events caused by this key; registered in a console session, events caused by any key of the organisation. The secret is shown once. At most 100 endpoints per organisation. Only endpoints registered with a key of scope `egress:private` or `admin` can be in the private networks that the operator has opened.',
  body: NewWebhook,
  response: { 201: WebhookCreated },
  errors: [...URL_ERRORS, 'limit_reached'],
  refusals,
  example: {
    body: {
      label: 'Order service',
      url: 'https://hooks.shop.example/assay',
      events: ['proof.verified', 'proof.spent'],
    },
  },
  handler: ({ caller, body }, { webhooks }: Services) => webhooks.create(caller, body),
})

const changeWebhook = route({
  name: 'changeWebhook',
  method: 'PATCH',
  path: '/api/webhooks/{webhookId}',
  auth,
  scope,
  tag,
  summary: 'Change, pause or resume a webhook endpoint',
  description:
    'Events during a pause are never delivered. You can send the complete endpoint as it was listed.',
  params: WebhookParams,
  body: WebhookChange,
  response: { 200: Webhook },
  errors: [...URL_ERRORS, 'not_found', 'read_only'],
  refusals,
  example: { body: { active: false } },
  handler: ({ caller, params, body }, { webhooks }: Services) =>
    webhooks.change(caller, params.webhookId, body),
})

const deleteWebhook = route({
  name: 'deleteWebhook',
  method: 'DELETE',
  path: '/api/webhooks/{webhookId}',
  auth,
  scope,
  tag,
  summary: 'Remove a webhook endpoint',
  description: 'Its pending deliveries are dropped.',
  params: WebhookParams,
  response: { 204: null },
  errors: ['not_found'],
  handler: ({ caller, params }, { webhooks }: Services) => webhooks.remove(caller, params.webhookId),
})

const rotateWebhookSecret = route({
  name: 'rotateWebhookSecret',
  method: 'POST',
  path: '/api/webhooks/{webhookId}/rotate-secret',
  auth,
  scope,
  tag,
  summary: 'Replace the secret of a webhook endpoint',
  description: 'The previous secret is never used again, not even for retries. The new secret is shown once.',
  params: WebhookParams,
  response: { 200: SecretRotated },
  errors: ['not_found'],
  handler: ({ caller, params }, { webhooks }: Services) => webhooks.rotate(caller, params.webhookId),
})

const testWebhook = route({
  name: 'testWebhook',
  method: 'POST',
  path: '/api/webhooks/{webhookId}/test',
  auth,
  scope,
  tag,
  summary: 'Send a test event to a webhook endpoint',
  description:
    'One attempt, at once, signed like any other delivery, of the event `webhook.test` with `data: {webhook_id}`; also while the endpoint is paused. The answer says what came of it; `lastDeliveryAt` and `lastStatus` of the endpoint, too. It is not repeated and never counts as a failure. One test of an endpoint at a time; a second one returns 429.',
  params: WebhookParams,
  response: { 200: WebhookTested },
  queued: false,
  errors: ['not_found', 'rate_limited'],
  handler: ({ caller, params }, { webhooks }: Services) => webhooks.test(caller, params.webhookId),
})

const listEvents = route({
  name: 'listEvents',
  method: 'GET',
  path: '/api/events',
  auth,
  scope,
  tag,
  summary: 'List events from the log',
  description:
    'What was announced to your organisation, or by a key what that key caused, in the order of the log, whether it was delivered, dropped or fell into a pause: for receivers that were down, and for those that have no address. With `webhook`, what that endpoint is subscribed to now, each event under the `delivery_id` of its delivery. The checkpoint covers every entry of the page.',
  query: EventsQuery,
  waits: true,
  response: { 200: EventPage },
  errors: ['not_found', 'log_inconsistent', 'validation_failed'],
  example: { query: { webhook: '{announcedWebhookId}', limit: '10' } },
  handler: ({ caller, query }, { webhooks }: Services) => webhooks.events(caller, query),
})

export const webhookRoutes = [
  listWebhooks,
  createWebhook,
  changeWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  listEvents,
]
