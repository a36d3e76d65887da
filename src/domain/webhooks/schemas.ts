/** Wire shapes of webhook endpoints. @module */
import Type, { type Static } from 'typebox'
import { NOT_BLANK } from '../../json/patterns.ts'
import { askedId, DateTime, dateTime, idOf, OfLog, orNull, pageLimit } from '../../json/schemas.ts'
import { TEST_EVENT, WEBHOOK_EVENTS } from './events.ts'

export const MAX_LABEL_CHARACTERS = 100
export const MAX_URL_CHARACTERS = 2048
/** Repetitions are allowed and count once; nobody needs more of them. */
const MAX_NAMED_EVENTS = 32
/** However many wait, a list counts no more of them. */
export const MAX_COUNTED_BACKLOG = 10_000

const Event = Type.Enum([...WEBHOOK_EVENTS])

/** Why a test was not delivered. */
const TEST_FAULTS = [
  'status',
  'blocked',
  'unreachable',
  'timeout',
  'too_large',
  'undecodable',
  'redirect',
  'cancelled',
  'error',
] as const

const label = Type.String({
  maxLength: MAX_LABEL_CHARACTERS,
  pattern: NOT_BLANK,
  description: 'A display name; not blank.',
})
const url = Type.String({
  maxLength: MAX_URL_CHARACTERS,
  description: 'Destination of the deliveries: https, without user and password.',
})
const events = Type.Array(Event, {
  minItems: 1,
  maxItems: MAX_NAMED_EVENTS,
  description: 'The events to deliver; duplicates are ignored.',
})

export const NewWebhook = Type.Object({ label, url, events }, { title: 'NewWebhook' })
export type NewWebhook = Static<typeof NewWebhook>

export const WebhookParams = Type.Object({ webhookId: idOf('whk') })

const Secret = Type.String({
  pattern: '^whsec_[0-9a-f]{48}$',
  description: 'Signs the deliveries. Shown once.',
})

const webhookFields = {
  id: idOf('whk'),
  label: Type.String(),
  url: Type.String(),
  events: Type.Array(Event),
  active: Type.Boolean({ description: 'False: paused.' }),
  scope: Type.Enum(['account', 'key'], {
    description:
      '`account`: events caused by any key of the organisation. `key`: events caused by the key that registered it.',
  }),
  createdAt: dateTime('When it was registered.'),
}

export const WebhookCreated = Type.Object({ ...webhookFields, secret: Secret }, { title: 'WebhookCreated' })
export type WebhookCreated = Static<typeof WebhookCreated>

export const Webhook = Type.Object(
  {
    ...webhookFields,
    secret: Type.String({ description: '`whsec_****` and the last four characters.' }),
    readable: Type.Boolean({
      description:
        'False: its URL (then empty) or its secret does not open with the keys of this service, as after a restore without them. Its deliveries fail until it has both anew, by PATCH and `rotate-secret`.',
    }),
    lastDeliveryAt: orNull(dateTime('When a delivery was last attempted, successful or not.')),
    lastStatus: orNull(
      Type.Integer({ description: 'HTTP status of that attempt; null if there was no answer.' }),
    ),
    failureCount: Type.Integer({
      minimum: 0,
      description: 'Events dropped after three attempts, since registration.',
    }),
    failingSince: orNull(
      dateTime('When an event was dropped after three attempts, if none was delivered since.'),
    ),
    backlog: Type.Integer({
      minimum: 0,
      maximum: MAX_COUNTED_BACKLOG,
      description: `Deliveries that wait for an attempt; counted up to ${MAX_COUNTED_BACKLOG}.`,
    }),
  },
  { title: 'Webhook' },
)
export type Webhook = Static<typeof Webhook>

/** Members that only the service sets. They may come back with a change, as they were. */
export const AS_LISTED = ['id', 'scope', 'createdAt', 'secret', 'readable'] as const
/** These go on while somebody writes a change, so that they come back as they were read and are not compared. */
const COUNTED = ['lastDeliveryAt', 'lastStatus', 'failureCount', 'failingSince', 'backlog'] as const

export const WebhookChange = Type.Object(
  {
    ...Type.Partial(Type.Pick(Webhook, [...AS_LISTED, ...COUNTED])).properties,
    label: Type.Optional(label),
    url: Type.Optional(url),
    events: Type.Optional(events),
    active: Type.Optional(
      Type.Boolean({
        description:
          'false pauses the endpoint: events in the meantime are never delivered. true resumes it from now on.',
      }),
    ),
  },
  { title: 'WebhookChange' },
)
export type WebhookChange = Static<typeof WebhookChange>

