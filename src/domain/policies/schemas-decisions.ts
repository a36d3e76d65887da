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

const Subject = Type.Object(Entity, { ...OPEN, description: 'The subject of the request.' })
const Action = Type.Object({ name: Word, properties: Type.Optional(Properties) }, OPEN)
const Resource = Type.Object(Entity, {
  ...OPEN,
  description:
    'The resource. Its `type` selects the policy; if there is none of that name, `default` is used.',
})

/** AuthZEN Authorization API 1.0 §6.1: receivers ignore what they do not know. */
export const DecisionRequest = Type.Object(
  { subject: Subject, action: Action, resource: Resource, context: Type.Optional(Properties) },
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

export const MAX_EVALUATIONS = 100
/** When several evaluations end (§7.1.2.1). */
export const SEMANTICS = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const

/** AuthZEN Authorization API 1.0 §7.1. Evaluations are open: one that is wrong is denied in its place. */
export const EvaluationsRequest = Type.Object(
  {
    subject: Type.Optional(Subject),
    action: Type.Optional(Action),
    resource: Type.Optional(Resource),
    context: Type.Optional(Properties),
    evaluations: Type.Optional(
      Type.Array(Type.Unknown(), {
        maxItems: MAX_EVALUATIONS,
        description: `At most ${MAX_EVALUATIONS} objects with \`subject\`, \`action\`, \`resource\` and \`context\`; what one leaves out is taken whole from the members beside \`evaluations\`. Without evaluations these are the question.`,
      }),
    ),
    options: Type.Optional(
      Type.Object(
        {
          evaluations_semantic: Type.Optional(
            Type.Enum([...SEMANTICS], {
              description:
                'Whether all are evaluated (default), or none after the first that is denied, or after the first that is permitted.',
            }),
          ),
        },
        OPEN,
      ),
    ),
  },
  { ...OPEN, title: 'EvaluationsRequest' },
)
export type EvaluationsRequest = Static<typeof EvaluationsRequest>

/** An evaluation that asks nothing that can be decided; nothing is recorded of it. */
const FailedEvaluation = Type.Object(
  {
    decision: Type.Literal(false),
    context: Type.Object({
      error: Type.Object({
        status: Type.Literal(400),
        message: Type.String(),
        details: Type.Array(
          Type.Object({
            path: Type.String({ description: 'JSON Pointer into the evaluation.' }),
            code: Type.String(),
            message: Type.String(),
          }),
        ),
      }),
    }),
  },
  { title: 'FailedEvaluation' },
)
export type FailedEvaluation = Static<typeof FailedEvaluation>

/** AuthZEN Authorization API 1.0 §7.2. */
export const EvaluationsAnswer = Type.Object(
  {
    evaluations: Type.Array(Type.Union([DecisionAnswer, FailedEvaluation]), {
      description: 'In the order of the request, as far as its semantic has them evaluated.',
    }),
  },
  { title: 'EvaluationsAnswer' },
)
export type EvaluationsAnswer = Static<typeof EvaluationsAnswer>

/** AuthZEN Authorization API 1.0 §9.1. */
export const AuthzenConfiguration = Type.Object(
  {
    policy_decision_point: Type.String({ description: 'BASE_URL.' }),
    access_evaluation_endpoint: Type.String(),
    access_evaluations_endpoint: Type.String(),
  },
  { title: 'AuthzenConfiguration' },
)
export type AuthzenConfiguration = Static<typeof AuthzenConfiguration>
