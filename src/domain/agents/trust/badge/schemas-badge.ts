/** Wire shapes of agents' badges. @module */
import Type, { type Static } from 'typebox'
import { askedId, DateTime, idOf, orNull } from '../../../../json/schemas.ts'
import { AgentId, AgentStatus, TrustLevel } from '../../enrol/schemas.ts'
import { KeyId } from '../../keys/schemas.ts'

export const BadgeParams = Type.Object({ badgeId: askedId('bdg') })

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
  badge_id: idOf('bdg'),
  status: AgentStatus,
  trust_level: TrustLevel,
  issued_at: DateTime,
  expires_at: DateTime,
  verify_url: Type.String({ description: 'Says, to anyone, what holds now; as an image to browsers.' }),
}

export const BadgeIssued = Type.Object(
  {
    ...state,
    svg: orNull(Type.String({ description: 'Image of what holds now.' })),
    jws: orNull(
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
