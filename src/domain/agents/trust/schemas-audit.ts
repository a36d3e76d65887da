/** Wire shapes of what is on record about an agent. @module */
import Type, { type Static } from 'typebox'
import { DateTime, dateTime, NextCursor, orNull, pageLimit } from '../../../json/schemas.ts'
import { AgentId } from '../enrol/schemas.ts'
import { REASON_CODES } from './reasons.ts'
import { EVENT_KINDS } from './store-events.ts'

export const DEFAULT_PAGE_ENTRIES = 50
const MAX_PAGE_ENTRIES = 500

const Kind = Type.Enum([...EVENT_KINDS], {
  description:
    'enrol, activate, suspend, resume, revoke, check_domain: what became of it. verify: it presented something. authorise: it wanted to do something.',
})

export const AgentAuditQuery = Type.Object(
  {
    agent_id: AgentId,
    since: Type.Optional(dateTime('Only entries of this time or later.')),
    until: Type.Optional(dateTime('Only entries before this time.')),
    actions: Type.Optional(
      Type.Array(Kind, { minItems: 1, uniqueItems: true, description: 'Only these. Default: all.' }),
    ),
    cursor: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,15}$', description: '`next_cursor` of the page before.' }),
    ),
    limit: pageLimit(MAX_PAGE_ENTRIES, DEFAULT_PAGE_ENTRIES),
  },
  { title: 'AgentAuditQuery' },
)
export type AgentAuditQuery = Static<typeof AgentAuditQuery>

const AgentAuditEntry = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: 'Place in the log, as /api/audit has it.' }),
    leaf_hash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256(0x00 ‖ entry).' }),
    at: DateTime,
    kind: Kind,
    outcome: Type.String({
      description:
        'Of verify: verified, refused. Of authorise: ALLOW, DENY, STEP_UP. Else the status of the agent then, or its trust level for check_domain.',
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
    entries: Type.Array(AgentAuditEntry, { description: 'The newest first.' }),
    next_cursor: NextCursor,
  },
  { title: 'AgentAuditPage' },
)
export type AgentAuditPage = Static<typeof AgentAuditPage>