export const WebhookList = Type.Object(
  { webhooks: Type.Array(Webhook), count: Type.Integer({ minimum: 0 }) },
  { title: 'WebhookList' },
)
export type WebhookList = Static<typeof WebhookList>

export const WebhookTested = Type.Object(
  {
    id: idOf('whk'),
    deliveryId: Type.String({ description: '`dlv_…`, as the receiver gets it.' }),
    event: Type.Literal(TEST_EVENT),
    delivered: Type.Boolean({ description: 'Whether it was answered with a status of 2xx.' }),
    status: orNull(Type.Integer({ description: 'HTTP status; null if there was no answer.' })),
    reason: orNull(
      Type.Enum([...TEST_FAULTS], {
        description:
          '`status`: another status than 2xx. `blocked`: an address that may not be called. `unreachable`: no name, connection or valid certificate. `timeout`: no status line in time. Null if it was delivered.',
      }),
    ),
    sentAt: dateTime('When the attempt began.'),
    durationMs: Type.Integer({ minimum: 0 }),
  },
  { title: 'WebhookTested' },
)
export type WebhookTested = Static<typeof WebhookTested>

export const SecretRotated = Type.Object(
  {
    id: idOf('whk'),
    secret: Secret,
    rotatedAt: dateTime('Deliveries are signed with it from then on.'),
  },
  { title: 'WebhookSecretRotated' },
)
export type SecretRotated = Static<typeof SecretRotated>

export const MAX_PAGE_EVENTS = 1_000
export const USUAL_PAGE_EVENTS = 100
export const MAX_WAIT_SECONDS = 30
const EVENT_PATTERN = WEBHOOK_EVENTS.join('|').replaceAll('.', '\\.')
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })

export const EventsQuery = Type.Object({
  webhook: Type.Optional(
    askedId('whk', {
      description: 'An endpoint: only what it is subscribed to now, each event as the body of its delivery.',
    }),
  ),
  after: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,15}\\.[0-9]{1,6}$',
      description:
        'The `cursor` of the last event that you have, or `nextCursor`. Without it: from the beginning, or `since`.',
    }),
  ),
  types: Type.Optional(
    Type.String({
      pattern: `^(${EVENT_PATTERN})(,(${EVENT_PATTERN})){0,${WEBHOOK_EVENTS.length - 1}}$`,
      description: 'Only events of these types, separated by commas.',
    }),
  ),
  since: Type.Optional(dateTime('Where to begin without `after`: only events at or after this time.')),
  limit: pageLimit(MAX_PAGE_EVENTS, USUAL_PAGE_EVENTS),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WAIT_SECONDS,
      default: 0,
      description: 'Seconds to wait for a first event where there is none yet.',
    }),
  ),
})
export type EventsQuery = Static<typeof EventsQuery>

const AnnouncedEvent = Type.Object(
  {
    cursor: Type.String({ description: 'Its place: ask for what comes `after` it.' }),
    log: OfLog,
    leafIndex: Type.Integer({ minimum: 0, description: 'Index of the entry that announces it.' }),
    leafHash: Type.String({ ...Hash, description: 'Leaf hash of that entry.' }),
    event: Type.Object(
      {
        delivery_id: Type.String({
          description: '`dlv_…`, as in the deliveries to `webhook`; without one, an id that no delivery has.',
        }),
        event: Event,
        created_at: DateTime,
        data: Type.Record(Type.String(), Type.Union([Type.String(), Type.Integer(), Type.Null()])),
      },
      { description: 'As the body of a delivery.' },
    ),
  },
  { title: 'AnnouncedEvent' },
)
export type AnnouncedEvent = Static<typeof AnnouncedEvent>

export const EventPage = Type.Object(
  {
    log: OfLog,
    events: Type.Array(AnnouncedEvent),
    nextCursor: orNull(Type.String(), {
      description:
        'Null at the end of the log. Other pages may have fewer events than their limit, even none.',
    }),
    complete: Type.Boolean({
      description:
        'Whether none is missing between `after` and `nextCursor`, or the end: entries of this log never roll off.',
    }),
    treeSize: Type.Integer({ minimum: 0, description: 'Entries in the log.' }),
    root: Hash,
    checkpoint: Type.String({
      description:
        'Signed note over `treeSize` and `root` (C2SP tlog-checkpoint), which covers every entry of the page.',
    }),
  },
  { title: 'EventPage' },
)
export type EventPage = Static<typeof EventPage>
