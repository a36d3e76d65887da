/** Wire shapes of rules and logic trees, for the routes that take them. What the schemas leave open, `tree.ts` reads. @module */
import Type from 'typebox'
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
