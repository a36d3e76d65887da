/** Wire shapes of agents' badges. @module */
import Type, { type Static } from 'typebox'
import { AgentId, AgentStatus, TrustLevel } from '../agents/schemas.ts'
import { KeyId } from '../registered-keys/schemas.ts'

const DateTime = Type.String({ format: 'date-time' })
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const BadgeParams = Type.Object({ badgeId: Type.String({ pattern: '^bdg_[0-9a-z]{26}$' }) })

export const NewBadge = Type.Object(
  {
    agent_id: AgentId,
    format: Type.Optional(
      Type.Enum(['json', 'svg', 'jws'], {
        default: 'json',
        description: 'svg and jws leave the other of the two out; json holds both.',
      }),
    ),
  },
  { title: 'NewAgentBadge' },
)
export type NewBadge = Static<typeof NewBadge>

const state = {
  badge_id: Type.String({ description: '`bdg_…`' }),
  status: AgentStatus,
  trust_level: TrustLevel,
  issued_at: DateTime,
  expires_at: DateTime,
  verify_url: Type.String({ description: 'Says, to anyone, what holds now; as an image to browsers.' }),
}

export const BadgeIssued = Type.Object(
  {
    ...state,
    svg: nullable(Type.String({ description: 'Image of what holds now.' })),
    jws: nullable(
      Type.String({
        description:
          'What holds now, signed: typ `agent-badge+jwt`, `jti` the badge, `sub` the agent. Learns nothing of what happens later.',
      }),
    ),
  },
  { title: 'AgentBadgeIssued' },
)
export type BadgeIssued = Static<typeof BadgeIssued>

export const Badge = Type.Object(
  { ...state, agent_id: AgentId, name: Type.String(), kid: KeyId },
  { title: 'AgentBadge' },
)
export type Badge = Static<typeof Badge>
