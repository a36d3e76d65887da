/** Wire shapes of policy decisions: those of the AuthZEN Authorization API 1.0. @module */
import Type, { type Static } from 'typebox'
import { DateTime, idOf, OPEN } from '../../json/schemas.ts'
import { Obligation, PolicyVersion } from './schemas.ts'

const MAX_WORD_CHARACTERS = 128
const MAX_ID_CHARACTERS = 256
const MAX_PROPERTIES = 200

const Word = Type.String({ minLength: 1, maxLength: MAX_WORD_CHARACTERS })
const Identifier = Type.String({ minLength: 1, maxLength: MAX_ID_CHARACTERS })
const Properties = Type.Record(Type.String(), Type.Unknown(), { maxProperties: MAX_PROPERTIES })

const Entity = { type: Word, id: Identifier, properties: Type.Optional(Properties) }

/** AuthZEN Authorization API 1.0 §6.1: receivers ignore what they do not know. */
export const DecisionRequest = Type.Object(
  {
    subject: Type.Object(Entity, { ...OPEN, description: 'The subject of the request.' }),
    action: Type.Object({ name: Word, properties: Type.Optional(Properties) }, OPEN),
    resource: Type.Object(Entity, {
      ...OPEN,
      description:
        'The resource. Its `type` selects the policy; if there is none of that name, `default` is used.',
    }),
    context: Type.Optional(Properties),
  },
  { ...OPEN, title: 'DecisionRequest' },
)
export type DecisionRequest = Static<typeof DecisionRequest>

/** AuthZEN Authorization API 1.0 §6.2; what stands in `context` is ours. */
export const DecisionAnswer = Type.Object(
  {
    decision: Type.Boolean(),
    context: Type.Object({
      decision_id: idOf('dec'),
      reason_codes: Type.Array(Type.String()),
      obligations: Type.Array(Obligation),
      policy: Type.String({ description: 'The policy that decided.' }),
      policy_version: PolicyVersion,
      evaluated_at: DateTime,
      salt: Type.String({ description: 'base64url, 32 bytes: opens `request_commitment` of the JWS.' }),
      jws: Type.String({ description: 'Compact JWS: EdDSA, typ `pd+jws`.' }),
    }),
  },
  { title: 'DecisionAnswer' },
)
export type DecisionAnswer = Static<typeof DecisionAnswer>
