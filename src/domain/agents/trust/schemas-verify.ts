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
          description: 'The tag that the signature of a request must have. Default: any of these.',
        }),
      ),
      published_keys: Type.Optional(
        Type.Boolean({
          description:
            'Whether a request counts as well if nobody enrolled its key, and the URL that its Signature-Agent names publishes it. The verdict then has `signature_agent` and no `agent_id`. Default: false.',
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
    signature_agent: orNull(Type.String(), {
      description:
        'The URL of the directory by which a signed request names its signer (Web Bot Auth), without its query. Null unless the key is published there: of an enrolled agent, when its domain was last checked; otherwise in the last minute.',
    }),
    trust_level: orNull(TrustLevel),
    status: orNull(AgentStatus),
    reasons: Type.Array(Type.Enum(EVIDENCE_REASON_CODES), {
      description: 'Every reason why it is not verified; empty if it is verified.',
    }),
    created: orNull(DateTime),
    expires: orNull(DateTime),
    nonce_fresh: orNull(Type.Boolean(), {
      description:
        'Whether this was the first use of the nonce. Null for agent cards, which have no nonce, for bots with a published key that sent none, whose requests can be presented again until `expires`, and if verification failed for another reason.',
    }),
    jws: Type.String({
      description: 'This verdict, signed: EdDSA, typ `agent-verdict+jws`, a key of /.well-known/jwks.json.',
    }),
  },
  {
    title: 'AgentVerdict',
    description:
      'Key, tag and times are null unless an enrolled key, or with `published_keys` a published one, made the signature. The agent is the owner of that key, otherwise the agent named in the request.',
  },
)
export type AgentVerdict = Static<typeof AgentVerdict>
