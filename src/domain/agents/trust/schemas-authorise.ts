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
    action: Word('What the agent wants to do, by a name of yours such as `order.pay`.'),
    resource: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_RESOURCE_CHARACTERS,
        description: 'What it wants to do it to.',
      }),
    ),
    amount: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        description: 'What it spends, in units of the currency, with no more decimals than that has.',
      }),
    ),
    currency: Type.Optional(
      Type.String({ description: 'ISO 4217, in upper case. With `amount`, and only with it.' }),
    ),
    payee: Type.Optional(Word('Who receives the money, by the name that the limits of the agent use.')),
    mandate: Type.Optional(
      Type.Union(
        [
          Type.String({ minLength: 1, maxLength: MAX_MANDATE_CHARACTERS }),
          Type.Record(Type.String(), Type.Unknown()),
        ],
        {
          description: `What the agent's principal signed, such as an AP2 mandate. Not verified: the answer is bound to its digest. At most ${MAX_MANDATE_BYTES} bytes of canonical JSON.`,
        },
      ),
    ),
    context: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: `Whatever else you want the receipt to be bound to, by its digest; at most ${MAX_CONTEXT_BYTES} bytes of canonical JSON.`,
      }),
    ),
    http: Type.Optional(SignedHttpRequest),
    jws: Type.Optional(CompactJws),
    expected_audience: Type.Optional(ExpectedAudience),
  },
  {
    title: 'AuthoriseAgent',
    description:
      'With `http` or `jws`, in which the agent itself signed action, resource, amount, currency and payee.',
    dependentRequired: { amount: ['currency'], currency: ['amount'] },
  },
)
export type AuthoriseAgent = Static<typeof AuthoriseAgent>

export const AgentAuthorisation = Type.Object(
  {
    decision: Type.Enum([...DECISIONS], {
      description:
        'ALLOW: go ahead. DENY: do not. STEP_UP: nothing speaks against it but that the agent has not signed it.',
    }),
    authorisation_id: idOf('aut'),
    reasons: Type.Array(Type.Enum(REASON_CODES), { description: 'Empty for ALLOW.' }),
    constraints: orNull(Limits, { description: 'The limits of the agent.' }),
    remaining: Type.Object(
      {
        per_day: orNull(Type.Number(), {
          description:
            'What the agent may still spend this UTC day, in units of the currency of its limits. Null without such a limit.',
        }),
      },
      { title: 'AgentRemaining' },
    ),
    expires_at: orNull(DateTime),
    token: orNull(Type.String(), {
      description:
        'For ALLOW: a JWT for the payee or whoever carries it out; EdDSA, typ `agent-authorisation+jwt`, `jti` is authorisation_id. Expires at `expires_at`.',
    }),
    receipt: Type.String({
      description: 'The decision and what was asked, signed: EdDSA, typ `agent-receipt+jws`.',
    }),
  },
  { title: 'AgentAuthorisation' },
)
export type AgentAuthorisation = Static<typeof AgentAuthorisation>
