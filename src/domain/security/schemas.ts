/** Wire form of security alerts. @module */
import Type, { type Static } from 'typebox'
import { askedId, DateTime, dateTime, idOf, NextCursor, orNull, pageLimit } from '../../json/schemas.ts'

export const ALERT_TYPES = [
  'double_spend',
  'invalid_mac',
  'envelope_replay',
  'key_revoked_used',
  'clock_rollback',
  'egress_blocked',
  'auth_bruteforce',
  'rate_limit',
  'tree_inconsistency',
  'disk_full',
  'aml_finding',
  'webhook_failing',
  'webhook_recovered',
] as const
export type AlertType = (typeof ALERT_TYPES)[number]

export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]

export const ALERT_STATUSES = ['open', 'acknowledged', 'resolved', 'muted'] as const
export type AlertStatus = (typeof ALERT_STATUSES)[number]

const MAX_REASON_CHARACTERS = 1000

const AlertDecision = Type.Object(
  {
    status: Type.Enum(['acknowledged', 'resolved', 'muted'], {
      description: 'A resolved alert that happened again since is open.',
    }),
    reason: orNull(Type.String()),
    decidedAt: DateTime,
    decidedBy: Type.String({ description: 'The account (`acc_…`) or API key (`key_…`).' }),
  },
  { title: 'AlertDecision' },
)

export const Alert = Type.Object(
  {
    id: idOf('alr'),
    type: Type.Enum([...ALERT_TYPES]),
    severity: Type.Enum([...SEVERITIES]),
    subject: Type.String({
      description:
        'The subject: the id of a terminal, key, account or webhook endpoint, an address, or for `aml_finding` the list.',
    }),
    count: Type.Integer({ minimum: 1, description: 'Number of occurrences on that UTC day.' }),
    firstSeen: DateTime,
    lastSeen: DateTime,
    status: Type.Enum([...ALERT_STATUSES], {
      description:
        '`open`: nobody has decided, or it was resolved and happened again. `muted`: alerts of this type about this subject, those of later days too, are not to be shown.',
    }),
    decision: orNull(AlertDecision, { description: 'The latest one that was not taken back.' }),
  },
  { title: 'SecurityAlert' },
)
export type Alert = Static<typeof Alert>

export const AlertsQuery = Type.Object({
  severity: Type.Optional(Type.Enum([...SEVERITIES])),
  status: Type.Optional(Type.Enum([...ALERT_STATUSES], { description: 'Default: all.' })),
  since: Type.Optional(dateTime('Only alerts seen at or after this time.')),
  cursor: Type.Optional(askedId('alr', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(100, 50),
})
export type AlertsQuery = Static<typeof AlertsQuery>

export const AlertPage = Type.Object(
  {
    alerts: Type.Array(Alert),
    nextCursor: NextCursor,
  },
  { title: 'SecurityAlertPage' },
)
export type AlertPage = Static<typeof AlertPage>

export const AllAlertsPage = Type.Object(
  {
    alerts: Type.Array(
      Type.Object({ ...Alert.properties, organisationId: idOf('org') }, { title: 'SecurityAlertOfAll' }),
    ),
    nextCursor: NextCursor,
  },
  { title: 'AllSecurityAlertsPage' },
)
export type AllAlertsPage = Static<typeof AllAlertsPage>

export const AlertParams = Type.Object({ alertId: idOf('alr') })

/** Members that only the service sets. They may come back with a change, as they were. */
export const AS_LISTED = ['id', 'type', 'subject', 'firstSeen'] as const
/** These go on while somebody writes a change, so that they come back as they were read and are not compared. */
const COUNTED = ['severity', 'count', 'lastSeen', 'decision'] as const

export const AlertChange = Type.Object(
  {
    ...Type.Partial(Type.Pick(Alert, [...AS_LISTED, ...COUNTED])).properties,
    status: Type.Enum([...ALERT_STATUSES], {
      description: '`open` takes the decision back; any status but `muted` ends what mutes the alert.',
    }),
    reason: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_REASON_CHARACTERS,
        description: 'Why, in your words; not with `open`.',
      }),
    ),
  },
  { title: 'SecurityAlertChange' },
)
export type AlertChange = Static<typeof AlertChange>
