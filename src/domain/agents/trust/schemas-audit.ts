/** Wire shapes of what is on record about an agent. @module */
import Type, { type Static } from 'typebox'
import { DateTime, dateTime, NextCursor, OfLog, orNull, pageLimit } from '../../../json/schemas.ts'
import { AgentId } from '../enrol/schemas.ts'
import { REASON_CODES } from './reasons.ts'
import { EVENT_KINDS } from './store-events.ts'

export const DEFAULT_PAGE_ENTRIES = 50
const MAX_PAGE_ENTRIES = 500

const Kind = Type.Enum([...EVENT_KINDS], {
  description:
    'enrol, activate, suspend, resume, revoke, check_domain: a change of its state or trust level. verify: something it signed was verified. authorise: an action was authorised or denied.',
})

export const AgentAuditQuery = Type.Object(
  {
    agent_id: AgentId,
    since: Type.Optional(dateTime('Only entries at or after this time.')),
    until: Type.Optional(dateTime('Only entries before this time.')),
    actions: Type.Optional(
      Type.Array(Kind, { minItems: 1, uniqueItems: true, description: 'Only these kinds. Default: all.' }),
    ),
    cursor: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,15}$', description: '`next_cursor` of the previous page.' }),
    ),
    limit: pageLimit(MAX_PAGE_ENTRIES, DEFAULT_PAGE_ENTRIES),
  },
  { title: 'AgentAuditQuery' },
)
export type AgentAuditQuery = Static<typeof AgentAuditQuery>

const { since, until, cursor, limit } = AgentAuditQuery.properties

export const AgentHistoryQuery = Type.Object({ since, until, cursor, limit })

const AgentAuditEntry = Type.Object(
  {
    log: OfLog,
    index: Type.Integer({ minimum: 0, description: 'Index in the log, as in /api/audit.' }),
    leaf_hash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256(0x00 ‖ entry).' }),
    at: DateTime,
    kind: Kind,
    outcome: Type.String({
      description:
        'For verify: verified or refused. For authorise: ALLOW, DENY or STEP_UP. For check_domain: the resulting trust level. Otherwise: the resulting status of the agent.',
    }),
    reasons: Type.Array(Type.Enum(REASON_CODES)),
    authorisation_id: orNull(Type.String()),
    action: orNull(Type.String()),
    amount: orNull(Type.Number({ description: 'In units of the currency.' })),
    currency: orNull(Type.String()),
  },
  { title: 'AgentAuditEntry' },
)

export const AgentAuditPage = Type.Object(
  {
    agent_id: AgentId,
    entries: Type.Array(AgentAuditEntry, { description: 'Newest first.' }),
    next_cursor: NextCursor,
  },
  { title: 'AgentAuditPage' },
)
export type AgentAuditPage = Static<typeof AgentAuditPage>
