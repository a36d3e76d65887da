/** Wire shapes of rules and logic trees, for the routes that take them. What the schemas leave open, `tree.ts` reads. @module */
import Type, { type TProperties } from 'typebox'
import { SHOWN_AS } from '../json/schemas.ts'
import { EXPECTED_LEVELS } from './expectation.ts'
import {
  GATES,
  MAX_CHILDREN,
  MAX_FIELD_CHARS,
  MAX_LEAVES,
  MAX_LISTED_VALUES,
  MAX_PATTERN_CHARS,
  MAX_TREE_DEPTH,
  OPERATORS,
} from './rule.ts'

export { EXPECTATION_REASONS } from './expectation.ts'

const MAX_EXPECTED_CHARACTERS = 256
const MAX_EXPECTED_ISSUERS = 16
const MAX_EXPECTED_MEMBERS = 32

const Field = Type.String({
  minLength: 1,
  maxLength: MAX_FIELD_CHARS,
  description:
    'Path to the value: names joined by dots (`address.country`, a literal dot is `\\.`, a backslash `\\\\`), or a JSON Pointer (`/address/country`).',
})
const Operand = Type.Unknown({
  description: `The value to compare with: a number for \`lt lte gt gte\`, \`[low, high]\` for \`between nonbetween\`, 1 to ${MAX_LISTED_VALUES} values for \`in nin\`, a text, number or boolean for \`contains\`, a text for \`startsWith matches\` (a pattern has at most ${MAX_PATTERN_CHARS} characters), anything for \`eq ne\`.`,
})

/**
 * The wire shapes of rules and trees. Of a tree the schema checks the root alone, and of a node what all its forms have in
 * common; `tree.ts` reads the rest. The OpenAPI document shows each form of a node.
 * @param prefix of the names that they have there
 * @param more members of each rule
 * @param description of a rule
 */
export const rulesOf = <P extends TProperties>(prefix: string, more: P, description: string) => {
  const ruleForms = Type.Union(
    [
      Type.Object({
        ...more,
        field: Field,
        op: Type.Enum(OPERATORS.filter((op) => op !== 'exists')),
        value: Operand,
      }),
      Type.Object({
        ...more,
        field: Field,
        op: Type.Literal('exists'),
        value: Type.Optional(
          Type.Boolean({ description: 'Default: true. false: the value must be absent.' }),
        ),
      }),
    ],
    { title: `${prefix}Rule`, description },
  )
  const Node = Type.Ref(`${prefix}Logic`)
  const gate = Type.Object(
    {
      op: Type.Enum([...GATES]),
      children: Type.Array(Node, { minItems: 1, maxItems: MAX_CHILDREN }),
    },
    { title: `${prefix}Gate`, description: 'A combination of several nodes.' },
  )
  const negation = Type.Object(
    { op: Type.Literal('NOT'), child: Node },
    { title: `${prefix}Negation`, description: 'The negation of a node.' },
  )
  const nodeForms = Type.Union([ruleForms, gate, negation], {
    title: `${prefix}Logic`,
    description: `A tree of rules: at most ${MAX_TREE_DEPTH} levels and ${MAX_LEAVES} rules.`,
  })
  return {
    Rule: Type.Object(
      { ...more, field: Field, op: Type.Enum([...OPERATORS]), value: Type.Optional(Operand) },
      { [SHOWN_AS]: ruleForms },
    ),
    Logic: Type.Object(
      {
        ...more,
        op: Type.Enum([...GATES, 'NOT', ...OPERATORS]),
        children: Type.Optional(Type.Array(Type.Unknown())),
        child: Type.Optional(Type.Unknown()),
        field: Type.Optional(Field),
        value: Type.Optional(Operand),
      },
      { [SHOWN_AS]: nodeForms },
    ),
  }
}

export const { Rule, Logic } = rulesOf('', {}, 'One condition on the data.')

export const Rules = Type.Array(Rule, {
  description: `All of these must hold. 1 to ${MAX_LEAVES} rules; with \`logic\`, both must hold and share that number.`,
})

const ExpectedName = Type.String({ minLength: 1, maxLength: MAX_EXPECTED_CHARACTERS })

/** What whoever asks expects; `expectation.ts` compares. */
export const Expect = Type.Object(
  {
    circuit_id: Type.Optional(ExpectedName),
    issuers: Type.Optional(
      Type.Array(ExpectedName, {
        minItems: 1,
        maxItems: MAX_EXPECTED_ISSUERS,
        description:
          'Ids of organisations or signers, or addresses of services; one of them must have issued it.',
      }),
    ),
    organisation: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_EXPECTED_CHARACTERS,
        description: 'Who asked: `org` of its context. Default for proofs made elsewhere: your organisation.',
      }),
    ),
    audience: Type.Optional(ExpectedName),
    purpose: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_EXPECTED_CHARACTERS,
        description: 'The purpose that scopes its nullifier.',
      }),
    ),
    nonce: Type.Optional(ExpectedName),
    statement: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        maxProperties: MAX_EXPECTED_MEMBERS,
        description:
          'Members of the statement of a proof, or of the claims of a token; others are not compared.',
      }),
    ),
    status: Type.Optional(
      Type.Enum(['active', 'used', 'expired', 'revoked', 'required', 'not_required'], {
        description:
          'Status of a token. Of a proof about something issued: whether it must disclose the status, so that revocation is seen; `required` by default for proofs made elsewhere.',
      }),
    ),
    min_level: Type.Optional(
      Type.Enum([...EXPECTED_LEVELS], {
        description: 'The minimum level that a proof of `kyc` must require.',
      }),
    ),
    decision: Type.Optional(Type.Union([Type.Literal(0), Type.Literal(1)])),
    max_age_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          'Age since it was attested; otherwise since its signal `now`; otherwise since it was recorded or issued.',
      }),
    ),
  },
  {
    title: 'Expectation',
    additionalProperties: false,
    description:
      "What you expect. If something differs, the item is not verified, with the reason EXPECTATION_ and the name, and nothing is spent. A name that can't apply to the item returns 422.",
  },
)
