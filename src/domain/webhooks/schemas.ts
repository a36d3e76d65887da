/** Wire shapes of webhook endpoints. @module */
import Type, { type Static } from 'typebox'
import { WEBHOOK_EVENTS } from '../../events.ts'

export const MAX_LABEL_CHARACTERS = 100
export const MAX_URL_CHARACTERS = 2048
/** Repetitions are allowed and count once; nobody needs more of them. */
const MAX_NAMED_EVENTS = 32
const MAX_EVENT_CHARACTERS = 64

const DateTime = (description: string) => Type.String({ format: 'date-time', description })
const EVENT_NAMES = WEBHOOK_EVENTS.map((name) => `\`${name}\``).join(', ')

// What is missing or wrong here has codes of its own, so the schema asks for types and sizes only.
const label = Type.String({
  maxLength: MAX_LABEL_CHARACTERS,
  description: 'For people; not blank.',
})
const url = Type.String({
  maxLength: MAX_URL_CHARACTERS,
  description: 'Where deliveries go: https, without user and password.',
})
const events = Type.Array(Type.String({ maxLength: MAX_EVENT_CHARACTERS }), {
  maxItems: MAX_NAMED_EVENTS,
  description: `At least one of ${EVENT_NAMES}.`,
})

export const NewWebhook = Type.Object(
  { label: Type.Optional(label), url: Type.Optional(url), events: Type.Optional(events) },
  { title: 'NewWebhook', description: 'All three are needed.' },
)
export type NewWebhook = Static<typeof NewWebhook>

export const WebhookChange = Type.Object(
  {
    label: Type.Optional(label),
    url: Type.Optional(url),
    events: Type.Optional(events),
    active: Type.Optional(
      Type.Boolean({
        description: 'False pauses: what happens meanwhile is never delivered. True goes on from now.',
      }),
    ),
  },
  { title: 'WebhookChange' },
)
export type WebhookChange = Static<typeof WebhookChange>

export const WebhookParams = Type.Object({ webhookId: Type.String({ description: '`whk_…`' }) })

const Secret = Type.String({
  pattern: '^whsec_[0-9a-f]{48}$',
  description: 'Signs the deliveries. Shown once.',
})

const webhookFields = {
  id: Type.String({ description: '`whk_…`' }),
  label: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.Enum([...WEBHOOK_EVENTS])),
  active: Type.Boolean({ description: 'False: paused.' }),
  scope: Type.Enum(['account', 'key'], {
    description:
      '`account`: what any key of the organisation does. `key`: what the key does that registered it.',
  }),
  createdAt: DateTime('When it was registered.'),
}

export const WebhookCreated = Type.Object({ ...webhookFields, secret: Secret }, { title: 'WebhookCreated' })
export type WebhookCreated = Static<typeof WebhookCreated>

export const Webhook = Type.Object(
  {
    ...webhookFields,
    secret: Type.String({ description: '`whsec_****` and the last four characters.' }),
    lastDeliveryAt: Type.Union([DateTime('When it was last tried, with success or not.'), Type.Null()]),
    lastStatus: Type.Union([
      Type.Integer({ description: 'HTTP status of that attempt; null where there was no answer.' }),
      Type.Null(),
    ]),
    failureCount: Type.Integer({
      minimum: 0,
      description: 'Events dropped after three attempts, since registration.',
    }),
  },
  { title: 'Webhook' },
)
export type Webhook = Static<typeof Webhook>

export const WebhookList = Type.Object(
  { webhooks: Type.Array(Webhook), count: Type.Integer({ minimum: 0 }) },
  { title: 'WebhookList' },
)
export type WebhookList = Static<typeof WebhookList>

export const SecretRotated = Type.Object(
  {
    id: Type.String({ description: '`whk_…`' }),
    secret: Secret,
    rotatedAt: DateTime('From then on deliveries are signed with it.'),
  },
  { title: 'WebhookSecretRotated' },
)
export type SecretRotated = Static<typeof SecretRotated>
