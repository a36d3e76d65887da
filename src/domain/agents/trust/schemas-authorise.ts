/** Wire shapes of asking whether an agent may do something. @module */
import Type, { type Static } from 'typebox'
import { DateTime, idOf, orNull } from '../../../json/schemas.ts'
import { AgentId, Limits } from '../enrol/schemas.ts'
import { CompactJws, ExpectedAudience, SignedHttpRequest } from './evidence/schemas-evidence.ts'
import { REASON_CODES } from './reasons.ts'

/** Of their canonical JSON, in UTF-8. */
export const MAX_MANDATE_BYTES = 16 * 1024
export const MAX_CONTEXT_BYTES = 4 * 1024
const MAX_WORD_CHARACTERS = 128
const MAX_RESOURCE_CHARACTERS = 512
const MAX_MANDATE_CHARACTERS = 16 * 1024

export const DECISIONS = ['ALLOW', 'DENY', 'STEP_UP'] as const
export type Decision = (typeof DECISIONS)[number]

const Word = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_WORD_CHARACTERS, description })

export const AuthoriseAgent = Type.Object(
  {
    agent_id: AgentId,
    action: Word('The action, under a name that you choose, such as `order.pay`.'),
    resource: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_RESOURCE_CHARACTERS,
        description: 'The resource that the action is for.',
      }),
    ),
    amount: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        description: 'The amount to spend, in units of the currency, with at most its number of decimals.',
      }),
    ),
    currency: Type.Optional(
      Type.String({
        description: 'ISO 4217, in upper case. Required with `amount` and only allowed with it.',
      }),
    ),
    payee: Type.Optional(Word('Who receives the money, by the name that the limits of the agent use.')),
    mandate: Type.Optional(
      Type.Union(
        [
          Type.String({ minLength: 1, maxLength: MAX_MANDATE_CHARACTERS }),
          Type.Record(Type.String(), Type.Unknown()),
        ],
        {
          description: `A mandate signed by the agent's principal, such as an AP2 mandate. It is not verified; the answer contains its digest. At most ${MAX_MANDATE_BYTES} bytes of canonical JSON.`,
        },
      ),
    ),
    context: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: `Further data whose digest the receipt contains; at most ${MAX_CONTEXT_BYTES} bytes of canonical JSON.`,
      }),
    ),
    http: Type.Optional(SignedHttpRequest),
    jws: Type.Optional(CompactJws),
    expected_audience: Type.Optional(ExpectedAudience),
  },
  {
    title: 'AuthoriseAgent',
    description:
      'Send `http` or `jws` as well, in which the agent itself signed action, resource, amount, currency and payee.',
    dependentRequired: { amount: ['currency'], currency: ['amount'] },
  },
)
export type AuthoriseAgent = Static<typeof AuthoriseAgent>

export const AgentAuthorisation = Type.Object(
  {
    decision: Type.Enum([...DECISIONS], {
      description:
        "ALLOW: the action is permitted. DENY: it is not. STEP_UP: only the agent's signature is missing.",
    }),
    authorisation_id: idOf('aut'),
    reasons: Type.Array(Type.Enum(REASON_CODES), { description: 'Empty for ALLOW.' }),
    constraints: orNull(Limits, { description: 'The limits of the agent.' }),
    remaining: Type.Object(
      {
        per_day: orNull(Type.Number(), {
          description:
            'What the agent can still spend this UTC day, in units of the currency of its limits. Null without such a limit.',
        }),
      },
      { title: 'AgentRemaining' },
    ),
    expires_at: orNull(DateTime),
    token: orNull(Type.String(), {
      description:
        'For ALLOW: a JWT for the payee or for the service that carries out the action; EdDSA, typ `agent-authorisation+jwt`, `jti` is authorisation_id. Expires at `expires_at`. Who is handed it demands `iss`, the address of this service, and an `org` that it knows: all organisations share the keys, and anyone can create one.',
    }),
    receipt: Type.String({
      description: 'The request and the decision, signed: EdDSA, typ `agent-receipt+jws`.',
    }),
  },
  { title: 'AgentAuthorisation' },
)
export type AgentAuthorisation = Static<typeof AgentAuthorisation>
