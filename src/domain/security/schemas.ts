/** Wire form of security alerts. @module */
import Type, { type Static } from 'typebox'
import { askedId, DateTime, dateTime, NextCursor, pageLimit } from '../../json/schemas.ts'

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
] as const
export type AlertType = (typeof ALERT_TYPES)[number]

export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]

export const Alert = Type.Object(
  {
    id: Type.String(),
    type: Type.Enum([...ALERT_TYPES]),
    severity: Type.Enum([...SEVERITIES]),
    subject: Type.String({
      description:
        'The subject: the id of a terminal, key or account, an address, or for `aml_finding` the list.',
    }),
    count: Type.Integer({ minimum: 1, description: 'Number of occurrences on that UTC day.' }),
    firstSeen: DateTime,
    lastSeen: DateTime,
    status: Type.Enum(['open']),
  },
  { title: 'SecurityAlert' },
)
export type Alert = Static<typeof Alert>

export const AlertsQuery = Type.Object({
  severity: Type.Optional(Type.Enum([...SEVERITIES])),
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
