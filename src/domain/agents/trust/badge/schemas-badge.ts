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
        description: 'svg and jws return only that form; json returns both.',
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
  domain: orNull(
    Type.String({
      description:
        'For domain_verified: the host that publishes the key. Compare it with the one that you expect; the name of an agent is free.',
    }),
  ),
  issued_at: DateTime,
  expires_at: DateTime,
  verify_url: Type.String({ description: 'Public address of the current state; browsers get an image.' }),
}

export const BadgeIssued = Type.Object(
  {
    ...state,
    svg: orNull(Type.String({ description: 'Image of the current state.' })),
    jws: orNull(
      Type.String({
        description:
          'The current state, signed: typ `agent-badge+jwt`, `jti` is the badge, `sub` the agent. It does not reflect later changes.',
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
