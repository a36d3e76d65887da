/** Wire shapes of rules and logic trees, for the routes that take them. What the schemas leave open, `tree.ts` reads. @module */
import Type from 'typebox'
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
  description: `What the value is compared with: a number for \`lt lte gt gte\`, \`[low, high]\` for \`between nonbetween\`, 1 to ${MAX_LISTED_VALUES} values for \`in nin\`, a boolean for \`exists\` (default true), a text for \`contains startsWith matches\` (a pattern has at most ${MAX_PATTERN_CHARS} characters), anything for \`eq ne\`.`,
})

export const Rule = Type.Object(
  { field: Field, op: Type.Enum([...OPERATORS]), value: Type.Optional(Operand) },
  { description: 'One condition on the data.' },
)

export const Rules = Type.Array(Rule, {
  description: `All of these must hold. 1 to ${MAX_LEAVES} rules; with \`logic\`, both must hold and share that number.`,
})

export const Logic = Type.Object(
  {
    op: Type.Enum([...GATES, 'NOT', ...OPERATORS]),
    children: Type.Optional(
      Type.Array(Type.Unknown(), { description: `1 to ${MAX_CHILDREN} nodes under ${GATES.join(', ')}.` }),
    ),
    child: Type.Optional(Type.Unknown({ description: 'The one node under NOT.' })),
    field: Type.Optional(Field),
    value: Type.Optional(Operand),
  },
  {
    description: `A tree of rules: \`{op: "${GATES.join('" | "')}", children: [...]}\`, \`{op: "NOT", child}\` or a rule; at most ${MAX_TREE_DEPTH} levels and ${MAX_LEAVES} rules.`,
  },
)

const ExpectedName = Type.String({ minLength: 1, maxLength: MAX_EXPECTED_CHARACTERS })

/** What whoever asks expects; `expectation.ts` compares. */
export const Expect = Type.Object(
  {
    circuit_id: Type.Optional(ExpectedName),
    issuers: Type.Optional(
      Type.Array(ExpectedName, {
        minItems: 1,
        maxItems: MAX_EXPECTED_ISSUERS,
        description: 'Ids of organisations or signers, or addresses of services, one of which made it.',
      }),
    ),
    audience: Type.Optional(ExpectedName),
    purpose: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_EXPECTED_CHARACTERS,
        description: 'What its nullifier is scoped to.',
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
      Type.Enum(['active', 'used', 'expired', 'revoked'], { description: 'Of a token.' }),
    ),
    min_level: Type.Optional(
      Type.Enum([...EXPECTED_LEVELS], { description: 'That a proof of `kyc` asks for, or a higher one.' }),
    ),
    decision: Type.Optional(Type.Union([Type.Literal(0), Type.Literal(1)])),
    max_age_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          'Since it was attested; else since its signal `now`; else since it was recorded or issued.',
      }),
    ),
  },
  {
    title: 'Expectation',
    additionalProperties: false,
    description:
      'What you ask. What differs is not verified, for the reason EXPECTATION_ and the name, and spends nothing. A name that can not apply to what is presented is 422.',
  },
)
