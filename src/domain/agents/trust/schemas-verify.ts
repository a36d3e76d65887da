/** Wire shapes of recognising agents. @module */
import Type, { type Static } from 'typebox'
import type { AnyForm } from '../../../json/forms.ts'
import { DateTime, orNull } from '../../../json/schemas.ts'
import { AgentId, AgentStatus, TrustLevel } from '../enrol/schemas.ts'
import { TAGS } from './evidence/http-signature.ts'
import { CompactJws, ExpectedAudience, SignedHttpRequest } from './evidence/schemas-evidence.ts'
import { EVIDENCE_REASON_CODES } from './reasons.ts'

/** Of its canonical JSON, in UTF-8. */
export const MAX_CARD_BYTES = 64 * 1024

const expected = { agent_id: Type.Optional(AgentId), expected_audience: Type.Optional(ExpectedAudience) }

/** Only a request has a tag, and an agent card has no audience. */
export const VerifyAgent = Type.Union(
  [
    Type.Object({
      http: SignedHttpRequest,
      ...expected,
      expected_tag: Type.Optional(
        Type.Enum([...TAGS], {
          description: 'Tag that the signature of a request must have. Default: any of these.',
        }),
      ),
    }),
    Type.Object({ jws: CompactJws, ...expected }),
    Type.Object({
      agent_card: Type.Record(Type.String(), Type.Unknown(), {
        description: `A2A agent card with its \`signatures\`; at most ${MAX_CARD_BYTES} bytes of canonical JSON.`,
      }),
      agent_id: expected.agent_id,
    }),
  ],
  { title: 'VerifyAgent', description: 'Exactly one of `http`, `jws` and `agent_card`.' },
)
export type VerifyAgent = AnyForm<Static<typeof VerifyAgent>>

export const AgentVerdict = Type.Object(
  {
    verified: Type.Boolean(),
    agent_id: orNull(AgentId),
    kid: orNull(Type.String({ description: 'RFC 7638 thumbprint of the key that signed.' })),
    method: Type.Enum(['http', 'jws', 'agent_card']),
    tag: orNull(Type.String()),
    trust_level: orNull(TrustLevel),
    status: orNull(AgentStatus),
    reasons: Type.Array(Type.Enum(EVIDENCE_REASON_CODES), {
      description: 'Why it is not verified, every reason; empty when it is.',
    }),
    created: orNull(DateTime),
    expires: orNull(DateTime),
    nonce_fresh: orNull(Type.Boolean(), {
      description:
        'Whether the nonce was used here for the first time. Null for agent cards, which have none, and where something else was wrong already.',
    }),
    jws: Type.String({
      description: 'This verdict, signed: EdDSA, typ `agent-verdict+jws`, a key of /.well-known/jwks.json.',
    }),
  },
  {
    title: 'AgentVerdict',
    description:
      'Key, tag and times are null unless an enrolled key signed; the agent is that of the key, else the one that was asked about.',
  },
)
export type AgentVerdict = Static<typeof AgentVerdict>
